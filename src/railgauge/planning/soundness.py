"""Limits, expectations and measurements of a platform file that nothing asks for. Pure.

A limit that no test asks for reads like a promise and is none: it is as wrong as a test without a
limit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set

from railgauge.config.thresholds import Measurement, Platform, limits_in_use
from railgauge.core.question import FACT
from railgauge.planning.demand import ways
from railgauge.planning.expectations import asked, parts
from railgauge.planning.marks import MarkedTest

Asks = Mapping[str, Set[str]]
"""Subject -> the ways in which some test asks for it."""


def complaints(platform: Platform, tests: Iterable[MarkedTest]) -> Iterator[str]:
    """Everything of a platform file that nothing would ever compare with anything, a line each."""
    yield from dangling(platform)
    yield from idle_limits(platform)
    yield from unasked(platform, _asks(tests))


def _asks(tests: Iterable[MarkedTest]) -> Asks:
    found: dict[str, set[str]] = defaultdict(set)
    for test in tests:
        found[test.name].update(test.ways)
    return found


def dangling(platform: Platform) -> Iterator[str]:
    """Measurements that another one is compared with, and that are not there (at its levels)."""
    for measurement in platform.measurements.values():
        named = {assertion.over for assertion in measurement.asserts}
        named.add(measurement.fabric.since if measurement.fabric else "")
        for other in sorted(named - {""}):
            yield from _not_beside(platform, measurement, other)


def _not_beside(platform: Platform, measurement: Measurement, other: str) -> Iterator[str]:
    compared = f"/measurements/{measurement.name}: is compared with {other}, which"
    if other not in platform.measurements:
        yield f"{compared} is no measurement here"
        return
    if lacking := sorted(set(measurement.extents) - set(platform.measurements[other].extents)):
        yield f"{compared} level {' and '.join(lacking)} does not make"


def idle_limits(platform: Platform) -> Iterator[str]:
    """Limits that no level comes to: of a metric, sizes or pairings that nothing asserts."""
    for measurement in platform.measurements.values():
        used = {limit.pointer for limit in limits_in_use(platform, measurement)}
        for limit in measurement.limits:
            if limit.pointer not in used:
                yield f"{limit.pointer}: no level asserts what this limit of {limit.metric} is for"


def unasked(platform: Platform, asks: Asks) -> Iterator[str]:
    """What of a platform file no test asks for, a line each."""
    for name, measurement in platform.measurements.items():
        absent = [way for way in ways(measurement) if way not in asks.get(name, ())]
        if absent:
            how = f"per {', '.join(absent)}" if name in asks else ""
            yield _line("measurements", name, f"{how} " if how else "")
    for name, expectation in platform.expected.items():
        if FACT not in asks.get(name, ()):
            yield _line("expected", name, "")
        elif asked(expectation) is None:
            yield f"/expected/{name}: the ladder knows no fact for it; name one with 'fact'"
        elif not any(True for _ in parts(platform, expectation)):
            yield f"/expected/{name}: the platform declares nothing that it could be asked of"
    for name in platform.not_applicable:
        if name not in asks:
            yield f"/not_applicable/{name}: no test under tests/ has this subject; take it out"
        elif name in platform.measurements or name in platform.expected:
            yield f"/not_applicable/{name}: is also measured or expected; take one of both out"


def _line(section: str, name: str, how: str) -> str:
    return (
        f"/{section}/{name}: no test under tests/ asks for it {how}"
        f"(a mark that names {name!r}); write one, or take it out"
    )

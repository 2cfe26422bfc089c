"""Find limits, expectations and measurements of a platform file that no test uses. Pure.

Such a limit looks like a check, but nothing is compared with it. It is an error, like a test
without a limit. A preparation that would run a node's output as shell code is one too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set

from railgauge.config.thresholds import Measurement, Platform, limits_in_use
from railgauge.core.question import FACT
from railgauge.planning import at_end, needs, scaling
from railgauge.planning.expectations import asked, hardware_of, parts
from railgauge.planning.marks import EXPECTS, MEASURES, MarkedTest
from railgauge.planning.required import ways

Asks = Mapping[str, Set[str]]
"""Subject -> the ways in which some test asks for it."""


def complaints(platform: Platform, tests: Iterable[MarkedTest]) -> Iterator[str]:
    """Yield a message for each entry of a platform file that no run would compare with anything."""
    every = tuple(tests)
    yield from dangling(platform)
    yield from spliced(platform)
    yield from idle_limits(platform)
    yield from unasked(platform, _asks(every))
    yield from undeclared(platform, every)


def _asks(tests: Iterable[MarkedTest]) -> Asks:
    found: dict[str, set[str]] = defaultdict(set)
    for test in tests:
        found[test.name].update(test.ways)
    return found


def dangling(platform: Platform) -> Iterator[str]:
    """Yield a message for each missing measurement that another one is compared with."""
    for measurement in platform.measurements.values():
        named = {assertion.over for assertion in measurement.asserts}
        named.add(measurement.fabric.since if measurement.fabric else "")
        for other in sorted(named - {""}):
            yield from _not_beside(platform, measurement, other)


def spliced(platform: Platform) -> Iterator[str]:
    """Yield a message for each preparation whose former value would become part of shell code.

    The value was printed by a node, and stored in a folder that anybody may have changed.
    """
    for step in platform.preparations:
        if any("{before}" in word and len(word.split()) > 1 for word in step.undo):
            yield f'/prepare/{step.name}: undo: write "$1" there, and {{before}} as its argument'


def _not_beside(platform: Platform, measurement: Measurement, other: str) -> Iterator[str]:
    compared = f"/measurements/{measurement.name}: is compared with {other}, which"
    if other not in platform.measurements:
        yield f"{compared} is not a measurement of this platform"
        return
    if lacking := sorted(set(measurement.extents) - set(platform.measurements[other].extents)):
        yield f"{compared} is not made at level {' and '.join(lacking)}"
    base = platform.measurements[other]
    if measurement.ladder and (not base.ladder or scaling.is_variant(base)):
        yield f"{compared} is no ladder that is compared with its own smallest step"


def idle_limits(platform: Platform) -> Iterator[str]:
    """Yield a message for each limit of a metric, sizes or pairings that no level asserts."""
    for measurement in platform.measurements.values():
        used = {limit.pointer for limit in limits_in_use(platform, measurement)}
        for limit in measurement.limits:
            if limit.pointer not in used:
                yield f"{limit.pointer}: no level asserts what this limit of {limit.metric} is for"


def unasked(platform: Platform, asks: Asks) -> Iterator[str]:
    """Yield a message for each entry of a platform file that no test asks for."""
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
    limited_at_end = at_end.limited(platform)
    for name in platform.not_applicable:
        if name not in asks and name not in at_end.SUBJECTS:
            yield f"/not_applicable/{name}: no test under tests/ has this subject; remove it"
        elif name in platform.measurements or name in platform.expected or name in limited_at_end:
            yield f"/not_applicable/{name}: is also measured or expected; remove one of the two"


def undeclared(platform: Platform, tests: Iterable[MarkedTest]) -> Iterator[str]:
    """Yield a message for each entry that asks for hardware that the platform does not declare.

    The hardware is the needs of the entry's tests, and for an expectation also the parts with its
    facts.
    """
    absent = needs.undeclared(platform)
    found = {(one.kind, one.name): one.needs for one in needs.candidates(tests)}
    for name in platform.measurements:
        over = [need for need in found.get((MEASURES, name), ()) if need not in needs.LINK_LAYERS]
        yield from _lacking("measurements", name, over, absent)
    for name, expectation in platform.expected.items():
        facts = asked(expectation)
        if facts is None:
            continue  # ``unasked`` names it
        needed = (*found.get((EXPECTS, name), ()), *hardware_of(facts))
        if not any(need in absent for need in needed) and not list(parts(platform, expectation)):
            yield f"/expected/{name}: the platform declares no part of a node that has this fact"
        yield from _lacking("expected", name, needed, absent)


def _lacking(
    section: str, name: str, needed: Iterable[str], absent: Mapping[str, str]
) -> Iterator[str]:
    """Yield one message for the first need that is not met."""
    for why in [absent[need] for need in needed if need in absent][:1]:
        yield f"/{section}/{name}: {why}; declare it under hardware, or remove the entry"


def _line(section: str, name: str, how: str) -> str:
    return (
        f"/{section}/{name}: no test under tests/ asks for it {how}"
        f"(with a mark that names {name!r}); write one, or remove the entry"
    )

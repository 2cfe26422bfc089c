"""Comparison of both victims' outputs, and of the load's, with what was asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from railgauge.config.thresholds.physics import ideal
from railgauge.core.errors import SlowLoad
from railgauge.core.limits import Basis, Limit
from railgauge.core.model import Parsed
from railgauge.core.terms import Role
from railgauge.tools import ccl_tests, perftest
from railgauge.tools.congestion.parse import LOAD
from railgauge.tools.congestion.plan import (
    LOAD_PERCENT,
    PERCENT,
    PHASES,
    TESTS,
    VICTIMS,
    load_of,
    victim_of,
)
from railgauge.tools.output_checks import OutputCheck, SideOutput, ToolRequest

# What the ideal of the load is asked for: no limit of a platform file.
_LIMIT = Limit("busbw", "GB/s", None, None, Basis("derived", ""))


def output_checks(asked: ToolRequest, sides: tuple[SideOutput, ...]) -> tuple[OutputCheck, ...]:
    """Compare each test of the victims, then the load: as its tool does, and its bandwidth.

    A part that is missing does not agree.
    """
    return (*_of_victims(asked, sides), *_of_load(asked, sides[0]))


def _of_victims(asked: ToolRequest, sides: tuple[SideOutput, ...]) -> Iterator[OutputCheck]:
    for test in TESTS:
        case, measurement = victim_of(asked.case, asked.measurement, asked.platform, test)
        request = replace(asked, case=case, measurement=measurement)
        for phase in PHASES:
            parts = [_part(side, f"{phase} {test}") for side in sides]
            known = tuple(part for part in parts if part)
            if len(known) == VICTIMS == len(sides):
                yield from perftest.output_checks(request, known)
            else:
                yield OutputCheck(f"{phase} {test}", "of both nodes", f"of {len(known)}", False)


def _of_load(asked: ToolRequest, client: SideOutput) -> Iterator[OutputCheck]:
    case, measurement = load_of(asked.case, asked.measurement)
    request = replace(asked, case=case, measurement=measurement)
    printed = _part(client, LOAD)
    if printed is None:
        yield OutputCheck("load", measurement.command, "none", False)
        return
    yield from ccl_tests.output_checks(
        request, (replace(printed, node=case.nodes[0], role=Role.CLIENT),)
    )
    sizes = {one.size_bytes for one in printed.parsed.samples}
    wanted, fits = _listed(case.sizes), sizes == {*case.sizes}
    yield OutputCheck("message size of the load", wanted, _listed(sizes) or None, fits)
    yield from _least(asked, request, client.parsed)


def _least(asked: ToolRequest, load: ToolRequest, parsed: Parsed) -> Iterator[OutputCheck]:
    """Check that the load was one: it reached a share of its ideal while it was needed."""
    best = ideal(load.platform, load.measurement, None, _LIMIT, len(load.case.nodes))
    percent = asked.option(PERCENT, LOAD_PERCENT)
    found = [one.value for one in parsed.samples if one.metric == "load_busbw"]
    if best is None or not isinstance(percent, int):
        yield OutputCheck("bandwidth of the load", "a share of its ideal", None, False)
        return
    least, slowest = best * percent / 100, min(found, default=0.0)
    wanted = f"{least:.4g} GB/s, {percent} % of its ideal,"
    shown = f"{slowest:.4g} GB/s"
    fits = slowest >= least
    yield OutputCheck("bandwidth of the load", wanted, shown, fits, remedy=_REMEDY, error=SlowLoad)


_REMEDY = (
    "measure the collective over these nodes by itself: a load that is slow does not show what the "
    "fabric does under load"
)


def _listed(sizes: Iterable[int | None]) -> str:
    return ", ".join(map(str, sizes))


def _part(side: SideOutput, name: str) -> SideOutput | None:
    """Return what one part of an output shows, as an output of its own tool."""
    found = side.parsed.summary.get(name)
    return replace(side, parsed=found) if isinstance(found, Parsed) else None

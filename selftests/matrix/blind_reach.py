"""Which items of a run can show a fault: what no limit can see is not held against the suite.

A fault of the figures (a slow part, wrong results) is played alone, without noise and always on, in
the lab of ``healthy_seeds``, and every figure that the level plans is judged by the platform file:
the items whose limits it misses can show it. Where there is none, the fault is played at a severity
of 90 %: if that misses no limit either, the level measures nothing that depends on the part. The
outcome of the run has no say in this. Other faults are shown by facts, counters or tools, by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import Any

from blind_draw import Drawn
from healthy_seeds import bench
from healthy_seeds_lab import Stage, on_stage
from strikes import Strike

from railgauge.core.errors import DataCorrupted, NoEvidence
from railgauge.core.model import Case, Outcome

Item = Mapping[str, Any]
"""A line of ``records.jsonl``."""
Spot = tuple[str, frozenset[str], str, int | None]
"""Measurement, nodes, pairing or part, and message size."""

_EXTREME = "90%"


class Sight(Enum):
    """What the level can see of a fault, by the platform file alone."""

    LIMITS = "some limit is missed"
    BELOW = "no limit is missed, but a figure changes"
    NOWHERE = "the level plans no measurement of the part"


@dataclass(frozen=True)
class Reach:
    """Whether the level can see a fault, and which items show it."""

    sight: Sight
    shows: Callable[[Item], bool]


def reach(drawn: Drawn, strike: Strike) -> Reach:
    """What can show the fault if nothing else is wrong."""
    if not of_figures(strike):
        return _by_name(drawn, strike)
    spots = _missed(drawn, strike.fault)
    if spots:
        return Reach(Sight.LIMITS, lambda item: spot_of(item) in spots)
    extreme = _missed(drawn, _at(strike.fault, _EXTREME)) if strike.name != "corrupt" else spots
    return Reach(Sight.BELOW if extreme else Sight.NOWHERE, lambda item: spot_of(item) in extreme)


def of_figures(strike: Strike) -> bool:
    return strike.name.startswith("slow-") or strike.name == "corrupt"


def comes_and_goes(strike: Strike) -> bool:
    """Whether it does not act always; a node that stops may have nothing left to do by then."""
    return "," in strike.fault or strike.name == "node-stops"


def spot_of(item: Item) -> Spot:
    return item["subject"], frozenset(item["nodes"]), item["pairing"], item["size_bytes"]


def _at(fault: str, severity: str) -> str:
    place, _, _ = fault.partition(",")[0].partition("=")
    return f"{place}={severity}"


def _missed(drawn: Drawn, fault: str) -> frozenset[Spot]:
    """Where limits are missed; the fault acts always, whatever its course is."""
    stage = Stage(drawn.platform, count=drawn.nodes, struck=[fault.partition(",")[0]])
    with on_stage(stage):
        found = bench(stage, drawn.level)
        stage.reseed(0)
        return frozenset(
            spot
            for case, samples, asked in found.cases
            for spot in (*_judged(case, samples, asked), *_wrong(stage, case))
        )


def _judged(case: Case, samples: Any, asked: Any) -> Iterator[Spot]:
    samples.take()
    for ask in asked:
        with suppress(NoEvidence):
            if ask.judge(samples).outcome is Outcome.FAILED:
                _, size, placement = ask.key
                yield _spot(case, size, placement)


def _wrong(stage: Stage, case: Case) -> Iterator[Spot]:
    """Sizes at which a collective has wrong results."""
    if stage.platform.measurements[case.measurement].tool != "ccl-tests":
        return
    if not any(gpu.get("computes_wrong") for n in case.nodes for gpu in stage.nodes[n]["gpus"]):
        return
    try:
        stage.measured(case)
    except DataCorrupted:
        yield from (_spot(case, size, None) for size in case.sizes)


def _spot(case: Case, size: int | None, placement: str | None) -> Spot:
    path = str(case.pairing) if case.pairing else placement or ""
    return case.measurement, frozenset(case.nodes), path, size


# --- what facts, counters and tools show ---


def _by_name(drawn: Drawn, strike: Strike) -> Reach:
    shows = _SHOWN.get(strike.name, _fact)
    measurements = Stage(drawn.platform, count=drawn.nodes).platform.measurements
    planned = strike.name != "gpu-diagnostics" or any(
        name.startswith(_DIAGNOSTIC) and one.made_at(drawn.level)
        for name, one in measurements.items()
    )
    commands = {name: one.command for name, one in measurements.items()}
    return Reach(
        Sight.LIMITS if planned else Sight.NOWHERE,
        lambda item: strike.node in item["nodes"] and shows(strike, item, commands),
    )


_DIAGNOSTIC = "gpu_diagnostic"


def _fact(_strike: Strike, item: Item, _commands: object) -> bool:
    """The probe reads all facts of a node at once."""
    return bool(item["rung"] == 0)


def _traffic(strike: Strike, item: Item, _commands: object) -> bool:
    """Errors are counted with the traffic of the NIC."""
    return "traffic" in item["ways"] and strike.device in _parts(item["pairing"])


def _collective(_strike: Strike, item: Item, _commands: object) -> bool:
    return bool(len(item["nodes"]) > 1 and item["ways"] and not item["pairing"])


def _tool(strike: Strike, item: Item, commands: Mapping[str, str]) -> bool:
    return commands.get(item["subject"]) == strike.device


def _anything(*_: object) -> bool:
    return True


def _diagnostic(_strike: Strike, item: Item, _commands: object) -> bool:
    return str(item["subject"]).startswith(_DIAGNOSTIC)


def _parts(pairing: str) -> list[str]:
    return re.split(r"[>,]|(?<=\d)-(?=[a-z])", pairing)


_SHOWN: Mapping[str, Callable[[Strike, Item, Mapping[str, str]], bool]] = {
    **dict.fromkeys(("unreachable", "host-key-changed", "wrong-key", "node-stops"), _anything),
    **dict.fromkeys(("tool-missing", "tool-silent", "tool-garbage"), _tool),
    **dict.fromkeys(("nic-idle", "tcp-fallback"), _collective),
    "high-ber": _traffic,
    "gpu-diagnostics": _diagnostic,
}

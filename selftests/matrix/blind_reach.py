"""Which items of a run can show a fault. A fault that no limit can show is not counted as missed.

A fault of the figures (a slow part, wrong results) is simulated alone, permanently and without
noise in the lab of ``healthy_seeds``, and each figure that the level plans is judged by the
platform file. The items whose limits are missed can show the fault. If there are none, the fault is
simulated with a severity of 90 %; if that misses no limit either, the level measures nothing that
depends on the part. The outcome of the run is not used. All other faults are shown by facts,
counters or tools; a table by name says which.

Several faults may slow the same items. Each figure is simulated once more with the other faults of
the run alone: an item shows a fault only if its figure is another one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import cache, partial
from typing import Any

from blind_draw import DrawnRun, changes_figures, costs_speed
from expected_causes import OF_LADDER, OF_VICTIMS
from healthy_seeds import bench
from healthy_seeds_lab import InProcessLab, using_lab
from injections import Injection, limits_of

from railgauge.config.thresholds import Measurement
from railgauge.config.thresholds.storage import GROUP_STORAGE, NODE_STORAGE
from railgauge.core.errors import DataCorrupted, NoEvidence
from railgauge.core.model import Case, Judgement, Outcome
from railgauge.core.naming import unfolded
from railgauge.core.terms import Flow
from railgauge.tools import flow
from railgauge.tools.metric import LOWER

Item = Mapping[str, Any]
"""A line of ``records.jsonl``."""
ItemPlace = tuple[str, frozenset[str], str, int | None]
"""Measurement, nodes, pairing or part, and message size."""

_EXTREME = "90%"


class Visibility(Enum):
    """What the level can show of a fault, according to the platform file."""

    LIMITS = "some limit is missed"
    BELOW = "no limit is missed, but a figure changes"
    NOWHERE = "the level plans no measurement of the part"


@dataclass(frozen=True)
class Reach:
    """Whether the level can show a fault, and which items do.

    ``acts`` tells whether the figures of an item differ from those without the fault.
    """

    visibility: Visibility
    shows: Callable[[Item], bool]
    acts: Callable[[Item], bool] = lambda _item: True


def reach(drawn: DrawnRun, injection: Injection) -> Reach:
    """Which items can show the fault if nothing else is wrong."""
    if not changes_figures(injection):
        return _by_name(drawn, injection)
    places = _missed(drawn, injection.fault)
    if places:
        shows = _shows(places)
        return Reach(Visibility.LIMITS, shows, _acts(drawn, injection))
    extreme = (
        _missed(drawn, _at(injection.fault, _EXTREME)) if injection.name != "corrupt" else places
    )
    return Reach(Visibility.BELOW if extreme else Visibility.NOWHERE, _shows(extreme))


class Reaches(Sequence[Reach]):
    """The reach of each fault of a run, found when it is asked for.

    It depends on the fault and the platform file alone, and nobody asks about a fault that a run
    named exactly.
    """

    def __init__(self, drawn: DrawnRun) -> None:
        self._drawn = drawn
        self._found: dict[int, Reach] = {}

    def __len__(self) -> int:
        return len(self._drawn.injected)

    def __getitem__(self, number: Any) -> Any:
        injection = self._drawn.injected[number]
        if number not in self._found:
            self._found[number] = reach(self._drawn, injection)
        return self._found[number]


def _shows(places: frozenset[ItemPlace]) -> Callable[[Item], bool]:
    return lambda item: place_of(item) in places


def is_intermittent(injection: Injection) -> bool:
    """Whether the fault may not act; a node that stops late may have nothing left to run."""
    return "," in injection.fault or injection.name == "node-stops"


def place_of(item: Item) -> ItemPlace:
    return item["subject"], frozenset(item["nodes"]), item["pairing"], item["size_bytes"]


def _at(fault: str, severity: str) -> str:
    place, _, _ = fault.partition(",")[0].partition("=")
    return f"{place}={severity}"


def _missed(drawn: DrawnRun, fault: str) -> frozenset[ItemPlace]:
    """Where limits are missed; the fault acts permanently here, whatever its timing."""
    lab = _lab(drawn, fault)
    with using_lab(lab):
        found = bench(lab, drawn.level)
        lab.reseed(0)
        places = set[ItemPlace]()
        for case, samples, checks in found.cases:
            judged = _judged(case, samples, checks)
            places.update(place for place, one in judged if one.outcome is Outcome.FAILED)
            places.update(_wrong(lab, case, checks))
        return frozenset(places)


def _lab(drawn: DrawnRun, *faults: str) -> InProcessLab:
    """The lab of the run with these faults alone, each of them permanent."""
    return drawn.lab(*(fault.partition(",")[0] for fault in faults))


def _judged(case: Case, samples: Any, checks: Any) -> Iterator[tuple[ItemPlace, Judgement]]:
    try:
        samples.take()
    except DataCorrupted:
        return
    for check in checks:
        with suppress(NoEvidence):
            judged = check.judge(samples)
            _, size, placement = check.key
            yield _place(case, size, placement), judged


# --- what a fault changes beside the others ---

_SEEDS = 3
"""The largest latency of a run varies by far more than the figures that a fault changes."""
_LIKE, _LIKE_LATENCY = 0.012, 0.025
"""Healthy like parts differ by up to 1.04 % in document 002; a short latency by two of its steps of
0.01 us.
"""


def _acts(drawn: DrawnRun, injection: Injection) -> Callable[[Item], bool]:
    """Whether an item of the run is worse than the run's other faults make it.

    They are simulated when the first item is asked about: of most faults none is.
    """
    if injection.name == "corrupt":
        return lambda _item: True
    others = [one for one in drawn.injected if one is not injection and costs_speed(one)]
    without = cache(partial(_figures, drawn, *(one.fault for one in others)))

    def acts(item: Item) -> bool:
        usual = without().get(place_of(item), {})
        return any(_is_worse(judged, usual.get(judged["metric"])) for judged in item["judgements"])

    return acts


def _figures(drawn: DrawnRun, *faults: str) -> dict[ItemPlace, dict[str, float]]:
    """The worst value of each metric of each item: without noise, and with that of a few seeds."""
    lab = _lab(drawn, *faults)
    found: dict[ItemPlace, dict[str, float]] = defaultdict(dict)
    with using_lab(lab):
        planned = bench(lab, drawn.level)
        for seed in range(1 + _SEEDS):
            lab.reseed(seed)
            for case, samples, checks in planned.cases:
                for place, judged in _judged(case, samples, checks):
                    if judged.worst is not None:
                        worse = max if judged.better == LOWER else min
                        known = found[place].get(judged.metric, judged.worst)
                        found[place][judged.metric] = worse(known, judged.worst)
    return found


def _is_worse(judged: Mapping[str, Any], usual: float | None) -> bool:
    """Whether a judged value is clearly worse than this one; also if one of them is unknown."""
    if usual is None or judged["worst"] is None:
        return judged["outcome"] == "failed"
    if judged["better"] == LOWER:
        return bool(judged["worst"] > usual * (1 + _LIKE_LATENCY))
    return bool(judged["worst"] < usual * (1 - _LIKE))


def _wrong(lab: InProcessLab, case: Case, checks: Any) -> Iterator[ItemPlace]:
    """Sizes at which a collective has wrong results, and all items of a replay that has."""
    if lab.platform.measurements[case.measurement].tool not in ("ccl-tests", "train-bench"):
        return
    if not any(gpu.get("computes_wrong") for n in case.nodes for gpu in lab.nodes[n]["gpus"]):
        return
    try:
        lab.measured(case)
    except DataCorrupted:
        yield from (_place(case, size, None) for size in case.sizes)
        yield from (_place(case, *check.key[1:]) for check in checks if not case.sizes)


def _place(case: Case, size: int | None, placement: str | None) -> ItemPlace:
    path = str(case.pairing) if case.pairing else placement or ""
    return case.measurement, frozenset(case.nodes), path, size


# --- faults that facts, counters and tools show ---


def _by_name(drawn: DrawnRun, injection: Injection) -> Reach:
    shows = _SHOWN.get(injection.name, _fact)
    measurements = limits_of(drawn.platform).measurements
    planned = all(
        any(one.made_at(drawn.level) for name, one in measurements.items() if name.startswith(need))
        for need in _NEEDED.get(injection.name, ())
    )
    lost = re.search(r"=([0-9.]+)%", injection.fault)
    is_below = lost and float(lost[1]) < LEAST_LOST.get(injection.name, 0)
    below = Visibility.BELOW if is_below else Visibility.LIMITS
    own = {*unfolded(injection.node)}
    return Reach(
        below if planned else Visibility.NOWHERE,
        lambda item: own <= {*item["nodes"]} and shows(injection, item, measurements),
    )


# What must be lost, in percent, for a limit to be missed: of storage what its hostfile says, of the
# ladder what is below the floor of ``scaling``.
LEAST_LOST = {
    **dict.fromkeys(("slow-storage", "slow-client"), 5),
    **dict.fromkeys(OF_LADDER, 8),
}
_DIAGNOSTIC, _LADDER, _VICTIMS = "gpu_diagnostic", "scaling_all_reduce", "group_congestion"
# These faults show in no other measurement, which not every level makes.
_NEEDED = {
    "gpu-diagnostics": (_DIAGNOSTIC,),
    "nic-idle-in-training": ("pair_training",),
    **dict.fromkeys(OF_LADDER, (_LADDER,)),
    OF_VICTIMS: (_VICTIMS,),
}


Measurements = Mapping[str, Measurement]


def _fact(_injection: Injection, item: Item, _measurements: object) -> bool:
    """The probe reads all facts of a node at once."""
    return bool(item["rung"] == 0)


def _traffic(injection: Injection, item: Item, measurements: Measurements) -> bool:
    """Errors are counted with the traffic of the NIC, where it receives."""
    if "traffic" not in item["ways"] or injection.device not in _parts(item["pairing"]):
        return False
    sender = {Flow.FORWARD: 0, Flow.BACKWARD: 1}.get(flow(measurements[item["subject"]]))
    return sender is None or item["nodes"][sender] != injection.node


def _collective(_injection: Injection, item: Item, _measurements: object) -> bool:
    return bool(len(item["nodes"]) > 1 and item["ways"] and not item["pairing"])


def _tool(injection: Injection, item: Item, measurements: Measurements) -> bool:
    measurement = measurements.get(item["subject"])
    return measurement is not None and measurement.command == injection.device


def _any_item(*_: object) -> bool:
    return True


def _diagnostic(_injection: Injection, item: Item, _measurements: object) -> bool:
    return str(item["subject"]).startswith(_DIAGNOSTIC)


def _replay(_injection: Injection, item: Item, measurements: Measurements) -> bool:
    measurement = measurements.get(item["subject"])
    return measurement is not None and measurement.command == "replay"


def _training(injection: Injection, item: Item, measurements: Measurements) -> bool:
    measurement = measurements.get(item["subject"])
    return measurement is not None and measurement.command == "train"


def _uses(injection: Injection, item: Item, _measurements: object) -> bool:
    """Counters grow, and a GPU gets hot, while the part is measured."""
    parts = _parts(item["pairing"])
    return bool(item["rung"] and item["ways"]) and (parts == [""] or injection.device in parts)


def _storage(_injection: Injection, item: Item, _measurements: object) -> bool:
    return bool(item["subject"] == NODE_STORAGE)


def _shared_storage(_injection: Injection, item: Item, _measurements: object) -> bool:
    return bool(item["subject"] == GROUP_STORAGE)


def _whole_ladder(injection: Injection, item: Item, _measurements: object) -> bool:
    """The step of all nodes alone needs all uplinks of a leaf."""
    return bool(item["subject"] == _LADDER and len(item["nodes"]) == injection.needs.nodes)


def _victims(_injection: Injection, item: Item, _measurements: object) -> bool:
    return bool(item["subject"] == _VICTIMS)


def _parts(pairing: str) -> list[str]:
    return re.split(r"[>,]|(?<=\d)-(?=[a-z])", pairing)


_SHOWN: Mapping[str, Callable[[Injection, Item, Measurements], bool]] = {
    **dict.fromkeys(("unreachable", "host-key-changed", "wrong-key", "node-stops"), _any_item),
    **dict.fromkeys(("tool-missing", "tool-silent", "tool-garbage"), _tool),
    **dict.fromkeys(("nic-idle", "tcp-fallback"), _collective),
    "high-ber": _traffic,
    **dict.fromkeys(
        ("congestion", "ecc-growth", "gpu-link-errors", "pcie-replays", "retransmits", "throttle"),
        _uses,
    ),
    "gpu-diagnostics": _diagnostic,
    "wrong-bit": _replay,
    **dict.fromkeys(("late-rank", "starved-loader", "nic-idle-in-training"), _training),
    "slow-storage": _storage,
    **dict.fromkeys(("slow-client", "storage-corruption"), _shared_storage),
    **dict.fromkeys(OF_LADDER, _whole_ladder),
    OF_VICTIMS: _victims,
}

"""What a run said of each fault: the rules of counting. Pure.

``RULES`` says them in words; the page prints it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from blind_reach import Item, Reach, Sight, comes_and_goes
from strikes import NIC_LOOKS_LIKE_NODE, Strike

from railgauge.core.naming import unfolded
from railgauge.diagnosis import CERTAIN, OPEN, UNDIAGNOSED

Cause = Mapping[str, Any]
"""A cause of ``verdict.json``."""


class Count(Enum):
    """One word for each fault."""

    EXACT = "exact"
    UNDECIDED = "not decided, right"
    AMONG = "among several suspects"
    LISTED = "listed without a cause"
    GATED = "behind a gate, said"
    GATED_SILENT = "behind a gate, not said"
    UNPLANNED = "not in the plan, said"
    UNPLANNED_SILENT = "not in the plan, not said"
    STRAGGLER = "named as a straggler"
    BELOW = "below every limit, accepted"
    IDLE = "did not act"
    MISNAMED = "another part named"
    SWALLOWED = "swallowed"
    HARMLESS = "harmless, not named"


MEASURED = (Count.EXACT, Count.UNDECIDED, Count.AMONG, Count.LISTED, Count.MISNAMED,
            Count.SWALLOWED)  # fmt: skip
SILENT = (Count.GATED_SILENT, Count.UNPLANNED_SILENT)

RULES = """\
- **exact**: a decided cause (certain or likely) has the fault's cause, its node (both nodes of a
  path) and its device. A cause that also names a node or device without this fault is not exact;
  only a cause of versions that differ may name all nodes, if it says which version each one has.
- **not decided, right**: the same, but the cause is not decided.
- **among several suspects**: a cause that is not decided names the fault's node and device among
  others.
- **listed without a cause**: an item that the fault alone makes fail did fail, and is in the list
  of items that no cause explains.
- **another part named**: items that can show the fault were measured, and the only cause on its
  node is a wrong one.
- **swallowed**: items that can show the fault were measured, and nothing of the above holds.
- **behind a gate**: each item that can show the fault ended blocked, in an error or not run. It is
  *said* if `unknown` in `verdict.json` has lines of the fault's node that name each kind of
  measurement that could have shown it, or if a cause says that the node does not answer.
- **not in the plan**: no item of the level can show the fault, not even at a severity of 90 %. It
  is *said* if `unknown` in `verdict.json` has a line of the fault's node that names the part (a
  GPU), or its kind (paths to other nodes, pairings, links), as not measured at this level, or if
  `not_applicable` says why its measurement is not made.
- **below every limit**: played alone and without noise, the fault misses no limit of the platform
  file at any item that the level plans, so that no limit can see it.
- **named as a straggler**: a fault that is below every limit or behind a gate, and a cause or a
  note says that its part is behind its peers.
- **did not act**: a fault that comes and goes, and of the items that it alone makes fail, none did.
- **wrong causes** are counted on their own: each decided cause that is exact for no fault of the
  run. A straggler is no wrong cause if its part is slow: the slow device, any device of a slow
  node, both ends of a slow path.

Which items can show a fault is worked out from the platform file before the run is looked at
(`selftests/matrix/blind_reach.py`). A fault without consequences (`irq-affinity`) is
harmless and must not be named.
"""
_SLOW = frozenset(
    {
        *("slow-node", "slow-nic", "slow-gpu", "slow-path", "slow-pcie-path", "slow-gpu-link"),
        "slow-direction",
    }
)
# These may name all nodes and blame none of them, and say which one has what.
_DIFFERENCES = frozenset({"firmware-mismatch", "nodes-differ"})
STRAGGLER = "straggler"
_NO_ANSWER = "node-unreachable"
_WAS_MEASURED = frozenset({"passed", "marginal", "failed", "flaky"})


@dataclass(frozen=True)
class Counted:
    """One fault of a run."""

    strike: Strike
    count: Count
    said: str = ""


@dataclass(frozen=True)
class Told:
    """What was wrong in a run, which items can show it, and what the run left."""

    struck: tuple[Strike, ...]
    reaches: tuple[Reach, ...]
    verdict: Mapping[str, Any]
    items: Sequence[Item]

    @property
    def decided(self) -> list[Cause]:
        return [cause for cause in self.verdict["causes"] if cause["confidence"] != OPEN]

    @property
    def open(self) -> list[Cause]:
        return [cause for cause in self.verdict["causes"] if cause["confidence"] == OPEN]

    def red_alone(self, number: int) -> list[Item]:
        """The red items that fault ``number`` can explain and no other fault can."""
        others = [reach for other, reach in enumerate(self.reaches) if other != number]
        return [
            item
            for item in self.items
            if item["outcome"] in _WENT_WRONG
            and self.reaches[number].shows(item)
            and not any(reach.shows(item) for reach in others)
        ]


def counted(told: Told) -> list[Counted]:
    """A word for each fault, in order."""
    return [Counted(strike, *_count(told, n)) for n, strike in enumerate(told.struck)]


def wrong_causes(told: Told) -> list[Cause]:
    """The decided causes that are exact for no fault."""
    return [
        cause
        for cause in told.decided
        if not any(is_exact(s, cause, told.struck) or _is_behind(s, cause) for s in told.struck)
    ]


def _count(told: Told, number: int) -> tuple[Count, str]:
    strike, reach = told.struck[number], told.reaches[number]
    if not strike.cause:
        return Count.HARMLESS, ""
    if said := _named(strike, told):
        return said
    shown = [item for item in told.items if reach.shows(item)]
    if reach.sight is not Sight.LIMITS or not any(_was_measured(strike, item) for item in shown):
        return _unseen(strike, reach.sight, told.verdict, shown)
    if comes_and_goes(strike) and not told.red_alone(number):
        return Count.IDLE, ""
    return _missed(strike, told, [item for item in shown if item["outcome"] in _WENT_WRONG])


def _unseen(
    strike: Strike, sight: Sight, verdict: Mapping[str, Any], shown: Sequence[Item]
) -> tuple[Count, str]:
    """Of a fault that no limit can see, or of which nothing was measured that could show it."""
    if line := _straggler(strike, verdict):
        return Count.STRAGGLER, line
    if sight is Sight.BELOW:
        return Count.BELOW, ""
    if sight is Sight.NOWHERE:
        line = _plan_says(strike, verdict)
        return (Count.UNPLANNED if line else Count.UNPLANNED_SILENT), line
    line = _unknown(strike, verdict, shown)
    return (Count.GATED if line else Count.GATED_SILENT), line


_WENT_WRONG = frozenset({"failed", "error"})
# What these faults do is an error, which for any other is nothing measured.
_BREAKS = re.compile(r"tool-|unreachable|host-key|wrong-key|node-stops")


def _was_measured(strike: Strike, item: Item) -> bool:
    broken = _BREAKS.match(strike.name) and item["outcome"] == "error"
    return bool(broken) or item["outcome"] in _WAS_MEASURED


def _named(strike: Strike, told: Told) -> tuple[Count, str] | None:
    """The best that a cause says of the fault."""
    for cause in told.decided:
        if is_exact(strike, cause, told.struck):
            return Count.EXACT, place(cause)
    for cause in told.open:
        if is_exact(strike, cause, [strike]):
            return Count.UNDECIDED, place(cause)
    for cause in told.open:
        if _is_suspected(strike, cause):
            return Count.AMONG, place(cause)
    return None


def is_exact(strike: Strike, cause: Cause, struck: Iterable[Strike]) -> bool:
    """Whether it names the fault, at its node and device, and no part without such a fault."""
    if cause["cause"] in _DIFFERENCES and strike.is_named_by(cause):
        return True
    alike = [one for one in struck if one.cause == strike.cause == cause["cause"]]
    nodes = {node for one in alike for node in _ends(one)}
    devices = {one.device for one in alike if one.device}
    named = {part for part in cause["where"]["device"].split(",") if part}
    if not _ends(strike) <= _nodes(cause) <= nodes or not alike:
        return False
    if strike.cause in _SLOW and not strike.device:
        return not named or _has_one_nic(strike)
    return not strike.device or strike.device in named <= devices


def _has_one_nic(strike: Strike) -> bool:
    return strike.platform in NIC_LOOKS_LIKE_NODE


def _is_suspected(strike: Strike, cause: Cause) -> bool:
    """Whether an undecided cause of the same kind lists the fault's part."""
    if cause["cause"] != strike.cause and not {cause["cause"], strike.cause} <= _SLOW:
        return False
    parts, own = _parts(cause["where"]["device"]), _parts(strike.device)
    return _ends(strike) <= _nodes(cause) and (not parts or not own or own <= parts)


def _is_behind(strike: Strike, cause: Cause) -> bool:
    """Whether it is a straggler, and its part is one that this fault slows."""
    if cause["cause"] != STRAGGLER or not _nodes(cause) or strike.cause not in _SLOW:
        return False
    if strike.peer:
        return _nodes(cause) == _ends(strike)
    own = _parts(strike.device)
    return _nodes(cause) == _ends(strike) and (
        not own or bool(own & _parts(cause["where"]["device"]))
    )


def _parts(device: str) -> set[str]:
    return set(re.split(r"[,>|]|(?<=\d)-(?=[a-z])", device)) - {""}


def _ends(strike: Strike) -> set[str]:
    return {strike.node, strike.peer} - {""}


def _nodes(cause: Cause) -> set[str]:
    where = cause["where"]
    return {*unfolded(where["node"]), *unfolded(where["peer"])} - {""}


def place(cause: Cause) -> str:
    """The cause in one line, as the page shows it."""
    where = cause["where"]
    nodes = ":".join(part for part in (where["node"], where["peer"]) if part)
    sure = "" if cause["confidence"] == CERTAIN else f" ({cause['confidence']})"
    return " ".join(part for part in (cause["cause"], nodes, where["device"]) if part) + sure


def _missed(strike: Strike, told: Told, red: Sequence[Item]) -> tuple[Count, str]:
    ids = {item["id"] for item in red}
    for cause in told.open:
        if cause["cause"] == UNDIAGNOSED and ids.intersection(cause["evidence"]):
            return Count.LISTED, place(cause)
    for cause in wrong_causes(told):
        if _nodes(cause) & _ends(strike):
            return Count.MISNAMED, place(cause)
    return Count.SWALLOWED, f"{len(red)} items that can show it are red"


def _straggler(strike: Strike, verdict: Mapping[str, Any]) -> str:
    """The cause, also one that is not decided, or the note that the part is behind its peers."""
    for cause in verdict["causes"]:
        if _is_behind(strike, cause):
            return place(cause)
    return next((n for n in verdict["notes"] if STRAGGLER in n and _names(strike, n)), "")


def _plan_says(strike: Strike, verdict: Mapping[str, Any]) -> str:
    """The line that says that the level does not measure the fault's part."""
    if strike.name == "gpu-diagnostics":
        return str(verdict["not_applicable"].get("gpu_diagnostic_quick", ""))
    words = _PLAN_WORDS.get(strike.name, re.escape(strike.device) or "alone")
    for line in _unknown_of(strike, verdict):
        if _NOT_AT_THIS_LEVEL.search(line["why"]):
            named = [what for what in line["what"] if _covers(strike, words, what)]
            if named:
                return f"{named[0]}; {line['why']}"
    return ""


_NOT_AT_THIS_LEVEL = re.compile(r"does not measure this")
_PLAN_WORDS = {"slow-path": "paths to", "slow-pcie-path": "pairings of", "slow-xgmi": "links"}


def _covers(strike: Strike, words: str, what: str) -> bool:
    """Whether a part is named: ``gpu[0-2,5-7] alone`` names gpu5."""
    if strike.device.startswith("gpu") and what.endswith(" alone"):
        return strike.device in unfolded(what.removesuffix(" alone"))
    return re.search(words, what) is not None


def _unknown(strike: Strike, verdict: Mapping[str, Any], shown: Sequence[Item]) -> str:
    """The lines that say what is unknown of the fault's node: of all that could show the fault."""
    for cause in verdict["causes"]:
        if cause["cause"] == _NO_ANSWER and _ends(strike) & _nodes(cause):
            return place(cause)
    lines = [
        f"{', '.join(line['what'])}; {line['why']}"
        for line in _unknown_of(strike, verdict)
        if not _NOT_AT_THIS_LEVEL.search(line["why"])
    ]
    asked = {_topic(item) for item in shown if not _COUNTERS.intersection(item["ways"])}
    if lines and all(any(re.search(topic, line) for line in lines) for topic in asked):
        return " | ".join(lines)
    return ""


# The bytes and the log of a measurement, which has an item of its own.
_COUNTERS = frozenset({"traffic", "transport"})


def _topic(item: Item) -> str:
    """What an item is about, as a pattern of the words that reports have for it."""
    part = item["pairing"]
    if item["rung"] == 0:
        return "facts"
    if not part:
        return f"collectives|{item['subject']}|serving"
    if ">" in part:
        return "GPU link"
    if part.startswith("gpu"):
        return "GPU memory RDMA" if "-" in part else "bandwidth of"
    return "host memory paths"


def _unknown_of(strike: Strike, verdict: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [
        line for line in verdict.get("unknown", ()) if _ends(strike) & set(unfolded(line["nodes"]))
    ]


def _names(strike: Strike, line: str) -> bool:
    words = set(re.split(r"[^\w.-]+", line))
    return any(node in words for node in _ends(strike))

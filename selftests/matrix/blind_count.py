"""Counts how a run reported each fault; without side effects.

``RULES`` describes the rules; the page prints it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from blind_reach import Item, Reach, Visibility, is_intermittent
from injections import NIC_LOOKS_LIKE_NODE, Injection

from railgauge.core.naming import unfolded
from railgauge.diagnosis import CERTAIN, OPEN, UNDIAGNOSED

Cause = Mapping[str, Any]
"""A cause of ``verdict.json``."""


class Count(Enum):
    """How a run reported one fault."""

    EXACT = "exact"
    UNDECIDED = "not decided, right"
    AMONG = "among several suspects"
    LISTED = "listed without a cause"
    GATED = "behind a gate, reported"
    GATED_SILENT = "behind a gate, not reported"
    UNPLANNED = "not in the plan, reported"
    UNPLANNED_SILENT = "not in the plan, not reported"
    HIDDEN = "behind a slower part, reported"
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
  *reported* if `unknown` in `verdict.json` has lines of the fault's node that name each kind of
  measurement that could have shown it, or if a cause says that the node does not answer.
- **behind a slower part**: no figure of the run is another one without the fault, because other
  faults slow its items as much, or its items use a NIC whose link has errors, which explain any
  loss of speed; and `unknown` in `verdict.json` says that the fault's node was measured only with
  that part.
- **not in the plan**: no item of the level can show the fault, not even at a severity of 90 %. It
  is *reported* if `unknown` in `verdict.json` has a line of the fault's node that names the part (a
  GPU), or its kind (paths to other nodes, pairings, links), as not measured at this level, or if
  `not_applicable` says why its measurement is not made.
- **below every limit**: played alone and without noise, the fault misses no limit of the platform
  file at any item that the level plans, so that no limit can see it.
- **named as a straggler**: a cause or a note says that its part is behind its peers; for a fault
  that is below every limit, behind a gate, or at items that another fault makes fail as well.
- **did not act**: an intermittent fault, and of the items that it alone makes fail, none did,
  or those that did are what the other faults and the noise of the run make of them.
- **wrong causes** are counted on their own: each decided cause that is exact for no fault of the
  run. A straggler is no wrong cause if its part is slow: the slow device, any device of a slow
  node, both ends of a slow path, or the node of a slow device if it is behind in collectives,
  which use all devices of a node. Nor is a slow NIC whose link has errors, if it was measured only
  while it sent: the receiver counts them.

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
# These may name all nodes without blame if they say which node has which value.
_DIFFERENCES = frozenset({"firmware-mismatch", "nodes-differ"})
STRAGGLER = "straggler"
_NO_ANSWER = "node-unreachable"
_WAS_MEASURED = frozenset({"passed", "marginal", "failed", "flaky"})


@dataclass(frozen=True)
class Counted:
    """One fault of a run."""

    injection: Injection
    count: Count
    detail: str = ""


@dataclass(frozen=True)
class StudiedRun:
    """The faults of a run, which items can show them, and the run's verdict and items."""

    injected: tuple[Injection, ...]
    reaches: Sequence[Reach]
    verdict: Mapping[str, Any]
    items: Sequence[Item]

    @property
    def decided(self) -> list[Cause]:
        return [cause for cause in self.verdict["causes"] if cause["confidence"] != OPEN]

    @property
    def open(self) -> list[Cause]:
        return [cause for cause in self.verdict["causes"] if cause["confidence"] == OPEN]

    def was_shown(self, number: int) -> bool:
        """Whether an item that can show fault ``number`` was measured."""
        shows, injection = self.reaches[number].shows, self.injected[number]
        return any(shows(item) and _was_measured(injection, item) for item in self.items)

    def red_only_for(self, number: int) -> list[Item]:
        """The failed items and errors that only fault ``number`` can explain."""
        others = [reach for other, reach in enumerate(self.reaches) if other != number]
        return [
            item
            for item in self.items
            if item["outcome"] in _WENT_WRONG
            and self.reaches[number].shows(item)
            and not any(reach.shows(item) for reach in others)
        ]


def counted(studied: StudiedRun) -> list[Counted]:
    """The count of each fault, in order."""
    return [Counted(injection, *_count(studied, n)) for n, injection in enumerate(studied.injected)]


def wrong_causes(studied: StudiedRun) -> list[Cause]:
    """The decided causes that are exact for no fault."""
    return [
        cause
        for cause in studied.decided
        if not any(
            is_exact(s, cause, studied.injected)
            or _is_straggler_of(s, cause)
            or (_is_slowed_by_errors(s, cause) and not studied.was_shown(number))
            for number, s in enumerate(studied.injected)
        )
    ]


def _count(studied: StudiedRun, number: int) -> tuple[Count, str]:
    injection = studied.injected[number]
    if not injection.cause:
        return Count.HARMLESS, ""
    named = _named(injection, studied)
    if named and named[0] is Count.EXACT:
        return named
    reach = studied.reaches[number]
    shown = [item for item in studied.items if reach.shows(item)]
    is_visible = reach.visibility is Visibility.LIMITS and any(
        _was_measured(injection, item) for item in shown
    )
    if named and is_visible:
        return named
    if not is_visible:
        return _not_visible(injection, reach.visibility, studied.verdict, shown)
    if is_intermittent(injection) and not any(map(reach.acts, studied.red_only_for(number))):
        return Count.IDLE, ""
    return _missed(injection, studied, number, shown)


def _not_visible(
    injection: Injection, visibility: Visibility, verdict: Mapping[str, Any], shown: Sequence[Item]
) -> tuple[Count, str]:
    """The count of a fault that no limit can show, or that no measured item could show."""
    if line := _straggler(injection, verdict):
        return Count.STRAGGLER, line
    if visibility is Visibility.BELOW:
        return Count.BELOW, ""
    if visibility is Visibility.NOWHERE:
        line = _plan_line(injection, verdict)
        return (Count.UNPLANNED if line else Count.UNPLANNED_SILENT), line
    line = _unknown(injection, verdict, shown)
    return (Count.GATED if line else Count.GATED_SILENT), line


_WENT_WRONG = frozenset({"failed", "error"})
# These faults cause errors; for all other faults an error means that nothing was measured.
_NO_NODE = frozenset({"node-unreachable", "connection-lost"})
_BREAKS = re.compile(r"tool-|unreachable|host-key|wrong-key|node-stops")


def _was_measured(injection: Injection, item: Item) -> bool:
    broken = _BREAKS.match(injection.name) and item["outcome"] == "error"
    if injection.name.startswith("tool-") and item.get("error_kind") in _NO_NODE:
        return False
    return bool(broken) or item["outcome"] in _WAS_MEASURED


def _named(injection: Injection, studied: StudiedRun) -> tuple[Count, str] | None:
    """The best count that a cause gives the fault."""
    for cause in studied.decided:
        if is_exact(injection, cause, studied.injected):
            return Count.EXACT, place(cause)
    for cause in studied.open:
        if is_exact(injection, cause, [injection]):
            return Count.UNDECIDED, place(cause)
    for cause in studied.open:
        if _is_suspected(injection, cause):
            return Count.AMONG, place(cause)
    return None


def is_exact(injection: Injection, cause: Cause, injected: Iterable[Injection]) -> bool:
    """Whether it names the fault with its node and device, and no part without such a fault."""
    if cause["cause"] in _DIFFERENCES and injection.is_named_by(cause):
        return True
    alike = [one for one in injected if one.cause == injection.cause == cause["cause"]]
    nodes = {node for one in alike for node in one.nodes}
    if cause["cause"] in _DIFFERENCES and _is_group(cause, alike):
        return True
    devices = {one.device for one in alike if one.device}
    named = {part for part in cause["where"]["device"].split(",") if part}
    if not injection.nodes <= _nodes(cause) <= nodes or not alike:
        return False
    if injection.cause in _SLOW and not injection.device:
        return not named or _has_one_nic(injection)
    return not injection.device or injection.device in named <= devices


def _is_group(cause: Cause, alike: Iterable[Injection]) -> bool:
    """Whether the cause gives the nodes with this very fault as a group: ``A on mx[01,03]; …``.

    It blames nobody, and all other nodes are in other groups.
    """
    nodes = {one.node for one in alike if one.device == cause["where"]["device"]}
    groups = re.findall(r" on ([^;]+);", f"{cause['says']};")
    return any(set(unfolded(group)) == nodes for group in groups)


def _has_one_nic(injection: Injection) -> bool:
    return injection.platform in NIC_LOOKS_LIKE_NODE


def _is_suspected(injection: Injection, cause: Cause) -> bool:
    """Whether an undecided cause of the same kind lists the fault's part."""
    if cause["cause"] != injection.cause and not {cause["cause"], injection.cause} <= _SLOW:
        return False
    if injection.peer and _names_path(injection, cause):
        return True
    parts, own = _parts(cause["where"]["device"]), _parts(injection.device)
    return injection.nodes <= _nodes(cause) and (not parts or not own or own <= parts)


def _names_path(injection: Injection, cause: Cause) -> bool:
    """Whether the path is among the suspects."""
    places = [cause["where"], *(rival["where"] for rival in cause.get("rivals", ()))]
    ends = {injection.node, injection.peer}
    return any({place["node"], place["peer"]} == ends for place in places)


def _is_straggler_of(injection: Injection, cause: Cause) -> bool:
    """Whether it is a straggler of a part that this fault slows."""
    if cause["cause"] != STRAGGLER or not _nodes(cause) or injection.cause not in _SLOW:
        return False
    if injection.peer:
        return _nodes(cause) == injection.nodes
    own, named = _parts(injection.device), _parts(cause["where"]["device"])
    uses_all = not named and "collectives" in cause["says"]
    return _nodes(cause) == injection.nodes and (not own or uses_all or bool(own & named))


def _is_slowed_by_errors(injection: Injection, cause: Cause) -> bool:
    """Whether it is the NIC, or the one NIC's node, that errors of its link slow."""
    if injection.name != "high-ber" or cause["cause"] not in _SLOW:
        return False
    named = _parts(cause["where"]["device"])
    device = named == {injection.device} or (not named and _has_one_nic(injection))
    return _nodes(cause) == {injection.node} and device


def _parts(device: str) -> set[str]:
    return set(re.split(r"[,>|]|(?<=\d)-(?=[a-z])", device)) - {""}


def _nodes(cause: Cause) -> set[str]:
    where = cause["where"]
    return {*unfolded(where["node"]), *unfolded(where["peer"])} - {""}


def place(cause: Cause) -> str:
    """The cause in one line, as the page shows it."""
    where = cause["where"]
    nodes = ":".join(part for part in (where["node"], where["peer"]) if part)
    sure = "" if cause["confidence"] == CERTAIN else f" ({cause['confidence']})"
    return " ".join(part for part in (cause["cause"], nodes, where["device"]) if part) + sure


def _hidden(injection: Injection, studied: StudiedRun, *, acted: bool) -> str:
    """The line saying that the fault's node was measured only with another faulty part."""
    wanted = _ONLY_WITH_ERRORS if acted else _ONLY_WITH
    lines = _unknown_of(injection, studied.verdict)
    return next((line["why"] for line in lines if line["why"].startswith(wanted)), "")


_ONLY_WITH = "measured only with "
_ONLY_WITH_ERRORS = "measured only with link-error-rate"


def _missed(
    injection: Injection, studied: StudiedRun, number: int, shown: Sequence[Item]
) -> tuple[Count, str]:
    reach = studied.reaches[number]
    red = [item for item in shown if item["outcome"] in _WENT_WRONG]
    ids = {item["id"] for item in red}
    for cause in studied.open:
        if cause["cause"] == UNDIAGNOSED and ids.intersection(cause["evidence"]):
            return Count.LISTED, place(cause)
    measured = [item for item in shown if _was_measured(injection, item)]
    if line := _hidden(injection, studied, acted=any(map(reach.acts, measured))):
        return Count.HIDDEN, line
    if (line := _straggler(injection, studied.verdict)) and not studied.red_only_for(number):
        return Count.STRAGGLER, line
    for cause in wrong_causes(studied):
        if _nodes(cause) & injection.nodes:
            return Count.MISNAMED, place(cause)
    return Count.SWALLOWED, f"{len(red)} items that can show it are red"


def _straggler(injection: Injection, verdict: Mapping[str, Any]) -> str:
    """The cause, decided or not, or the note that names the part as a straggler."""
    for cause in verdict["causes"]:
        if _is_straggler_of(injection, cause):
            return place(cause)
    return next((n for n in verdict["notes"] if STRAGGLER in n and _names(injection, n)), "")


def _plan_line(injection: Injection, verdict: Mapping[str, Any]) -> str:
    """The line of ``unknown`` saying that the level does not measure the fault's part."""
    if injection.name == "gpu-diagnostics":
        return str(verdict["not_applicable"].get("gpu_diagnostic_quick", ""))
    words = _PLAN_WORDS.get(injection.name, re.escape(injection.device) or "alone")
    for line in _unknown_of(injection, verdict):
        if _NOT_AT_THIS_LEVEL.search(line["why"]):
            named = [what for what in line["what"] if _covers(injection, words, what)]
            if named:
                return f"{named[0]}; {line['why']}"
    return ""


_NOT_AT_THIS_LEVEL = re.compile(r"does not measure this")
_PLAN_WORDS = {"slow-path": "paths to", "slow-pcie-path": "pairings of", "slow-xgmi": "links"}


def _covers(injection: Injection, words: str, what: str) -> bool:
    """Whether a line names the fault's part: ``gpu[0-2,5-7] alone`` names gpu5."""
    if injection.device.startswith("gpu") and what.endswith(" alone"):
        return injection.device in unfolded(what.removesuffix(" alone"))
    return re.search(words, what) is not None


def _unknown(injection: Injection, verdict: Mapping[str, Any], shown: Sequence[Item]) -> str:
    """The lines of ``unknown`` for the fault's node, if they cover all that could show it."""
    for cause in verdict["causes"]:
        if cause["cause"] == _NO_ANSWER and injection.nodes & _nodes(cause):
            return place(cause)
    lines = [
        f"{', '.join(line['what'])}; {line['why']}"
        for line in _unknown_of(injection, verdict)
        if not _NOT_AT_THIS_LEVEL.search(line["why"])
    ]
    topics = {_topic(item) for item in shown if not _COUNTERS.intersection(item["ways"])}
    if lines and all(any(re.search(topic, line) for line in lines) for topic in topics):
        return " | ".join(lines)
    return ""


# Items of the counters and the log of a measurement that has an item of its own.
_COUNTERS = frozenset({"traffic", "transport"})


def _topic(item: Item) -> str:
    """A pattern for the words that reports use for this kind of item."""
    part = item["pairing"]
    if item["rung"] == 0:
        return "facts"
    if not part:
        kind = item["subject"].rpartition("_")[2]
        return _APPLICATIONS.get(kind, f"collectives|{item['subject']}")
    if ">" in part:
        return "GPU link"
    if part.startswith("gpu"):
        return "GPU memory RDMA" if "-" in part else "bandwidth of"
    return "host memory paths"


_APPLICATIONS = {
    "serving": "serving", "training": "training", "replay": "training", "storage": "storage"
}  # fmt: skip


def _unknown_of(injection: Injection, verdict: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [
        line
        for line in verdict.get("unknown", ())
        if not injection.nodes or injection.nodes & set(unfolded(line["nodes"]))
    ]


def _names(injection: Injection, line: str) -> bool:
    words = set(re.split(r"[^\w.-]+", line))
    return any(node in words for node in injection.nodes)

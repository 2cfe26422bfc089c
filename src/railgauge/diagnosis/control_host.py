"""Misses that the load of the control host explains: those of nodes that run on it. Pure.

Nodes that are namespaces or guests of the machine that runs the suite share its CPUs. A miss is
claimed only where its own evidence shows the load:

- the node's kernel is that of the control host (its boot id), and
- each repeat that missed has a reading that spans it and shows a busy host, and
- no part of its nodes missed a limit while the host was quiet without reaching one then.

- its nodes are not behind others under the same load: a node that missed everything where the
  others reached their limits is, and so is one that is slow by the same amount each time.

A slow node therefore stays one while the host is busy with something else, or at another time.
Where that cannot be told, the cause is undecided and says what to measure again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from railgauge.core.model import Case, Transcript
from railgauge.core.naming import among, listed
from railgauge.core.question import LIMITS
from railgauge.core.terms import BESIDE_ROLES, Role
from railgauge.diagnosis.history import missed_repeats
from railgauge.diagnosis.model import GOOD, LIKELY, OPEN, CauseClaim, Scene, Where, missed
from railgauge.diagnosis.symptoms import Symptom, symptoms
from railgauge.facts import NodeFacts
from railgauge.facts.control_host import HostLoad, parse
from railgauge.judging.record import ItemRecord

CAUSE = "control-host-busy"
_MOST = 3
_CHANCE = 0.01
_PAIR = 2
_CLEARLY, _ALIKE = 0.2, 1.05
# Both clocks are that of the control host; times are kept to the millisecond or better.
_CLOCK = timedelta(milliseconds=50)
# A node, and one of its parts, or empty for the node as a whole.
_Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Loaded:
    """An item, the load of the repeats that missed, and of the others; ``None`` is not known."""

    record: ItemRecord
    missed: tuple[HostLoad | None, ...]
    reached: tuple[HostLoad | None, ...]


def busy(scene: Scene) -> Iterator[CauseClaim]:
    """At most one claim: about the control host, and about no node."""
    slow = [r for r in scene.open if symptoms(r) == {Symptom.SLOW} and _case(r)]
    if not slow or not any(_is_on_it(scene, record) for record in slow[:_MOST]):
        return
    loaded = [_loaded(scene, record) for record in slow]
    faulty = _faulty(scene, loaded)
    found = [
        one
        for one in loaded
        if _is_on_it(scene, one.record)
        and _all_busy(one)
        and faulty.isdisjoint(_places(one.record))
    ]
    behind = _behind(scene, found)
    if found := [one for one in found if behind.isdisjoint(one.record.nodes)]:
        yield _claim(scene, found)


def _all_busy(one: _Loaded) -> bool:
    return all(load and load.is_busy for load in one.missed)


def _faulty(scene: Scene, loaded: Sequence[_Loaded]) -> set[_Place]:
    """Places that missed a limit while the host was quiet, and reached none then.

    A node of which that is true explains the misses of its partners with it.
    """
    fine = _fine_when_quiet(scene, {one.record.subject for one in loaded})
    quiet = [one.record for one in loaded if not _all_busy(one)]
    whole = {(node, "") for record in quiet for node in record.nodes} - fine
    rest = [record for record in quiet if whole.isdisjoint(_places(record))]
    return whole | ({place for record in rest for place in _places(record)} - fine)


def _behind(scene: Scene, found: Sequence[_Loaded]) -> set[str]:
    """The nodes whose misses are not those of a load under which others reached their limits."""
    subjects = {one.record.subject for one in found}
    under_load = [
        record
        for record in scene.results.records.values()
        if record.subject in subjects and _case(record) and _was_busy(scene, record)
    ]
    nodes = {node for one in found for node in one.record.nodes}
    return {n for n in nodes if _chance(n, under_load) < _CHANCE or _is_steady(n, under_load)}


def _chance(node: str, under_load: Sequence[ItemRecord]) -> float:
    """How likely the load makes all items of a node miss, at the rate of those of other nodes."""
    mine = [record for record in under_load if node in record.nodes]
    others = [record for record in under_load if node not in record.nodes]
    if any(record.outcome in GOOD for record in mine):
        return 1.0
    missed_it = sum(record.outcome not in GOOD for record in others)
    rate: float = (missed_it + 1) / (len(others) + 2)  # Laplace's rule of succession
    return rate ** len(mine)


def _is_steady(node: str, under_load: Sequence[ItemRecord]) -> bool:
    """Whether all of a node, or all that it sends or receives, is equally and clearly too slow.

    What a load leaves varies from one measurement to the next; what a slow part leaves does not.
    """
    pairs = [r for r in under_load if len(r.nodes) == _PAIR and node in r.nodes]
    ends = ([record for record in pairs if record.nodes[end] == node] for end in range(_PAIR))
    return any(_are_alike(mine) for mine in (pairs, *ends))


def _are_alike(records: Sequence[ItemRecord]) -> bool:
    lost = [_clearly_lost(record) for record in records]
    if len(lost) < _PAIR:
        return False
    common = set.intersection(*map(set, lost))
    values = ([one[what] for one in lost] for what in common)
    return any(max(some) <= _ALIKE * min(some) for some in values)


def _clearly_lost(record: ItemRecord) -> Mapping[tuple[str, int | None], float]:
    """The values that miss a limit by far, by metric and size."""
    return {
        (judged.metric, judged.size_bytes): judged.worst
        for judged in missed(record)
        if judged.worst and judged.margin is not None and judged.margin <= -_CLEARLY
    }


def _was_busy(scene: Scene, record: ItemRecord) -> bool:
    loads = _loads(scene, record)
    return bool(loads) and all(load and load.is_busy for load in loads)


def _claim(scene: Scene, found: Sequence[_Loaded]) -> CauseClaim:
    """Likely if each node reached its limits while the host was quiet; else undecided."""
    nodes = dict.fromkeys(node for one in found for node in one.record.nodes)
    fine = _fine_when_quiet(scene, {one.record.subject for one in found})
    unsure = [node for node in nodes if (node, "") not in fine]
    loads = dict.fromkeys(str(load) for one in found for load in one.missed if load)
    says = (
        f"the control host, on which these nodes run, was busy while {len(found)} items missed"
        f" their limits: {listed(list(loads), _MOST, '; ')}"
    )
    measure = f"measure {among(unsure)} again while the control host is quiet"
    return CauseClaim(
        CAUSE,
        Where(""),
        says,
        tuple(one.record for one in found),
        OPEN if unsure else LIKELY,
        measure if unsure else "",
    )


def _fine_when_quiet(scene: Scene, subjects: Collection[str]) -> set[_Place]:
    """The places that reached the limits of these measurements while the host was quiet."""
    return {
        place
        for record in scene.results.records.values()
        if record.outcome in GOOD and record.subject in subjects and _case(record)
        if any(load and not load.is_busy for load in _loaded(scene, record).reached)
        for place in _places(record)
    }


def _places(record: ItemRecord) -> Iterator[_Place]:
    """Each node of the item, and what of it was measured."""
    for node in record.nodes:
        yield node, ""
        yield node, record.part_at(node)


def _case(record: ItemRecord) -> Case | None:
    return next((q.case for q in record.questions if q.kind == LIMITS and q.case), None)


def _is_on_it(scene: Scene, record: ItemRecord) -> bool:
    """Whether all nodes of the item have the kernel of the control host."""
    loads = [load for load in _loads(scene, record) if load]
    boots = {load.boot_id for load in loads}
    facts = [scene.facts(node) for node in record.nodes]
    own = {one.boot_id if isinstance(one, NodeFacts) else None for one in facts}
    return bool(boots) and own == boots


def _loaded(scene: Scene, record: ItemRecord) -> _Loaded:
    loads, case = _loads(scene, record), _case(record)
    repeats = case.repeats if case else 0
    late: set[int] = set()
    for judged in missed(record):
        each = [n for n, is_slow in enumerate(missed_repeats(judged, repeats)) if is_slow]
        # A limit on the spread of all repeats is missed by all of them.
        late.update(each or range(repeats))
    padded = [*loads, *[None] * (repeats - len(loads))]
    return _Loaded(
        record,
        tuple(load for n, load in enumerate(padded) if n in late),
        tuple(load for n, load in enumerate(padded) if n not in late),
    )


def _loads(scene: Scene, record: ItemRecord) -> list[HostLoad | None]:
    case = _case(record)
    result = scene.results.kept(case) if case else None
    return [_load(run) for run in result.runs] if result else []


def _load(run: tuple[Transcript, ...]) -> HostLoad | None:
    """The load beside one repeat; ``None`` without a reading that spans its commands."""
    read = [one for one in run if one.role is Role.CONTROL_HOST]
    commands = [one for one in run if one.role not in BESIDE_ROLES]
    if len(read) != 1 or not commands:
        return None
    span = _span(read[0])
    tools = [_span(one) for one in commands]
    if span is None or not all(
        tool and span[0] - _CLOCK <= tool[0] and tool[1] <= span[1] + _CLOCK for tool in tools
    ):
        return None
    return parse(read[0].stdout, read[0].duration_s)


def _span(said: Transcript) -> tuple[datetime, datetime] | None:
    try:
        began = datetime.fromisoformat(said.started_at)
        return (began, began + timedelta(seconds=said.duration_s)) if began.tzinfo else None
    except (ValueError, OverflowError):
        return None


RULES: tuple[Callable[[Scene], Iterator[CauseClaim]], ...] = (busy,)

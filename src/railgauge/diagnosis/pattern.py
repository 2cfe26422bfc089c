"""From pairs of nodes that went wrong to the node, or the path, that they have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from railgauge.core.model import Judgement, Outcome
from railgauge.core.naming import among, listed
from railgauge.diagnosis.ladder import swing_of
from railgauge.diagnosis.localise import Blamed, PairResult, blame
from railgauge.diagnosis.model import LIKELY, OPEN, CauseClaim, Scene, Where, missed
from railgauge.judging.record import ItemRecord

_GOOD = (Outcome.PASSED, Outcome.MARGINAL)
_PAIR = 2
_HALVES = "halves of the group, declared under 'groups' in the hostfile"


def is_value(judged: Judgement) -> bool:
    """Whether a figure was judged, not a fact or a counter."""
    return judged.worst is not None


def has_value(record: ItemRecord) -> bool:
    return any(map(is_value, record.judgements))


def worst_of(records: Sequence[ItemRecord]) -> str:
    """The measurement that missed its limit by most, or what went wrong, in words."""
    lines = [(j.margin or 0.0, r, j) for r in records for j in missed(r)]
    if not lines:
        return records[0].reason
    _, record, judged = min(lines, key=lambda line: line[0])
    return f"{record.subject} {judged.metric} {judged.measured}, limit {judged.limit}"


def swing_in(records: Sequence[ItemRecord]) -> str:
    """The two groups that samples of missed judgements fall into, if any do."""
    swings = (swing_of(judged) for record in records for judged in missed(record))
    return next(filter(None, swings), "")


def told(records: Sequence[ItemRecord]) -> str:
    return swing_in(records) or worst_of(records)


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a shared cause is called, how its items are told, and which good items speak against it.

    ``path_cause`` is the name where two nodes go wrong only with each other.
    """

    cause: str
    path_cause: str = ""
    device: str = ""
    says: Callable[[Sequence[ItemRecord]], str] = told
    shows: Callable[[ItemRecord], bool] = has_value


def between_nodes(
    scene: Scene, records: Sequence[ItemRecord], pattern: Pattern
) -> Iterator[CauseClaim]:
    """Blame the nodes that are in all of the pairs that went wrong, as far as that is decided."""
    pairs = [record for record in records if len(set(record.nodes)) == _PAIR]
    if not pairs:
        yield from _of_groups(scene, records, pattern)
        return
    blamed = blame(_results(scene, pairs, pattern))
    for node in blamed.nodes:
        mine = tuple(record for record in records if node in record.nodes)
        says = f"{pattern.says(mine)}; in all pairs of {node}, whose partners are fine with others"
        yield CauseClaim(pattern.cause, Where(node, pattern.device), says, mine, LIKELY)
    for one, other in blamed.pairs:
        mine = tuple(record for record in pairs if {one, other} == set(record.nodes))
        where = Where(one, pattern.device, other)
        yield CauseClaim(
            pattern.path_cause or pattern.cause, where, pattern.says(mine), mine, LIKELY
        )
    for open_ in blamed.undecided:
        names = [name for name in open_.among if ":" not in name]
        mine = tuple(r for r in records if set(names) & set(r.nodes) and not _is_told(blamed, r))
        if not mine:  # they met nobody but nodes that are slow themselves: no trouble of their own
            continue
        says = f"{pattern.says(mine)}; the evidence does not tell apart: {listed(open_.among)}"
        where = Where(among(names), pattern.device)
        yield CauseClaim(pattern.cause, where, says, mine, OPEN, open_.would_decide)


def _is_told(blamed: Blamed, record: ItemRecord) -> bool:
    """Whether a node, or the path between two, that is blamed already explains the item."""
    here = set(record.nodes)
    return not here.isdisjoint(blamed.nodes) or any(here.issuperset(p) for p in blamed.pairs)


def _results(scene: Scene, wrong: Sequence[ItemRecord], pattern: Pattern) -> Iterator[PairResult]:
    """Of the same measurements, what went wrong and what speaks against it."""
    subjects = {record.subject for record in wrong}
    for record in passed_pairs(scene):
        if record.subject in subjects and pattern.shows(record):
            yield PairResult((record.nodes[0], record.nodes[1]), slow=False)
    for record in wrong:
        yield PairResult((record.nodes[0], record.nodes[1]), slow=True)


def passed_pairs(scene: Scene) -> Iterator[ItemRecord]:
    for record in scene.results.records.values():
        if record.outcome in _GOOD and len(set(record.nodes)) == _PAIR:
            yield record


def _of_groups(
    scene: Scene, records: Sequence[ItemRecord], pattern: Pattern
) -> Iterator[CauseClaim]:
    """Only groups went wrong: every pair of their nodes that was measured is fine."""
    groups = [record for record in records if len(record.nodes) > _PAIR]
    if groups:
        smallest = min(groups, key=lambda record: len(record.nodes))
        where = Where(among(smallest.nodes), pattern.device)
        fine = (r for r in passed_pairs(scene) if pattern.shows(r))
        measured = any(set(smallest.nodes).issuperset(record.nodes) for record in fine)
        says = pattern.says(groups) + ("; pairs of these nodes are fine" if measured else "")
        yield CauseClaim(pattern.cause, where, says, tuple(groups), OPEN, _HALVES)

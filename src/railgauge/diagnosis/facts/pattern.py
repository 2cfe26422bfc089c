"""Find the node, or the path, that the failed pairs of nodes have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from railgauge.core.model import GOOD, Judgement
from railgauge.core.naming import among, listed
from railgauge.diagnosis.facts.pairwise import Blamed, PairResult, blame
from railgauge.diagnosis.ladder import swing_of
from railgauge.diagnosis.model import LIKELY, OPEN, Context, Finding, Where, missed, worst_of
from railgauge.judging.confirmation import Confirmed
from railgauge.judging.record import ItemRecord

_PAIR = 2
_HALVES = "measure halves of the group: declare them under 'groups' in the hostfile"


def is_value(judged: Judgement) -> bool:
    """Whether the judgement is on a measured value, not on a fact or a counter."""
    return judged.worst is not None


def has_value(record: ItemRecord) -> bool:
    return any(map(is_value, record.judgements))


def is_good(record: ItemRecord) -> bool:
    return record.outcome in GOOD


def swing_in(records: Sequence[ItemRecord]) -> str:
    """The first two groups that samples of failed judgements form, in words; empty if none do."""
    swings = (swing_of(judged) for record in records for judged in missed(record))
    return next(filter(None, swings), "")


def described(records: Sequence[ItemRecord]) -> str:
    return swing_in(records) or worst_of(records)


@dataclass(frozen=True, slots=True)
class Pattern:
    """The name of a shared cause, its description, and the good items that count as evidence.

    ``says`` describes the failed items; ``clears`` and ``shows`` select the items that clear their
    nodes: by default those that passed with a measured value. ``failed`` tells of a measurement
    that was made again whether it failed as well; without it none counts.
    """

    cause: str
    device: str = ""
    says: Callable[[Sequence[ItemRecord]], str] = described
    shows: Callable[[ItemRecord], bool] = has_value
    clears: Callable[[ItemRecord], bool] = is_good
    failed: Callable[[Confirmed], bool] | None = None


def between_nodes(
    context: Context, records: Sequence[ItemRecord], pattern: Pattern
) -> Iterator[Finding]:
    """Blame the nodes, or the paths between two nodes, that explain the failed pairs.

    What the evidence does not decide becomes an open finding with all suspects.
    """
    pairs = [record for record in records if len(set(record.nodes)) == _PAIR]
    if not pairs:
        yield from _of_groups(context, records, pattern)
        return
    blamed = blame(_results(context, pairs, pattern))
    for node in blamed.nodes:
        mine = tuple(record for record in records if node in record.nodes)
        says = f"{pattern.says(mine)}; in all pairs of {node}, whose partners are fine with others"
        yield Finding(pattern.cause, Where(node, pattern.device), says, mine, LIKELY)
    for one, other in blamed.pairs:
        mine = tuple(record for record in pairs if {one, other} == set(record.nodes))
        where = Where(one, pattern.device, other)
        yield Finding(pattern.cause, where, pattern.says(mine), mine, LIKELY)
    for open_ in blamed.undecided:
        names = [name for name in open_.among if ":" not in name]
        mine = tuple(r for r in records if set(names) & set(r.nodes) and not _explained(blamed, r))
        if not mine:  # they were measured only with blamed nodes: nothing is left to explain
            continue
        says = f"{pattern.says(mine)}; the evidence fits each of {listed(open_.among)}"
        where = Where(among(names), pattern.device)
        yield Finding(pattern.cause, where, says, mine, OPEN, open_.would_decide)


def _explained(blamed: Blamed, record: ItemRecord) -> bool:
    """Whether a blamed node, or a blamed path between two nodes, already explains the item."""
    here = set(record.nodes)
    return not here.isdisjoint(blamed.nodes) or any(here.issuperset(p) for p in blamed.pairs)


def _results(
    context: Context, wrong: Sequence[ItemRecord], pattern: Pattern
) -> Iterator[PairResult]:
    """The slow and fast results of the measurements that failed."""
    subjects = {record.subject for record in wrong}
    for record in _pairs(context, pattern.clears):
        if record.subject in subjects and pattern.shows(record):
            yield PairResult((record.nodes[0], record.nodes[1]), slow=False)
    for record in wrong:
        yield PairResult((record.nodes[0], record.nodes[1]), slow=True)
    for one in context.results.confirmed if pattern.failed else ():
        case = one.asked.question.case
        if pattern.failed and case and case.measurement in subjects and len(case.nodes) == _PAIR:
            yield PairResult((case.nodes[0], case.nodes[1]), slow=pattern.failed(one))


def passed_pairs(context: Context) -> Iterator[ItemRecord]:
    return _pairs(context, is_good)


def _pairs(context: Context, suits: Callable[[ItemRecord], bool]) -> Iterator[ItemRecord]:
    for record in context.results.records.values():
        if len(set(record.nodes)) == _PAIR and suits(record):
            yield record


def _of_groups(
    context: Context, records: Sequence[ItemRecord], pattern: Pattern
) -> Iterator[Finding]:
    """One open finding for the nodes of the smallest group, if no pair but only groups failed."""
    groups = [record for record in records if len(record.nodes) > _PAIR]
    if groups:
        smallest = min(groups, key=lambda record: len(record.nodes))
        where = Where(among(smallest.nodes), pattern.device)
        fine = (r for r in passed_pairs(context) if pattern.shows(r))
        measured = any(set(smallest.nodes).issuperset(record.nodes) for record in fine)
        says = pattern.says(groups) + ("; pairs of these nodes are fine" if measured else "")
        yield Finding(pattern.cause, where, says, tuple(groups), OPEN, _HALVES)

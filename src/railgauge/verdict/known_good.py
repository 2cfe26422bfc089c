"""Which nodes a run shows to be good, and so fit to measure another node with. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from railgauge.core.errors import BadInput
from railgauge.core.model import Outcome
from railgauge.core.naming import unfolded
from railgauge.core.terms import Verdict
from railgauge.diagnosis import Cause
from railgauge.judging.record import ItemRecord
from railgauge.verdict.counts import RunVerdict
from railgauge.verdict.decision import RunPlan

_FINE = (Outcome.PASSED, Outcome.MARGINAL, Outcome.RECORD_ONLY)
_WRONG = (Outcome.FAILED, Outcome.ERROR, Outcome.FLAKY)
UNMEASURED = "it has passed nothing by itself"


@dataclass(frozen=True, slots=True)
class DecidedRun:
    """A run with its verdict and records."""

    plan: RunPlan
    verdict: RunVerdict
    records: Mapping[str, ItemRecord]

    @property
    def only(self) -> tuple[str, ...]:
        return self.plan.part.only if self.plan.part else ()

    @property
    def partners(self) -> tuple[str, ...]:
        """The nodes that those in ``only`` were measured with."""
        return self.plan.part.partners if self.plan.part else ()


def doubts(run: DecidedRun, besides: Collection[str]) -> dict[str, str]:
    """Return the nodes that a run does not show to be good, each with the reason.

    Items in which the nodes in ``besides`` take part do not count against the others. A node is
    shown to be good if items of its own passed and none failed, no cause names it, also not as one
    of several, and every failure in which it takes part has a cause.
    """
    found: dict[str, str] = {}
    for cause in run.verdict.causes:
        why = f"it is named by {cause.cause} ({cause.where})"
        found |= dict.fromkeys(_named(cause, run.records), why)
    for item in run.records.values():
        if len(item.nodes) == 1 and item.outcome not in _FINE:
            found.setdefault(*item.nodes, f"{item.id} {_outcome(item)}")
    for item in _unexplained(run.verdict.causes, run.records.values()):
        if set(besides).isdisjoint(item.nodes):
            found |= dict.fromkeys(item.nodes, f"{item.id} {_outcome(item)}, and no cause says why")
    return {node: why for node, why in found.items() if node not in besides}


def _outcome(item: ItemRecord) -> str:
    return f"is {str(item.outcome).replace('_', ' ')}"


def measured(run: DecidedRun) -> set[str]:
    """Return the nodes that have passed an item by themselves."""
    fine = (item.nodes for item in run.records.values() if item.outcome in _FINE)
    return {node for nodes in fine if len(nodes) == 1 for node in nodes}


def _named(cause: Cause, records: Mapping[str, ItemRecord]) -> Iterator[str]:
    """The nodes of a cause; of one that has none, those of the items that show it."""
    where = [*unfolded(cause.where.node), *filter(None, (cause.where.peer,))]
    yield from where
    if not where:
        shown = (records[name] for name in cause.evidence if name in records)
        yield from (node for item in shown for node in item.nodes)


def _unexplained(causes: Iterable[Cause], records: Iterable[ItemRecord]) -> Iterator[ItemRecord]:
    explained = {name for cause in causes for name in (*cause.evidence, *cause.explains)}
    return (item for item in records if item.outcome in _WRONG and item.id not in explained)


def good(run: DecidedRun, besides: Collection[str]) -> tuple[str, ...]:
    """Return the nodes that a run shows to be good, in the order of their names."""
    bad = doubts(run, besides)
    return tuple(sorted(measured(run) - bad.keys() - set(besides)))


def refuse_doubtful_partners(runs: Sequence[DecidedRun]) -> None:
    """Raise ``BadInput`` if a run replaces what was measured with a node that was not good.

    ``runs`` are those of a merged run, oldest first. Otherwise a node that is slow with all others
    could be measured again until each pair had one good result. A doubtful node is good again once
    a run of its own has qualified it.
    """
    doubtful: dict[str, str] = {}
    known: set[str] = set()
    for run in runs:
        for partner in run.partners:
            if why := doubtful.get(partner) or ("" if partner in known else UNMEASURED):
                _refuse(run, partner, why)
        known |= measured(run)
        for node in run.only:
            doubtful.pop(node, None)
        doubtful |= doubts(run, run.only if _is_qualified(run) else ())


def _is_qualified(run: DecidedRun) -> bool:
    return run.verdict.verdict in (Verdict.QUALIFIED, Verdict.QUALIFIED_WITH_DEVIATIONS)


def _refuse(run: DecidedRun, partner: str, why: str) -> None:
    raise BadInput(
        f"has measured {', '.join(run.only)} with {partner}, which the runs before it do not show "
        f"to be good: {why}",
        where=run.plan.run_id,
        remedy="measure with partners that are good (--partners-from the run to complete)",
    )

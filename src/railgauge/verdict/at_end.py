"""The end-of-run checks, which no test makes: every kind of them, and the items of a run. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from railgauge.config.thresholds import Platform
from railgauge.core.model import Cluster, Outcome
from railgauge.core.naming import listed
from railgauge.core.terms import Rung
from railgauge.diagnosis import RunResults, behind_peers
from railgauge.judging.at_end import EndOfRunChecks, combined
from railgauge.judging.growth import ITEMS as COUNTERS
from railgauge.judging.kernel_log import ITEMS as KERNEL_LOGS
from railgauge.judging.own_output import ITEMS as OUTPUTS
from railgauge.judging.record import ItemRecord, with_earlier
from railgauge.judging.telemetry import ITEMS as TELEMETRY
from railgauge.planning.plan import ALL
from railgauge.planning.reduction import Reduction
from railgauge.planning.soak import is_of_soak
from railgauge.verdict import growth, kernel_log, own_output, telemetry
from railgauge.verdict.unanswered import never_ran

_PAIR = 2


@dataclass(frozen=True, slots=True)
class ClosingKind:
    """One kind of end-of-run checks.

    ``asked_by`` is whether a platform file requires them; ``made_of`` gives the record of each node
    from the other results of a run, and none on a platform that does not require them.
    ``has_readings`` is false for checks that only compare the records of other items.
    """

    items: EndOfRunChecks
    asked_by: Callable[[Platform], bool]
    made_of: Callable[[RunResults], Iterator[ItemRecord]]
    has_readings: bool = True

    def of_all(self, results: RunResults) -> Iterator[ItemRecord]:
        """The records, with the readings of the runs that this one resumes."""
        before = [(name, self._of(run, results)) for name, run in results.earlier.items()]
        for item in self.made_of(results):
            earlier = [(name, made[item.id]) for name, made in before if item.id in made]
            yield with_earlier(item, earlier)

    def _of(self, run: RunResults, results: RunResults) -> dict[str, ItemRecord]:
        """The records of an earlier run, with the measurements that this one took over from it."""
        if not self.has_readings:
            return {}
        run = replace(run, records=results.records, soak=results.soak, level=results.level)
        if self.items.is_read:
            own = run.kept
            run = replace(run, kept=lambda case: own(case) or results.kept(case))
        return {item.id: item for item in self.made_of(run)}


KINDS = (
    ClosingKind(
        behind_peers.ITEMS,
        lambda platform: platform.peers is not None,
        behind_peers.compared,
        has_readings=False,
    ),
    ClosingKind(KERNEL_LOGS, lambda platform: platform.kernel_log is not None, kernel_log.made_of),
    ClosingKind(TELEMETRY, lambda platform: platform.telemetry is not None, telemetry.made_of),
    ClosingKind(COUNTERS, lambda platform: platform.growth is not None, growth.made_of),
    ClosingKind(OUTPUTS, lambda _: True, own_output.made_of, has_readings=False),
)


def kind_of(item_id: str) -> ClosingKind | None:
    """The kind of an item; ``None`` for an item that a test makes."""
    return next((kind for kind in KINDS if kind.items.has(item_id)), None)


def is_at_end(item_id: str) -> bool:
    """Whether an item is an end-of-run check: it is judged last, and no test makes it."""
    return kind_of(item_id) is not None or is_of_run(item_id)


_LEFT_OUT = "pairs::rounds"


def is_of_run(item_id: str) -> bool:
    """Whether an item is about the run itself: its soak, or the pairs that it leaves out."""
    return is_of_soak(item_id) or item_id.startswith(f"{_LEFT_OUT}[")


def left_out(less: Reduction, cluster: Cluster) -> ItemRecord:
    """The *not run* item of the pairs that ``--rounds`` leaves out of a level."""
    nodes = tuple(node.name for node in cluster.nodes)
    place = ALL if len(nodes) > _PAIR else ":".join(nodes)
    title = f"All pairs that level {less.level} asks for are measured."
    item = ItemRecord(f"{_LEFT_OUT}[{place}]", Rung.NETWORK, "pairs", title, Outcome.ERROR, nodes)
    remedy = "leave --rounds out, or write the number of rounds into the platform file"
    return replace(never_ran(item, str(less)), remedy=remedy)


def question_kinds() -> frozenset[str]:
    """The kinds of questions that only end-of-run checks ask."""
    return frozenset(kind.items.question_kind for kind in KINDS)


def items(results: RunResults) -> Iterator[ItemRecord]:
    """The records of all end-of-run checks, made from the records of the other items."""
    for kind in KINDS:
        of_parts = kind.items.is_read and results.parts
        yield from _of_parts(kind, results) if of_parts else kind.of_all(results)
    if results.soak:
        yield from results.soak.items


def _of_parts(kind: ClosingKind, results: RunResults) -> Iterator[ItemRecord]:
    """The records of a merged run, in which the readings of every run count.

    A later reading does not replace an earlier one: a run's log and counters show only what
    happened in that run. A node that no run has read is *not run*.
    """
    if not kind.asked_by(results.platform):
        return
    parts = {
        run: replace(_without_at_end(part), level=results.level)
        for run, part in results.parts.items()
    }
    read = {run: {item.id: item for item in kind.of_all(part)} for run, part in parts.items()}
    for node in results.cluster.nodes:
        begun = kind.items.begun(node.name)
        found = {run: items[begun.id] for run, items in read.items() if begun.id in items}
        yield _of_runs(found) if found else never_ran(replace(begun, questions=()), NOT_READ)


def _without_at_end(results: RunResults) -> RunResults:
    """The results as they were before the end-of-run checks."""
    of_tests = {name: one for name, one in results.records.items() if not is_at_end(name)}
    return replace(results, records=of_tests)


def _of_runs(found: Mapping[str, ItemRecord]) -> ItemRecord:
    """The items of a node from several runs as one; if it did not pass, it names the runs."""
    if len(found) == 1 or all(item.outcome is Outcome.PASSED for item in found.values()):
        return combined(list(found.values()))
    one = combined([_in_run(item, run) for run, item in found.items()])
    others = [item.outcome for item in found.values() if item.outcome is not one.outcome]
    runs = {what: [run for run, i in found.items() if i.outcome is what] for what in others}
    more = (f"{str(what).replace('_', ' ')} in {listed(names)}" for what, names in runs.items())
    return replace(one, reason="; ".join(filter(None, (one.reason, *more))))


def _in_run(item: ItemRecord, run: str) -> ItemRecord:
    """The item with the name of its run after each reason."""
    named = (
        replace(judged, reason=f"{judged.reason} (in {run})") if judged.reason else judged
        for judged in item.judgements
    )
    reason = f"{item.reason} (in {run})" if item.reason else ""
    return replace(item, judgements=tuple(named), reason=reason)


NOT_READ = "no run that was merged has read it"

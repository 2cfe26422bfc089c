"""Every kind of item that no test makes, and the items of a run. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from railgauge.config.thresholds import Platform
from railgauge.core.model import Cluster, Outcome
from railgauge.core.terms import Rung
from railgauge.diagnosis import RunResults, peers
from railgauge.judging.closing import ClosingItems
from railgauge.judging.growth import ITEMS as COUNTERS
from railgauge.judging.kernel_log import ITEMS as KERNEL_LOGS
from railgauge.judging.record import ItemRecord
from railgauge.judging.telemetry import ITEMS as TELEMETRY
from railgauge.planning.plan import ALL
from railgauge.planning.reduction import Reduction
from railgauge.planning.soak import is_of_soak
from railgauge.verdict import growth, kernel_log, telemetry
from railgauge.verdict.unanswered import never_ran

_PAIR = 2


@dataclass(frozen=True, slots=True)
class ClosingKind:
    """One kind of closing items.

    ``asked_by`` tells whether a platform file demands them; ``made_of`` gives the record of each
    node from the other results of a run, and none on a platform that does not demand them.
    """

    items: ClosingItems
    asked_by: Callable[[Platform], bool]
    made_of: Callable[[RunResults], Iterator[ItemRecord]]


KINDS = (
    ClosingKind(peers.ITEMS, lambda platform: platform.peers is not None, peers.compared),
    ClosingKind(KERNEL_LOGS, lambda platform: platform.kernel_log is not None, kernel_log.made_of),
    ClosingKind(TELEMETRY, lambda platform: platform.telemetry is not None, telemetry.made_of),
    ClosingKind(COUNTERS, lambda platform: platform.growth is not None, growth.made_of),
)


def kind_of(item_id: str) -> ClosingKind | None:
    """The kind of an item; ``None`` for an item that a test makes."""
    return next((kind for kind in KINDS if kind.items.has(item_id)), None)


def is_closing(item_id: str) -> bool:
    """Whether an item is judged when all others have ended; no test is behind it."""
    return kind_of(item_id) is not None or is_of_run(item_id)


_LEFT_OUT = "pairs::rounds"


def is_of_run(item_id: str) -> bool:
    """Whether an item is about the run itself: its soak, or what it was asked to leave out."""
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
    """The kinds of questions that only closing items ask."""
    return frozenset(kind.items.question_kind for kind in KINDS)


def closing(results: RunResults) -> Iterator[ItemRecord]:
    """The records of all closing items, made of the records of the other items."""
    for kind in KINDS:
        in_parts = kind.items.is_read and results.read_in_parts is not None
        yield from _in_parts(kind, results) if in_parts else kind.made_of(results)
    if results.soak:
        yield from results.soak.items


def read_items(results: RunResults) -> Iterator[ItemRecord]:
    """The closing items whose evidence was read from the nodes at the end of the run."""
    for kind in KINDS:
        if kind.items.is_read:
            yield from kind.made_of(results)


def _in_parts(kind: ClosingKind, results: RunResults) -> Iterator[ItemRecord]:
    """Those of a merged run: a node that no part has read has not been."""
    if not kind.asked_by(results.platform):
        return
    for node in results.cluster.nodes:
        begun = kind.items.begun(node.name)
        found = (results.read_in_parts or {}).get(begun.id)
        yield found or never_ran(replace(begun, questions=()), NOT_READ)


NOT_READ = "no run that was merged has read it"

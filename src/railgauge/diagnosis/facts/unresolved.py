"""Names that nodes do not resolve: those of one node, or all that one node asks for."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from railgauge.core.errors import NameNotResolved
from railgauge.core.model import Outcome
from railgauge.core.terms import Rung
from railgauge.diagnosis.model import CauseRule, Context, Finding, Where
from railgauge.judging.record import ItemRecord

CAUSE = "name-not-resolved"
_PAIR = 2
_BY_NAME = (Rung.NETWORK, Rung.GPUDIRECT)
_Found = Mapping[str, Mapping[str, list[ItemRecord]]]


def unresolved(context: Context) -> Iterator[Finding]:
    """One finding for each node whose name is not resolved, or that resolves none."""
    asked: dict[str, dict[str, list[ItemRecord]]] = defaultdict(lambda: defaultdict(list))
    for record in context.open:
        if record.error_kind == NameNotResolved.kind and record.nodes:
            asked[record.nodes[0]][_named(context, record)].append(record)
    blamed: dict[str, list[ItemRecord]] = defaultdict(list)
    for asker, names in asked.items():
        is_alone = _is_alone(context, asker, asked)
        for name, records in names.items():
            blamed[asker if is_alone else name] += records
    for node, records in blamed.items():
        yield Finding(CAUSE, Where(node), records[0].reason, tuple(records))


def _named(context: Context, record: ItemRecord) -> str:
    """The node whose name was not resolved; the first node of an item asks for the others."""
    asker, *others = record.nodes
    where = record.error_where.partition(": ")[0]
    if where in others:
        return where
    words = set(re.findall(r"[\w.-]+", record.reason))
    cluster = context.results.cluster
    named = [one for one in others if {one, cluster.node(one).data_address} & words]
    return (named or others or [asker])[0]


def _is_alone(context: Context, asker: str, asked: _Found) -> bool:
    """Whether a node fails to resolve names that others resolve."""
    names = asked[asker]
    if any(name in asked[other] for other in asked if other != asker for name in names):
        return False
    return all(name in _reached(context, asker) for name in names)


def _reached(context: Context, asker: str) -> set[str]:
    """The nodes that another node than ``asker`` reached by their names."""
    return {
        record.nodes[1]
        for record in context.results.records.values()
        if record.rung in _BY_NAME and len(record.nodes) == _PAIR
        if record.nodes[0] != asker and record.outcome in (Outcome.PASSED, Outcome.FAILED)
    }


RULES: tuple[CauseRule, ...] = (unresolved,)

"""The items of the nodes whose tools printed an output twice. Pure.

A node without such an output has no item, so that nothing is demanded of tools that show no run.
"""

from __future__ import annotations

from collections.abc import Iterator

from railgauge.diagnosis import RunResults
from railgauge.judging.own_output import ITEMS, errors_at
from railgauge.judging.record import ItemRecord, settled


def made_of(results: RunResults) -> Iterator[ItemRecord]:
    """Yield the record of each node that printed an output twice: an error that names both."""
    repeated = results.repeated()
    for node in results.cluster.nodes if repeated else ():
        first, *others = [*errors_at(node.name, repeated), None]
        if first is None:
            continue
        more = f"; and {len(others) - 1} more outputs" if len(others) > 1 else ""
        error = type(first)(f"{first.what}{more}", where=first.where, remedy=first.remedy)
        yield settled(ITEMS.begun(node.name), (), error)

"""The items of the nodes whose tools printed an output twice. Pure.

A node without such an output has no item, so nothing is required of tools whose output identifies
no run.
"""

from __future__ import annotations

from collections.abc import Iterator

from railgauge.diagnosis import RunResults
from railgauge.judging.own_output import ITEMS, errors
from railgauge.judging.record import ItemRecord, settled


def made_of(results: RunResults) -> Iterator[ItemRecord]:
    """Yield the record of each node that printed an output twice: an error that names both."""
    found = errors(results.repeated())
    for node in results.cluster.nodes:
        if node.name in found:
            yield settled(ITEMS.begun(node.name), (), found[node.name])

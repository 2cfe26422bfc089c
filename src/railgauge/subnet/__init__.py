"""The InfiniBand subnet as values: the declared cables, and parsers for the tools' output."""

from __future__ import annotations

from railgauge.subnet.topology import (
    Cable,
    End,
    Topology,
    leaf_groups,
    topology,
)

__all__ = ["Cable", "End", "Topology", "leaf_groups", "topology"]

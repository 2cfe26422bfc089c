"""Runs that keep all limits although a node, a NIC or a path is behind its peers."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from railgauge.judging.record import ItemRecord
from testing.diagnose_scenes import collective, names, pairs_of, path

NICS = ("mlx5_0", "mlx5_1", "mlx5_2")
GPUS = tuple(f"gpu{i}-mlx5_{i}" for i in range(3))
GOOD = 392.0
FEW, MANY = names(4), names(8)
_SUBJECTS = {
    "host_write_bandwidth": NICS,
    "host_read_bandwidth": NICS,
    "gpu_write_bandwidth": GPUS,
}


def run(
    nodes: Sequence[str] = FEW,
    capacity: Mapping[Any, float] | None = None,
    *,
    seed: int = 1,
    noise: float = 0.001,
    rounds: int = 2,
) -> list[ItemRecord]:
    """Pairs over NICs and GPUs, and collectives over pairs and inside each node.

    ``capacity`` is the share that is left to a node, or to (node, NIC or path).
    """
    share, chance = capacity or {}, random.Random(seed)

    def reached(full: float, keys: Sequence[Any]) -> float:
        return full * min(share.get(key, 1.0) for key in keys) * (1 - noise * chance.random())

    pairs = list(pairs_of(nodes, rounds))
    over = [
        path(a, b, part, reached(GOOD, _keys(a, b, part)), subject)
        for a, b in pairs
        for subject, parts in _SUBJECTS.items()
        for part in parts
    ]
    both = [collective(pair, reached(400.0, pair)) for pair in pairs]
    alone = [collective((node,), reached(400.0, (node,))) for node in nodes]
    return [rates(one) for one in (*over, *both, *alone)]


def _keys(a: str, b: str, part: str) -> list[Any]:
    parts = (part, part.rpartition("-")[2])
    return [a, b, *((node, name) for node in (a, b) for name in parts)]


def rates(item: ItemRecord) -> ItemRecord:
    """The item with the direction that a tool declares for a bandwidth."""
    judged = tuple(replace(one, better="higher") for one in item.judgements)
    return replace(item, judgements=judged)

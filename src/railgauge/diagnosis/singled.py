"""Which parts of each node were measured by themselves. Pure.

A collective uses all GPUs of a node and singles out none, so it does not measure a part. An item
that names a GPU, a NIC, a pairing or a link does.

Example: level smoke measures ``gpu0-mlx5_0`` and ``gpu4-mlx5_1`` of ``mx01``. Then
``Singled.of(results).lacks("mx01", GPU)`` is ``("gpu1", "gpu2", "gpu3", "gpu5", "gpu6", "gpu7")``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from railgauge.config.thresholds.model import Platform
from railgauge.core.model import Outcome
from railgauge.core.terms import Rung
from railgauge.diagnosis.model import RunResults
from railgauge.planning import demand

GPU, NIC, PAIRING, LINK = "gpu", "nic", "pairing", "link"
_OPEN = (Outcome.BLOCKED, Outcome.ERROR, Outcome.NOT_RUN)
_ENDS = re.compile(r"[>:]|(?<=\d)-(?=[a-z])")


@dataclass(frozen=True, slots=True)
class Singled:
    """The declared parts, and for each node the names of those that were measured."""

    declared: Mapping[str, tuple[str, ...]]
    measured: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, results: RunResults) -> Singled:
        found: dict[str, set[str]] = defaultdict(set)
        for record in results.records.values():
            if record.rung > Rung.PREFLIGHT and record.pairing and record.outcome not in _OPEN:
                for node in record.nodes:
                    found[node].update(parts_of(record.part_at(node)))
        known = {node: frozenset(parts) for node, parts in found.items()}
        return cls(declared_parts(results.platform), known)

    def lacks(self, node: str, kind: str) -> tuple[str, ...]:
        """Return the declared parts of ``kind`` that no measurement of this node singled out."""
        has = self.measured.get(node, frozenset())
        return tuple(part for part in self.declared[kind] if part not in has)


def not_measured(results: RunResults, node: str, kind: str) -> tuple[str, ...]:
    """Return the parts of a node that were not measured by themselves.

    ``kind`` is ``GPU``, ``NIC``, ``PAIRING`` or ``LINK``. For many nodes make ``Singled`` once.
    """
    return Singled.of(results).lacks(node, kind)


def declared_parts(platform: Platform) -> dict[str, tuple[str, ...]]:
    """Return the names of all declared parts of a node, by kind."""
    count = platform.gpus.count if platform.gpus else 0
    return {
        GPU: tuple(map(demand.gpu_label, range(count))),
        NIC: tuple(nic.name for nic in platform.fabric_nics),
        PAIRING: tuple(map(str, platform.pairings("gpu"))) if count else (),
        LINK: tuple(demand.links(platform)),
    }


def parts_of(part: str) -> Iterable[str]:
    """Return a part and its ends: ``gpu0-mlx5_0``, ``gpu0`` and ``mlx5_0``."""
    return {part, *_ENDS.split(part)}

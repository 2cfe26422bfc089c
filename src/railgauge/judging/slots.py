"""Limits that are a share of the bandwidth of a GPU's own PCIe slot. Pure.

A platform file for GPUs of any model cannot state their slots. The driver reports the highest PCIe
generation and width that GPU and slot support together.
"""

from __future__ import annotations

import re
from dataclasses import replace

from railgauge.config.thresholds.model import PCIE_GTS
from railgauge.config.thresholds.physics import pcie_gbps
from railgauge.core.errors import FactMissing, NoEvidence
from railgauge.core.limits import Limit
from railgauge.core.units import convert
from railgauge.facts import FactsByNode, require

GPU_SLOT = "gpu_slot"

_WIDTHS = (1, 2, 4, 8, 16, 32)
_GPU = re.compile(r"gpu(\d{1,4})")


def in_its_slot(
    limit: Limit, node: str, placement: str | None, found: FactsByNode
) -> tuple[Limit, float | None]:
    """Return the limit with its floor in ``limit.unit``, and the slot's bandwidth as its ceiling.

    A limit that is not a share of the slot is returned unchanged, with ``None``. ``found`` are the
    facts of the nodes, ``placement`` the GPU (``gpu0``). Raises ``NoEvidence`` if the bandwidth of
    the slot is not known.
    """
    if limit.of != GPU_SLOT:
        return limit, None
    ceiling = convert(_slot_gbps(node, placement, found), "Gb/s", limit.unit)
    floor = limit.floor * ceiling if isinstance(limit.floor, float) else limit.floor
    return replace(limit, floor=floor), ceiling


def _slot_gbps(node: str, placement: str | None, found: FactsByNode) -> float:
    gpu, facts = _GPU.fullmatch(placement or ""), found.get(node)
    if isinstance(facts, NoEvidence):
        raise facts
    if facts is None or gpu is None:
        raise FactMissing("it is not known which slot the GPU sits in", where=node)
    generation, width = (
        require(facts, f"gpus.{gpu[1]}.{name}") for name in ("pcie_max_gen", "pcie_max_width")
    )
    if generation not in PCIE_GTS or width not in _WIDTHS:
        raise FactMissing(f"PCIe {generation} x{width} is no slot that is known", where=node)
    return pcie_gbps(generation, width)

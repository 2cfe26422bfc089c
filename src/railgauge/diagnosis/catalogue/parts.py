"""Causes of parts that are absent or return wrong results."""

from __future__ import annotations

from collections.abc import Mapping

from railgauge.diagnosis.catalogue.kind import Kind

KINDS: Mapping[str, Kind] = {
    "data-corruption": Kind(
        "a collective, a product or a copy returned wrong results",
        "take the node out of service; run the vendor's memory and GPU diagnostics on it",
        "derived: what returns wrong results cannot be used at any speed",
    ),
    "nic-missing": Kind(
        "a declared NIC is absent",
        "look for it with lspci; reseat the card, check its slot and the firmware's bifurcation",
        "derived: an absent part that is declared is a fault, not a smaller cluster",
    ),
    "gpu-missing": Kind(
        "a declared GPU is absent",
        "look in the kernel log (Xid, 'fallen off the bus'), reset the GPU or power-cycle the node",
        "001: health check check_gpu_count, expected 8 and found 8",
    ),
}

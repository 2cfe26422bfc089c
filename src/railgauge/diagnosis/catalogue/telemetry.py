"""Causes that samples of the GPUs show."""

from __future__ import annotations

from collections.abc import Mapping

from railgauge.diagnosis.catalogue.kind import Kind

KINDS: Mapping[str, Kind] = {
    "gpu-throttled": Kind(
        "a GPU lowered its clock, was too hot or drew too much power while it was measured",
        "for heat check inlet air, fans or coolant and the heat sink, for a power brake the power"
        " supplies and the node's power limit; compare with a good GPU in the same slot; a GPU that"
        " throttles where others do not is replaced",
        "standard: NVIDIA, NVML API Reference Guide, NvmlClocksEventReasons; AMD SMI, GPU"
        " violations (rocm.docs.amd.com/projects/amdsmi)",
    ),
    "telemetry-unread": Kind(
        "the GPUs of a node were not sampled while they were measured, or what was sampled cannot"
        " be read: whether they throttled is not known",
        "run the sampler's command of the transcript on the node by hand; update the vendor's tool,"
        " or take the limit of what it does not show out of the platform file",
        "derived: a GPU that nobody watches may throttle without missing the limit of a"
        " measurement",
        folds=True,
    ),
}

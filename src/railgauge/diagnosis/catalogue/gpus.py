"""Causes of the state of GPUs and disks, and of what else uses the GPUs."""

from __future__ import annotations

from collections.abc import Mapping

from railgauge.diagnosis.catalogue.kind import Kind

KINDS: Mapping[str, Kind] = {
    "gpu-memory-errors": Kind(
        "a GPU's memory had uncorrected errors, more corrected ones than it may have, or rows or"
        " pages that had to be replaced",
        "reset the GPU; if a row or page cannot be replaced or errors come back, replace the GPU",
        "001: health check check_gpu_ecc",
    ),
    "gpu-ecc-off": Kind(
        "a GPU runs without ECC: wrong bits are neither corrected nor counted",
        "switch it on (nvidia-smi -e 1) and reboot the node",
        "derived: without ECC the error counters do not count",
        folds=True,
    ),
    "gpu-power-capped": Kind(
        "a GPU may not draw its full power",
        "raise the cap with nvidia-smi -pl or amd-smi set --power-cap; find what sets it at boot",
        "derived: a GPU whose power is capped lowers its clocks under load",
        folds=True,
    ),
    "gpu-clock-limited": Kind(
        "a GPU's maximum clock is lower than that of its model",
        "compare board, VBIOS and the vendor's profile with a good GPU's",
        "001: all GPUs were locked at one clock, 1980 MHz, before they were compared",
        folds=True,
    ),
    "gpu-clock-unlocked": Kind(
        "a GPU's clock is not locked, so it changes while the GPU is measured",
        "nvidia-smi -lgc 1980 --mode 1, with the clock of your GPU",
        "001: node preparation, nvidia-smi -lgc 1980 --mode 1 on every node",
        folds=True,
        prepared_by="gpu_clock",
    ),
    "gpu-diagnostic-failed": Kind(
        "a GPU does not pass the vendor's own diagnostics",
        "run dcgmi diag again with -v, alone on the node; a GPU that fails twice is replaced",
        "001: dcgmi diag -r 4 and EUD pass on every GPU of a healthy node",
    ),
    "health-check-failed": Kind(
        "a health check of the site failed on the node",
        "read the check's message and its fault code in the transcript; run that check by hand",
        "001: all health checks passed on every node before anything was measured",
    ),
    "nvme-missing": Kind(
        "the node has fewer NVMe disks than declared",
        "look for the disk with nvme list, lspci and dmesg; reseat or replace it",
        "001: health checks, GPU and NVMe counts passed on every node",
    ),
    "gpu-hidden": Kind(
        "an environment variable hides GPUs from the programs on the node, which has them",
        "remove CUDA_VISIBLE_DEVICES (HIP_, ROCR_, MACA_) from the login's start-up files, or from"
        " setup or environment in the hostfile",
        "derived: what no program can see cannot be measured; the node's own list still shows it",
        folds=True,
    ),
    "gpu-partitioned": Kind(
        "a GPU is partitioned (MIG), or its compute or memory partitions are not as declared",
        "nvidia-smi -mig 0; amd-smi set --compute-partition SPX --memory-partition NPS1; reset",
        "derived: the limits hold for GPUs that are not partitioned",
        folds=True,
    ),
    "gpu-fabric-down": Kind(
        "a GPU is not registered with the NVLink fabric, so it reaches no other GPU over NVSwitch",
        "systemctl restart nvidia-fabricmanager and read its log; then reset the GPUs of the node",
        "derived: without the fabric manager CUDA cannot be initialised on systems with NVSwitch",
        folds=True,
    ),
    "gpu-link-down": Kind(
        "a link between GPUs is down, absent or slower than the other links",
        "reset the GPUs of the node; then reseat the board",
        "001: health check check_nvlink_status, all NVLinks active",
    ),
    "background-gpu-diagnostics": Kind(
        "GPU diagnostics run in the background and take turns with the collectives",
        "stop them (dcgmi diag, EUD, RVS, fieldiag) and what restarts them; then measure again",
        "001: with EUD in the background on all nodes, iterations vary between 33 and 390 GB/s",
        folds=True,
    ),
    "foreign-gpu-process": Kind(
        "processes other than the suite's hold GPU memory",
        "drain the node before you measure it",
        "001: always check for background GPU processes",
        folds=True,
    ),
}

"""The error counters that ``nvidia-smi`` shows: memory, PCIe and NVLinks of each GPU."""

from __future__ import annotations

from collections.abc import Mapping

from railgauge.stacks.counting import GpuCounters, GpuCounts, numbers
from railgauge.stacks.nvidia_smi import parse_log
from railgauge.stacks.nvlink import parse_nvlink
from railgauge.stacks.readings import Raw
from railgauge.stacks.sections import Section, section


def parse_counters(sections: Mapping[str, Section]) -> Mapping[int, GpuCounts]:
    """Read ``nvidia-smi -q -x`` and ``nvidia-smi nvlink -e``."""
    log, links = section(sections, "nvidia-smi-q"), section(sections, "nvidia-smi-nvlink-e")
    found = parse_log("" if log.failure else log.text)
    errors = _link_errors("" if links.failure else links.text)
    if found.problem:
        return errors
    return {
        index: {**_of_gpu(raw), **errors.get(index, {})} for index, raw in enumerate(found.gpus)
    }


def _of_gpu(raw: Raw) -> dict[str, int]:
    counts = numbers(
        {
            "ecc_uncorrected": raw.get("ecc.errors.uncorrected.volatile.total"),
            "ecc_corrected": raw.get("ecc.errors.corrected.volatile.total"),
            "retired_pages": raw.get("retired.count"),
            "pcie_replays": raw.get("pcie.replays"),
        }
    )
    rows = numbers({kind: raw.get(f"remapped.{kind}") for kind in ("correctable", "uncorrectable")})
    return counts | ({"remapped_rows": sum(rows.values())} if len(rows) == len(_KINDS) else {})


_KINDS = ("correctable", "uncorrectable")


def _link_errors(text: str) -> dict[int, dict[str, int]]:
    """Return ``link3_crc_errors`` of each GPU, by its number; not the counts of packets."""
    found = parse_nvlink(text)
    return {
        gpu: {
            name: int(count)
            for name, count in found.errors.get(gpu, {}).items()
            if name.endswith(_ERRORS)
        }
        for gpu in found.gpus
    }


_ERRORS = ("_replay_errors", "_recovery_errors", "_crc_errors")


COUNTERS = GpuCounters(
    groups=(
        *("gpu_ecc_uncorrected", "gpu_ecc_corrected", "gpu_remapped_rows", "gpu_retired_pages"),
        *("gpu_link_errors", "gpu_pcie_replays"),
    ),
    commands={
        "nvidia-smi-q": "nvidia-smi -q -x",
        "nvidia-smi-nvlink-e": "nvidia-smi nvlink -e",
    },
    parse=parse_counters,
)

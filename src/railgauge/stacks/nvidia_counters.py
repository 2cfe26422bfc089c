"""The error counters that ``nvidia-smi`` shows: memory, PCIe and NVLinks of each GPU."""

from __future__ import annotations

import re
from collections.abc import Mapping

from railgauge.stacks.counting import GpuCounters, GpuCounts, numbers
from railgauge.stacks.nvidia_smi import parse_log
from railgauge.stacks.readings import Raw
from railgauge.stacks.sections import Section, section

_LONGEST_LINE = 300
_GPU = re.compile(r"GPU (\d{1,4}): .*")
_LINK = re.compile(r"Link (\d{1,3}): (Replay|Recovery|CRC) Errors: (\d{1,18})")


def parse_counters(sections: Mapping[str, Section]) -> Mapping[int, GpuCounts]:
    """Read ``nvidia-smi -q -x`` and ``nvidia-smi nvlink -e``."""
    log, links = section(sections, "nvidia-smi-q"), section(sections, "nvidia-smi-nvlink-e")
    found = parse_log("" if log.failure else log.text)
    errors = parse_link_errors("" if links.failure else links.text)
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


def parse_link_errors(text: str) -> dict[int, dict[str, int]]:
    """Parse ``nvidia-smi nvlink -e``: ``link3_crc_errors`` of each GPU, by its number."""
    found: dict[int, dict[str, int]] = {}
    counts: dict[str, int] = {}
    for line in (line[:_LONGEST_LINE].strip() for line in text.splitlines()):
        if start := _GPU.fullmatch(line):
            counts = found.setdefault(int(start[1]), {})
        elif error := _LINK.fullmatch(line):
            counts[f"link{error[1]}_{error[2].lower()}_errors"] = int(error[3])
    return found


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

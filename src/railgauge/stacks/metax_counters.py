"""The error counters that ``mx-smi --count-ecc`` shows: the memory of each GPU.

Errors are counted since the driver was loaded, retired pages for ever. The counters of MetaXLink
(``mx-smi mxlk --show-aer``) are not read: no output of it is public.
"""

from __future__ import annotations

from collections.abc import Mapping

from railgauge.stacks.counting import GpuCounters, GpuCounts, numbers
from railgauge.stacks.metax_blocks import parse_blocks
from railgauge.stacks.sections import Section, section

_MEMORIES = ("SRAM", "DRAM")
_KINDS = {"ecc_corrected": "Correctable", "ecc_uncorrected": "Uncorrectable"}
_RETIRED = "Retired Pages/Double Bit ECC"


def parse_counters(sections: Mapping[str, Section]) -> Mapping[int, GpuCounts]:
    """Read ``mx-smi --count-ecc``; a sum of which a part is missing is left out."""
    listed = section(sections, "mx-smi-ecc")
    blocks = {} if listed.failure else parse_blocks(listed.text)
    return {gpu: _of_gpu(block) for gpu, block in blocks.items()}


def _of_gpu(block: Mapping[str, str]) -> dict[str, int]:
    found = numbers({"retired_pages": block.get(_RETIRED)})
    for counter, kind in _KINDS.items():
        parts = numbers({m: block.get(f"ECC Errors/{m} {kind}") for m in _MEMORIES})
        if len(parts) == len(_MEMORIES):
            found[counter] = sum(parts.values())
    return found


COUNTERS = GpuCounters(
    groups=("gpu_ecc_uncorrected", "gpu_ecc_corrected", "gpu_retired_pages"),
    commands={"mx-smi-ecc": "mx-smi --count-ecc"},
    parse=parse_counters,
    needs="mx-smi 2.2.9 or later",
)

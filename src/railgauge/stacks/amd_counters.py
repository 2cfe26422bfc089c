"""The error counters that ``amd-smi`` shows: memory, PCIe and XGMI of each GPU."""

from __future__ import annotations

from collections.abc import Mapping

from railgauge.stacks.amd_smi import bad_pages, parse_gpus
from railgauge.stacks.counting import GpuCounters, GpuCounts, numbers
from railgauge.stacks.readings import Raw
from railgauge.stacks.sections import Section, section

# The places of each counter in ``amd-smi metric``, for all its releases.
_PLACES = {
    "ecc_corrected": ("ecc/total_correctable_count", "ecc/total_correct_count"),
    "ecc_uncorrected": ("ecc/total_uncorrectable_count", "ecc/total_uncorrect_count"),
    "pcie_replays": ("pcie/replay_count",),
    "xgmi_corrected": ("ecc_blocks/xgmi_wafl/correctable_count",),
    "xgmi_uncorrected": ("ecc_blocks/xgmi_wafl/uncorrectable_count",),
}


def parse_counters(sections: Mapping[str, Section]) -> Mapping[int, GpuCounts]:
    """Read ``amd-smi metric`` and ``amd-smi bad-pages``."""
    metric, pages = (_part(sections, name) for name in ("amd-smi-metric", "amd-smi-bad-pages"))
    return {gpu: {**_of_gpu(raw), **_pages(pages.get(gpu, {}))} for gpu, raw in metric.items()}


def _part(sections: Mapping[str, Section], name: str) -> Mapping[int, Raw]:
    printed = section(sections, name)
    return {} if printed.failure else parse_gpus(printed.text)


def _of_gpu(raw: Raw) -> dict[str, int]:
    """The counters; the totals of errors are those of all blocks, of which XGMI is no memory."""
    found = numbers(
        {
            name: next((raw[place] for place in places if place in raw), None)
            for name, places in _PLACES.items()
        }
    )
    for kind in ("corrected", "uncorrected"):
        total, links = found.get(f"ecc_{kind}"), found.get(f"xgmi_{kind}", 0)
        if total is not None and links <= total:
            found[f"ecc_{kind}"] = total - links
    return found


def _pages(raw: Raw) -> dict[str, int]:
    retired = bad_pages(raw, "retired")
    return {} if retired is None else {"retired_pages": retired}


COUNTERS = GpuCounters(
    groups=(
        *("gpu_ecc_uncorrected", "gpu_ecc_corrected", "gpu_retired_pages", "gpu_link_errors"),
        "gpu_pcie_replays",
    ),
    commands={
        "amd-smi-metric": "amd-smi metric --json",
        "amd-smi-bad-pages": "amd-smi bad-pages --json",
    },
    parse=parse_counters,
)

"""AMD: ``amd-smi`` and the older ``rocm-smi``, perftest with ROCm memory, RCCL.

Either tool may be missing. amd-smi reports health and links, rocm-smi processes and link types.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from railgauge.stacks import readings as read
from railgauge.stacks.amd_counters import COUNTERS
from railgauge.stacks.amd_sampler import SAMPLER
from railgauge.stacks.amd_smi import Xgmi, bad_pages, parse_gpus, parse_versions, parse_xgmi
from railgauge.stacks.counting import GpuCounters
from railgauge.stacks.model import GpuFacts, GpuIdentity, StackFacts, unread
from railgauge.stacks.readings import Raw
from railgauge.stacks.rocm_smi import RocmLog, parse_json
from railgauge.stacks.sampling import Sampler
from railgauge.stacks.sections import Section, section
from railgauge.stacks.versions import Version, library_files, library_version, versions

# Every release has these options; with an unknown one it would print nothing.
_ROCM_SMI = (
    "rocm-smi --showproductname --showbus --showmeminfo vram --showdriverversion --showuniqueid"
    " --showmaxpower --showclocks --showtopo --showpids --json"
)
# The two settings that the kernel needs to give a NIC access to GPU memory by dma-buf.
_DMA_BUF_SETTINGS = ("CONFIG_DMABUF_MOVE_NOTIFY=y", "CONFIG_PCI_P2PDMA=y")

# The places of each field of GpuFacts in the output of amd-smi, for all its releases.
_PLACES: dict[str, tuple[str, ...]] = {
    "model": ("asic/market_name",),
    "bus_id": ("bus/bdf", "bdf"),
    "memory_mib": ("vram/size", "vram/vram_size"),
    "numa_node": ("numa/node",),
    "power_limit_w": (
        "limit/ppt0/socket_power_limit", "limit/socket_power", "limit/power_limit",
    ),
    "vbios": ("vbios/version", "ifwi/version"),
    "clock_max_mhz": ("clock/gfx_0/max_clk",),
    "ecc_enabled": ("ras/ecc_block_state/umc",),
    "ecc_uncorrected": ("ecc/total_uncorrectable_count", "ecc/total_uncorrect_count"),
    "pcie_gen": ("pcie/speed", "pcie/current_speed"),
    "pcie_width": ("pcie/width", "pcie/current_lanes"),
    "pcie_max_gen": ("bus/max_pcie_speed",),
    "pcie_max_width": ("bus/max_pcie_width", "bus/max_pcie_lanes"),
    "compute_partition": ("partition/accelerator_partition", "partition/compute_partition"),
    "memory_partition": ("partition/memory_partition",),
}  # fmt: skip
_NOT_AMD = ("persistence_mode", "power_default_w", "remapped_rows", "mig_enabled", "fabric")
# The names of these fields in the output of rocm-smi; the others have the same name there.
_ROCM_PLACES = {
    "memory_mib": "memory",
    "power_limit_w": "power_limit",
    "pcie_gen": "pcie",
    "pcie_width": "pcie",
}


@dataclass(frozen=True, slots=True)
class Amd:
    """The stack of Instinct MI200, MI300 and later GPUs."""

    name: str = "amd"
    probe_commands: Mapping[str, str] = field(
        default_factory=lambda: {
            "amd-smi-static": "amd-smi static --json",
            "amd-smi-metric": "amd-smi metric --json",
            "amd-smi-bad-pages": "amd-smi bad-pages --json",
            "amd-smi-xgmi": "amd-smi xgmi",
            "amd-smi-version": "amd-smi version",
            "rocm-smi": _ROCM_SMI,
            "amd-rccl": library_files("librccl"),
            "amd-dma-buf": 'release=$(cat "$R/proc/sys/kernel/osrelease") &&'
            ' grep -e ^CONFIG_DMABUF_MOVE_NOTIFY= -e ^CONFIG_PCI_P2PDMA= "$R/boot/config-$release"',
        }
    )
    samplers: tuple[Sampler, ...] = (SAMPLER,)
    counters: GpuCounters = COUNTERS
    # RCCL reads the environment variables of NCCL.
    collective_prefix: str = "NCCL"
    pci_vendor: str = "0x1002"
    listing: tuple[str, ...] = ("amd-smi", "rocm-smi")
    peer_memory: str = "amdkfd"
    perftest_dmabuf: tuple[str, ...] = ("--use_rocm_dmabuf",)
    peer_modules: tuple[str, ...] = ()
    diagnostics: tuple[str, ...] = ("rvs", "agfhc")

    def parse(self, sections: Mapping[str, Section]) -> StackFacts:
        rocm = _rocm_log(section(sections, "rocm-smi"))
        raws = _raws(sections)
        links = section(sections, "amd-smi-xgmi")
        gpus, problem = _gpus(raws, rocm, parse_xgmi("" if links.failure else links.text))
        problem = problem or _gpu_problem(sections, raws, rocm)
        driver = _driver(raws, rocm)
        software, unknown = versions(_software(sections))
        topology = _topology(gpus, rocm)
        missing = {
            "gpus": problem,
            "gpu_driver": "" if driver else rocm.problem or "rocm-smi: shows no driver version",
            "gpu_processes": rocm.problem,
            "topology": "" if topology else rocm.problem or "rocm-smi: shows no link types",
        }
        return StackFacts(
            gpus=gpus,
            driver=driver,
            software=software,
            topology=topology,
            processes=rocm.processes,
            peer_memory=_dma_buf(section(sections, "amd-dma-buf")),
            missing={name: reason for name, reason in missing.items() if reason}
            | unknown
            | unread(gpus, lambda name: _why(name, sections)),
            identities=_identities(gpus, raws, rocm),
            unidentified=section(sections, "amd-smi-static").failure
            or "amd-smi static: does not show it",
        )

    def perftest_memory_flags(self, gpu: int) -> tuple[str, ...]:
        return (f"--use_rocm={gpu}",)


def _rocm_log(printed: Section) -> RocmLog:
    if printed.failure:
        return RocmLog(problem=printed.failure)
    log = parse_json(printed.text)
    problem = log.problem and f"rocm-smi: {log.problem}"
    return RocmLog(log.cards, log.driver, log.processes, log.links, problem)


def _raws(sections: Mapping[str, Section]) -> dict[int, Raw]:
    """Return the output of all subcommands of amd-smi, for each GPU in its inventory."""
    parts = [_part(sections, name) for name in ("static", "metric", "bad-pages")]
    return {
        gpu: {path: text for part in parts for path, text in part.get(gpu, {}).items()}
        for gpu in parts[0]
    }


def _part(sections: Mapping[str, Section], name: str) -> dict[int, Raw]:
    printed = section(sections, f"amd-smi-{name}")
    return {} if printed.failure else parse_gpus(printed.text)


def _gpus(
    raws: Mapping[int, Raw], rocm: RocmLog, links: Mapping[int, Xgmi]
) -> tuple[tuple[GpuFacts, ...], str]:
    """Return the GPUs of amd-smi, or of rocm-smi if it lists none, and the problem if both tools
    list different GPUs."""
    cards = {read.bus_id(card.get("bus_id")): card for card in rocm.cards.values()}
    if not raws:
        return tuple(_gpu(i, {}, card, None) for i, card in sorted(rocm.cards.items())), ""
    listed = {gpu: read.bus_id(_first(raw, "bus_id")) for gpu, raw in raws.items()}
    differ = bool(cards) and set(cards) != set(listed.values())
    found = tuple(
        _gpu(gpu, raws[gpu], cards.get(bus_id, {}), links.get(gpu))
        for gpu, bus_id in sorted(listed.items())
    )
    return found, "amd-smi and rocm-smi do not list the same GPUs" if differ else ""


def _first(raw: Raw, name: str) -> str | None:
    return next((raw[place] for place in _PLACES[name] if read.value(raw.get(place))), None)


def _gpu(index: int, raw: Raw, card: Mapping[str, str], link: Xgmi | None) -> GpuFacts:
    def text(name: str) -> str | None:
        return _first(raw, name) or card.get(_ROCM_PLACES.get(name, name))

    retired, pending = (bad_pages(raw, kind) for kind in ("retired", "pending"))
    unreservable = bad_pages(raw, "un_res")
    return GpuFacts(
        index=index,
        model=text("model") or "",
        bus_id=read.bus_id(text("bus_id")),
        memory_mib=_memory_mib(_first(raw, "memory_mib"), card.get("memory")),
        numa_node=read.whole(text("numa_node")),
        vbios=read.value(_first(raw, "vbios")),
        power_limit_w=read.number(text("power_limit_w")),
        clock_max_mhz=read.whole(text("clock_max_mhz")),
        ecc_enabled=read.switch(text("ecc_enabled")),
        ecc_uncorrected=read.whole(text("ecc_uncorrected")),
        retired_pages=retired,
        remap_pending=None if pending is None else pending > 0,
        remap_failed=None if unreservable is None else unreservable > 0,
        links_up=link.up if link else None,
        links_total=link.total if link else None,
        link_rate_gbps=link.rate_gbps if link else None,
        pcie_gen=read.generation(_pcie(text("pcie_gen"), 0)),
        pcie_width=read.width(_pcie(text("pcie_width"), -1)),
        pcie_max_gen=read.generation(text("pcie_max_gen")),
        pcie_max_width=read.width(text("pcie_max_width")),
        compute_partition=text("compute_partition"),
        memory_partition=text("memory_partition"),
    )


def _identities(
    gpus: tuple[GpuFacts, ...], raws: Mapping[int, Raw], rocm: RocmLog
) -> dict[int, GpuIdentity]:
    """The serial is that of the board; the chip's own number is unique and serves as its UUID."""
    cards = {read.bus_id(card.get("bus_id")): card for card in rocm.cards.values()}
    found: dict[int, GpuIdentity] = {}
    for gpu in gpus:
        raw, card = raws.get(gpu.index, {}), cards.get(gpu.bus_id, {})
        module = read.value(raw.get("asic/oam_id"))
        found[gpu.index] = GpuIdentity(
            raw.get("board/product_serial", ""),
            (raw.get("asic/asic_serial") or card.get("unique_id", "")).lower(),
            raw.get("board/model_number", ""),
            f"OAM {module}" if module else "",
        )
    return found


def _memory_mib(size: str | None, size_bytes: str | None) -> int | None:
    return read.mib(size) if size else read.mib(f"{size_bytes} B")


def _pcie(text: str | None, which: int) -> str | None:
    """Return one of the two values that rocm-smi prints together: ``0 (8.0GT/s x16)``."""
    words = (text or "").strip(")").partition("(")[2].split()
    return words[which] if words else text


def _topology(gpus: tuple[GpuFacts, ...], rocm: RocmLog) -> dict[str, dict[str, str]]:
    """Return the link types between GPUs, numbered as in ``gpus``; the tools do not list NICs."""
    numbers = {gpu.bus_id: gpu.index for gpu in gpus}
    cards = {
        card: numbers.get(read.bus_id(raw.get("bus_id")), card) for card, raw in rocm.cards.items()
    }
    found: dict[str, dict[str, str]] = {}
    for (one, other), kind in rocm.links.items():
        a, b = f"gpu{cards.get(one, one)}", f"gpu{cards.get(other, other)}"
        found.setdefault(a, {})[b] = kind
        found.setdefault(b, {})[a] = kind
    return found


def _driver(raws: Mapping[int, Raw], rocm: RocmLog) -> str | None:
    found = (read.value(raw.get("driver/version")) for raw in raws.values())
    return rocm.driver or next((version for version in found if version), None)


def _software(sections: Mapping[str, Section]) -> dict[str, Version]:
    """Return each version, with the reason to report if it is ``None``."""
    printed = section(sections, "amd-smi-version")
    found = {} if printed.failure else parse_versions(printed.text)
    return {
        "runtime": (found.get("rocm"), printed.failure or "amd-smi version: shows no ROCm version"),
        "collective_library": library_version(section(sections, "amd-rccl"), "librccl"),
    }


def _dma_buf(settings: Section) -> tuple[str, ...]:
    """Return ``dma-buf`` if the kernel was built with support for it.

    Whether a collective used it is shown by the collective's own log.
    """
    lines = set() if settings.failure else set(settings.text.split())
    return ("dma-buf",) if lines.issuperset(_DMA_BUF_SETTINGS) else ()


def _gpu_problem(sections: Mapping[str, Section], raws: Mapping[int, Raw], rocm: RocmLog) -> str:
    if raws or rocm.cards:
        return ""
    static = section(sections, "amd-smi-static")
    return static.failure or rocm.problem or "amd-smi static: lists no GPU"


def _why(name: str, sections: Mapping[str, Section]) -> str:
    if name in _NOT_AMD:
        return "AMD GPUs have no such value"
    asked = _asked(name)
    failure = section(sections, asked).failure
    return failure or f"{asked}: shows no {name}"


def _asked(name: str) -> str:
    if name.startswith("link"):
        return "amd-smi-xgmi"
    if name in {"retired_pages", "remap_pending", "remap_failed"}:
        return "amd-smi-bad-pages"
    measured = {"clock_max_mhz", "ecc_uncorrected", "pcie_gen", "pcie_width"}
    return "amd-smi-metric" if name in measured else "amd-smi-static"


STACK = Amd()

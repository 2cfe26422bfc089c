"""Facts of nodes that have no platform file yet, and the file that is made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from railgauge.config import thresholds
from railgauge.config.thresholds import Platform, source
from railgauge.describing import layout
from railgauge.describing.bus import DeviceListing, parsed
from railgauge.describing.choice import SiteAnswers, chosen
from railgauge.describing.document import Described, Survey, described
from railgauge.describing.sheets import FILE, Sheets, sheets_of
from railgauge.facts import NodeFacts
from railgauge.facts.model import GidFacts, NetdevFacts, NicFacts
from railgauge.stacks import GpuFacts, stack
from testing.places import ROOT

THRESHOLDS = ROOT / "thresholds"
GPU = GpuFacts(
    0, "NVIDIA H100 80GB HBM3", "0000:1a:00.0", 81559, numa_node=0, ecc_enabled=True,
    pcie_gen=5, pcie_width=16, pcie_max_gen=5, pcie_max_width=16, links_up=18, links_total=18,
)  # fmt: skip
NIC = NicFacts(
    "mlx5_0", pci_address="0000:1b:00.0", hca_type="MT4129", firmware="28.1", numa_node=0,
    port_state="ACTIVE", physical_state="LinkUp", rate_gbps=400.0, link_layer="InfiniBand",
    active_mtu_bytes=4096, lid=1, sm_lid=1, pcie_speed_gts=32.0, pcie_width=16,
    gids=(GidFacts(0, "fe80:0000:0000:0000:0000:0000:0000:0001", None, "v1"),),
)  # fmt: skip
PORT = NetdevFacts("eth0", "0000:05:00.0", "tg3", 0, "up", 25.0, 9000)


def node(name: str, gpus: int = 8, nics: int = 8, **changes: Any) -> NodeFacts:
    """A node with as many GPUs and InfiniBand NICs, each GPU beside one of the NICs."""
    made = NodeFacts(
        name,
        hostname=name,
        kernel="6.8",
        boot_id=f"boot-{name}",
        governors=("performance",),
        gpus=tuple(replace(GPU, index=i, bus_id=f"0000:{0x1A + i:02x}:00.0") for i in range(gpus)),
        nics=tuple(_nic(name, i) for i in range(nics)),
        topology={
            f"gpu{i}": {f"mlx5_{j}": "PIX" if j == i * nics // gpus else "SYS" for j in range(nics)}
            for i in range(gpus)
        },
        peer_memory=("nvidia_peermem",),
    )
    return replace(made, **changes)


def _nic(node: str, index: int) -> NicFacts:
    lid = 100 * sum(map(ord, node)) + index + 1
    gid = f"fe80:0000:0000:0000:0000:0000:{lid >> 16:04x}:{lid & 0xFFFF:04x}"
    return replace(NIC, name=f"mlx5_{index}", lid=lid, gids=(GidFacts(0, gid, None, "v1"),))


def alike(*names: str, **changes: Any) -> dict[str, NodeFacts]:
    return {name: node(name, **changes) for name in names}


def seen(facts: Mapping[str, NodeFacts], *on_bus: str, **changes: Any) -> DeviceListing:
    """What a survey saw besides: on each bus the functions ``ADDRESS VENDOR CLASS``."""
    bus = parsed("\n".join(on_bus))
    return replace(DeviceListing(bus=dict.fromkeys(facts, bus)), **changes)


def sheets() -> Sheets:
    path = THRESHOLDS / f"{FILE}.json"
    return sheets_of(str(path), source.parsed(path, path.read_text(encoding="utf-8")))


def made_of(
    facts: Mapping[str, NodeFacts], printed: SiteAnswers | None = None, vendor: str = "nvidia"
) -> Described:
    """The platform file of these nodes, which expects nothing yet."""
    printed = printed or SiteAnswers()
    kind = chosen(facts, seen(facts), printed)
    gpus = stack(vendor) if kind.hardware.gpus else None
    return described("mine", Survey(facts, kind, gpus, printed, has_mpi_bench=True), sheets())


def loaded(found: Described, **changes: Any) -> Platform:
    text = layout.text_of({**found.document, **changes})
    return thresholds.load_file(Path("mine.json"), text, folder=THRESHOLDS)

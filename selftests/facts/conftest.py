"""A node in a folder: a root with /sys, /proc and /etc, and its own executables on PATH."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import pytest
from testing import programs
from testing.places import SHARED

from railgauge.facts import NodeFacts, parse_probe, probe_script
from railgauge.stacks import Stack

NONCE = "7f3a9c51e2d84b06"

MX_SMI = """\
mx-smi  version: 2.2.3

Attached GPUs                                     : 2
| MX-SMI 2.2.3                        Kernel Mode Driver Version: 3.5.0           |
| MACA Version: 2.32.0.6              BIOS Version: 1.26.1.0                      |
|------------------------------------+---------------------+----------------------+
| GPU         NAME                   | Bus-id              | GPU-Util             |
| Temp        Pwr:Usage/Cap          | Memory-Usage        |                      |
|====================================+=====================+======================|
| 0           MetaX C500             | 0000:08:00.0        | 0%                   |
| 31C         35W / 350W             | 858/65536 MiB       |                      |
+------------------------------------+---------------------+----------------------+
| 1           MetaX C500             | 0000:09:00.0        | 0%                   |
| 33C         32W / 350W             | 858/65536 MiB       |                      |
+------------------------------------+---------------------+----------------------+

| Process:                                                                        |
|  no process found                                                               |
"""
MX_TOPO = """\
        GPU0    GPU1    NIC0    Node Affinity  CPU Affinity
GPU0    X       MX      PXB     0              0-55,112-167
GPU1    MX      X       PIX     0              0-55,112-167
NIC0    PXB     PIX     X

NIC Legend:

  NIC0: mlx5_0
"""
DEVINFO = """\
hca_id: mlx5_0
        fw_ver:                         28.43.3608
                port:   1
                        state:                  PORT_ACTIVE (4)
                        max_mtu:                4096 (5)
                        active_mtu:             4096 (5)
                        sm_lid:                 1
                        port_lid:               954
                        link_layer:             InfiniBand
"""
IBV_DEVICES = """\
    device          	   node GUID
    ------          	----------------
    mlx5_0          	a088c203005aab6c
"""
NETDEV = (
    "0000:12:00.0 mlx5_0 (MT4129 - MCX75310AAS-NEAT) NVIDIA ConnectX-7 (default mode), PCIe"
    "      fw 28.43.3608 port 1 (ACTIVE) ==> ib0 (Up)\n"
)
LSPCI = """\
11:00.0 PCI bridge: Broadcom / LSI PEX890xx (rev b0)
	Capabilities: [b70 v1] Access Control Services
		ACSCtl:	SrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-
12:00.0 Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]
	Capabilities: [48] Vital Product Data
"""
SMART = """\
{"critical_warning":0,"temperature":311,"avail_spare":100,"spare_thresh":10,"percent_used":3,
"data_units_read":41203417,"media_errors":0,"num_err_log_entries":7}
"""
LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units
Max cpu time              unlimited            unlimited            seconds
Max locked memory         {memlock:<20} unlimited            bytes
Max address space         unlimited            unlimited            bytes
"""


@dataclass(frozen=True)
class FakeNode:
    """``root`` is the node's root, ``bin`` the folder with its executables."""

    root: Path
    bin: Path

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")

    def tool(self, name: str, says: str, code: int = 0) -> None:
        """An executable that prints ``says`` (from a file) and exits."""
        output = self.bin / f".{name}.txt"
        output.write_text(says)
        self.script(name, f"cat '{output}'\nexit {code}\n")

    def script(self, name: str, body: str) -> None:
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{body}")
        path.chmod(0o755)

    def hca(self, name: str, pci: str, netdev: str = "", **changes: str) -> None:
        """One HCA as sysfs shows it; ``changes`` replace files, with ``__`` for ``/``."""
        device = self.root / "sys/devices/pci0000:00" / pci
        device.mkdir(parents=True)
        link = self.root / "sys/class/infiniband" / name
        link.mkdir(parents=True)
        (link / "device").symlink_to(f"../../../devices/pci0000:00/{pci}")
        if netdev:
            (device / "net" / netdev).mkdir(parents=True)
        files = SYSFS | {key.replace("__", "/"): text for key, text in changes.items()}
        self.write({f"sys/class/infiniband/{name}/{path}": text for path, text in files.items()})

    def run(self, stack: Stack | None, rootfs: str = "root") -> str:
        """The output of the probe, run as the transports run it."""
        done = subprocess.run(
            ["sh", "-c", probe_script(rootfs, stack, NONCE)],
            cwd=self.root.parent,
            env={"PATH": programs.node_path(self.bin, self.bin.parent / "basic")},
            input="typed by somebody\n",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.stderr == ""
        return done.stdout

    def facts(self, stack: Stack | None, rootfs: str = "root") -> NodeFacts:
        start = datetime.now(timezone.utc)
        printed = self.run(stack, rootfs)
        return parse_probe("mx01", printed, NONCE, stack, (start, datetime.now(timezone.utc)))


SYSFS = {
    "fw_ver": "28.43.3608",
    "hca_type": "MT4129",
    "board_id": "MT_0000000838",
    "node_guid": "a088:c203:005a:ab6c",
    "ports/1/state": "4: ACTIVE",
    "ports/1/phys_state": "5: LinkUp",
    "ports/1/rate": "400 Gb/sec (4X NDR)",
    "ports/1/link_layer": "InfiniBand",
    "ports/1/lid": "0x3ba",
    "ports/1/sm_lid": "0x1",
    "ports/1/gids/0": "fe80:0000:0000:0000:a088:c203:005a:ab6c",
    "ports/1/gids/1": "0000:0000:0000:0000:0000:0000:0000:0000",
    "ports/1/gid_attrs/types/0": "IB/RoCE v1",
    "device/numa_node": "0",
    "device/current_link_speed": "32.0 GT/s PCIe",
    "device/current_link_width": "16",
    "device/max_link_speed": "32.0 GT/s PCIe",
    "device/max_link_width": "16",
}
# As dd ends the kernel's log.
DD = """\
echo '6,41,86400000000,-;the last line'
echo "dd: error reading '/dev/kmsg': Resource temporarily unavailable" >&2
exit 1
"""
HOST = {
    "dev/kmsg": "",
    "opt/maca/lib/libmccl.so": "ELF",
    "sys/module/mlx5_core/version": "24.10-1.1.4",
    "proc/sys/kernel/hostname": "mx-sh-demo",
    "proc/sys/kernel/osrelease": "5.15.0-119-generic",
    "proc/sys/kernel/random/boot_id": "3f0c6c1e-8a0d-4a3e-9f3a-5d1c2b7e9a10",
    "proc/sys/kernel/numa_balancing": "0",
    "proc/cpuinfo": "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\n"
    "model name\t: Intel(R) Xeon(R) Platinum 8480+\ncpu MHz\t\t: 800.000\n\n"
    "processor\t: 1\nvendor_id\t: GenuineIntel\ncpu family\t: 6\n"
    "model name\t: Intel(R) Xeon(R) Platinum 8480+\ncpu MHz\t\t: 3000.000\n",
    "proc/meminfo": "MemTotal:       1056640156 kB\nMemFree:        1031094764 kB",
    "etc/machine-id": "4d3e0f6a9b1c4f7e8a2d5c6b7e8f9a0b",
    "sys/class/dmi/id/bios_version": "2.1.8",
    "sys/class/dmi/id/product_name": "PowerEdge XE9680",
    "proc/self/limits": LIMITS.format(memlock="unlimited"),
    "proc/modules": "ib_core 450560 9 rdma_cm,ib_ipoib, Live 0x0000000000000000\n"
    "metax 12570624 0 - Live 0x0000000000000000 (OE)",
    "etc/os-release": 'NAME="Ubuntu"\nPRETTY_NAME="Ubuntu 22.04.4 LTS"',
    "etc/security/limits.conf": "# * soft memlock 64\n* - nofile 1024\n* - memlock 64",
    "etc/security/limits.d/99-hpc.conf": "* soft memlock unlimited\n* hard memlock unlimited",
    "proc/kallsyms": "0000000000000000 r __ksymtab_kfree\n0000000000000000 r __ksymtab_mm_kobj",
    "sys/devices/system/cpu/intel_pstate/no_turbo": "0",
    "sys/devices/system/cpu/online": "0-3",
    "sys/devices/system/cpu/present": "0-3",
    "sys/devices/system/node/online": "0-1",
    "sys/devices/system/node/node0/cpulist": "0-1",
    "sys/devices/system/node/node1/cpulist": "2-3",
    **{f"sys/devices/system/cpu/cpu{i}/cpufreq/scaling_governor": "performance" for i in range(4)},
    **{f"sys/block/{name}/size": "8" for name in ("sda", "nvme0n1", "nvme1n1", "nvme0c0n1")},
    "sys/kernel/mm/memory_peers/mxcd/version": "1.0",
    **{
        f"sys/class/nvme/{name}/{file}": text
        for name in ("nvme0", "nvme1", "nvme10")
        for file, text in {
            "transport": "pcie",
            "address": "0000:01:00.0",
            "model": "SAMSUNG MZQL23T8HCLS",
            "serial": f"S64HNE0R{name}",
            "firmware_rev": "GDC5602Q",
            "device/current_link_speed": "16.0 GT/s PCIe",
            "device/current_link_width": "4",
            "device/max_link_speed": "16.0 GT/s PCIe",
            "device/max_link_width": "4",
        }.items()
    },
}


@pytest.fixture
def bare(tmp_path: Path) -> FakeNode:
    """An empty node: no files, no tools."""
    node = FakeNode(tmp_path / "root", tmp_path / "bin")
    node.root.mkdir()
    node.bin.mkdir()
    return node


@pytest.fixture
def node(bare: FakeNode) -> FakeNode:
    """A healthy node with two GPUs and one HCA."""
    bare.write(HOST)
    bare.hca("mlx5_0", "0000:12:00.0", netdev="ib0")
    bare.script("dd", DD)
    bare.script("mx-smi", '[ "$1" = topo ] && exec mx-topo\nexec mx-table\n')
    bare.tool("mx-table", MX_SMI)
    bare.tool("mx-topo", MX_TOPO)
    bare.tool("ibv_devinfo", DEVINFO)
    bare.tool("ibv_devices", IBV_DEVICES)
    bare.tool("ibdev2netdev", NETDEV)
    bare.tool("lspci", LSPCI)
    bare.tool("nvme", SMART)
    return bare


@pytest.fixture
def shared() -> Path:
    """The recorded outputs beside the project."""
    if not SHARED.is_dir():
        pytest.skip("the recorded outputs are not beside this project (../shared)")
    return SHARED

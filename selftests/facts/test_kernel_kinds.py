"""Each kind of line of the kernel's log, with lines that were really printed and where they are."""

import pytest

from railgauge.facts import NodeFacts
from railgauge.facts.kernel import kinds, xids
from railgauge.facts.kernel.events import devices, event_of
from railgauge.facts.kernel.kinds import HINTS, KINDS
from railgauge.facts.kernel.log import KernelRecord
from railgauge.facts.kernel.xids import XIDS, Gravity
from railgauge.facts.model import NetdevFacts, NicFacts
from railgauge.stacks import GpuFacts

GPU = "0000:4e:00.0"
NIC = "0000:5c:00.0"
FACTS = NodeFacts(
    "n1",
    gpus=(GpuFacts(index=3, model="H200", bus_id=GPU, memory_mib=1),),
    nics=(NicFacts("mlx5_0", pci_address=NIC, netdev="ib0"),),
    netdevs=(NetdevFacts("eth1", pci_address="0000:00:0c.0"), NetdevFacts("ib0", NIC)),
)
KNOWN = devices(FACTS)
FAULT, NOTE = Gravity.FAULT, Gravity.NOTE

# Source, line, kind, code, device, gravity.
LINES = [
    ("leptonai/gpud, xid/kmsg_test.go",
     "NVRM: Xid (PCI:0000:4e:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the"
     " bus.",
     "xid", "79", "gpu3", FAULT),
    ("leptonai/gpud#46",
     "NVRM: Xid (PCI:0000:4e:00): 13, pid='<unknown>', name=<unknown>, Graphics SM Warp Exception"
     " on (GPC 7, TPC 7, SM 0): Illegal Instruction Parameter", "xid", "13", "gpu3", NOTE),
    ("leptonai/gpud#46",
     "NVRM: Xid (PCI:0000:cb:00): 109, pid=1797828, name=pt_main_thread, Ch 00000008, errorString"
     " CTX SWITCH TIMEOUT, Info 0x58005", "xid", "109", "0000:cb:00", FAULT),
    ("stas00/ml-engineering, accelerator/nvidia/debug.md",
     "NVRM: Xid (PCI:0000:10:1c): 63, pid=1896, Row Remapper: New row marked for remapping, reset"
     " gpu to activate.", "xid", "63", "0000:10:1c", NOTE),
    ("docs.nvidia.com/deploy/xid-errors, working with Xid errors",
     "NVRM: Xid (0000:03:00): 14, Channel 00000001", "xid", "14", "0000:03:00", FAULT),
    ("leptonai/gpud, xid/kmsg_extended_test.go",
     "NVRM: Xid (PCI:0018:01:00): 145, pid=876767, name=ray::WorkerDict, RLW_RXPIPE Nonfatal XC0 i0"
     " Link 13 (0x0409a0c2 0x00000008 0x00000001 0x00000000 0x00100000 0x00000004)",
     "xid", "145", "0018:01:00", FAULT),
    ("NVIDIA/NVSentinel#155, as /dev/kmsg shows its line ends",
     r"NVRM: The NVIDIA GPU 0000:4e:00.0\x0aNVRM: (PCI ID: 10de:26b5) installed in this system has"
     r"\x0aNVRM: fallen off the bus and is not responding to commands.",
     "gpu-off-the-bus", "", "gpu3", FAULT),
    ("NVIDIA/open-gpu-kernel-modules, issues",
     "NVRM: GPU 0000:4e:00.0: RmInitAdapter failed! (0x26:0x56:1474)",
     "gpu-not-initialised", "", "gpu3", FAULT),
    ("leptonai/gpud, sxid/kmsg.go",
     "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV"
     " error (First)", "sxid", "12028", "0000:05:00.0 link 32", NOTE),
    ("leptonai/gpud, sxid/kmsg.go",
     "nvidia-nvswitch0: SXid (PCI:0000:00:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
     "sxid", "20034", "0000:00:00.0 link 30", FAULT),
    ("stas00/ml-engineering, accelerator/nvidia/debug.md, with other figures",
     "mlx5_core 0000:9f:00.0: 126.024 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x8"
     " link at 0000:9e:00.0 (capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)",
     "pcie-limited", "", "0000:9f:00.0", NOTE),
    ("drivers/iommu/amd/iommu.c",
     "nvidia 0000:4e:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0017 address=0xfd000000"
     " flags=0x0030]", "iommu-fault", "", "gpu3", FAULT),
    ("drivers/iommu/amd/iommu.c",
     "AMD-Vi: Event logged [IO_PAGE_FAULT device=0000:4e:00.0 domain=0x0017 address=0xfd000000"
     " flags=0x0030]", "iommu-fault", "", "gpu3", FAULT),
    ("drivers/iommu/intel/dmar.c",
     "DMAR: [DMA Read NO_PASID] Request device [3c:00.0] fault addr 0x1000 [fault reason 0x06] PTE"
     " Read access is not set", "iommu-fault", "", "3c:00.0", FAULT),
    ("access.redhat.com/solutions/7128107",
     "pcieport 0000:00:1b.2: AER: Uncorrectable (Fatal) error message received from 0000:5c:00.0",
     "aer-uncorrected", "", "mlx5_0", FAULT),
    ("access.redhat.com/solutions/7128107",
     "pcieport 0000:03:04.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction"
     " Layer, (Receiver ID)", "aer-uncorrected", "", "0000:03:04.0", FAULT),
    ("access.redhat.com/solutions/7128107",
     "pci 0000:05:00.0: AER: can't recover (no error_detected callback)",
     "aer-recovery", "", "0000:05:00.0", FAULT),
    ("access.redhat.com/solutions/7128107",
     "pcieport 0000:03:04.0: AER: device recovery failed",
     "aer-recovery", "", "0000:03:04.0", FAULT),
    ("access.redhat.com/solutions/7128107",
     "pcieport 0000:00:1b.2: AER: Correctable error received from 0000:03:04.0",
     "aer-corrected", "", "0000:03:04.0", NOTE),
    ("access.redhat.com/solutions/56302 (RHEL 6)",
     "pcieport 0000:00:01.0: AER: Corrected error received: id=0008",
     "aer-corrected", "", "", NOTE),
    ("access.redhat.com/solutions/56302",
     "hpsa 0000:04:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer,"
     " id=0400(Transmitter ID)", "aer-corrected", "", "0000:04:00.0", NOTE),
    ("www.thomas-krenn.com/en/wiki/AER_Multiple_Corrected_error_received",
     "pcieport 0000:00:1c.4: AER: Multiple Corrected error received: 0000:00:1c.4",
     "aer-corrected", "", "0000:00:1c.4", NOTE),
    ("drivers/pci/pcie/dpc.c",
     "pcieport 0000:00:1b.2: DPC: containment event, status:0x1f01 source:0x0000",
     "pcie-containment", "", "0000:00:1b.2", FAULT),
    ("drivers/pci/hotplug/pciehp_ctrl.c", "pcieport 0000:3a:00.0: pciehp: Slot(5): Link Down",
     "pcie-slot", "", "0000:3a:00.0", FAULT),
    ("drivers/net/ethernet/mellanox/mlx5/core/events.c",
     "mlx5_core 0000:5c:00.0: Port module event: module 0, Cable unplugged",
     "cable-unplugged", "", "mlx5_0", FAULT),
    ("NVIDIA/NVSentinel, kernel patterns of NICs",
     "mlx5_core 0000:5c:00.0: Port module event[error]: module 0, Cable error, High Temperature",
     "transceiver", "", "mlx5_0", FAULT),
    ("NVIDIA/NVSentinel, kernel patterns of NICs",
     "mlx5_core 0000:5c:00.0: poll_health:825: device's health compromised - reached miss count.",
     "nic-firmware", "", "mlx5_0", FAULT),
    ("NVIDIA/NVSentinel, kernel patterns of NICs",
     "mlx5_core 0000:5c:00.0: wait_func:964:(pid 112): ENABLE_HCA(0x104) timeout. Will cause a leak"
     " of a command resource", "nic-firmware", "", "mlx5_0", FAULT),
    ("NVIDIA/NVSentinel, kernel patterns of NICs",
     "mlx5_core 0000:5c:00.0: mlx5_pcie_event:299: Detected insufficient power on the PCIe slot"
     " (27W).", "nic-power", "", "mlx5_0", FAULT),
    ("NVIDIA/NVSentinel, kernel patterns of NICs",
     "NETDEV WATCHDOG: ib0 (mlx5_core): transmit queue 3 timed out", "nic-queue", "", "mlx5_0",
     FAULT),
    ("leptonai/gpud#1209, the same line with ACTIVE",
     "mlx5_core 0000:5c:00.0 mlx5_0: Port: 1 Link DOWN", "link-down", "", "mlx5_0", FAULT),
    ("drivers/net/ethernet/mellanox/mlx5/core/en_main.c",
     "mlx5_core 0000:5c:00.0 ib0: Link down", "link-down", "", "mlx5_0", FAULT),
    ("drivers/net/ethernet/google/gve/gve_main.c",
     "gve 0000:00:0c.0 eth1: Device link is down.", "link-down", "", "eth1", FAULT),
    ("drivers/net/ethernet/intel/ixgbe/ixgbe_main.c", "ixgbe 0000:03:00.0 eth9: NIC Link is Down",
     "link-down", "", "0000:03:00.0", FAULT),
    ("drivers/net/ethernet/intel/igb/igb_main.c",
     "igb 0000:01:00.0 eno1: igb: eno1 NIC Link is Down", "link-down", "", "0000:01:00.0", FAULT),
    ("drivers/net/ethernet/broadcom/bnxt", "bnxt_en 0000:3b:00.0 enp59s0f0: NIC Link is Down",
     "link-down", "", "0000:3b:00.0", FAULT),
    ("drivers/gpu/drm/amd/amdgpu/amdgpu_ras.c",
     "amdgpu 0000:4e:00.0: amdgpu: 2 uncorrectable hardware errors detected in umc block",
     "ras-uncorrected", "", "gpu3", FAULT),
    ("drivers/gpu/drm/amd/amdgpu/amdgpu_ras.c",
     "amdgpu 0000:4e:00.0: amdgpu: socket: 4, die: 0, 1 new uncorrectable hardware errors detected"
     " in gfx block", "ras-uncorrected", "", "gpu3", FAULT),
    ("drivers/gpu/drm/amd/amdgpu/amdgpu_ras.c",
     "amdgpu 0000:4e:00.0: amdgpu: socket: 4, die: 0 3 correctable hardware errors detected in"
     " total in gfx block", "ras-corrected", "", "gpu3", NOTE),
    ("drivers/gpu/drm/amd/amdgpu/amdgpu_device.c", "amdgpu 0000:4e:00.0: amdgpu: GPU reset begin!",
     "gpu-reset", "", "gpu3", FAULT),
    ("drivers/gpu/drm/amd/amdgpu/amdgpu_job.c",
     "amdgpu 0000:4e:00.0: amdgpu: ring gfx timeout, but soft recovered", "gpu-hang", "", "gpu3",
     NOTE),
    ("drivers/gpu/drm/amd/amdgpu/gmc_v9_0.c",
     "amdgpu 0000:4e:00.0: amdgpu: [gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:8)",
     "gpu-page-fault", "", "gpu3", NOTE),
    ("mm/oom_kill.c",
     "Out of memory: Killed process 4711 (all_reduce_perf) total-vm:208128kB, anon-rss:1024kB",
     "out-of-memory", "", "", FAULT),
    ("mm/oom_kill.c", "Memory cgroup out of memory: Killed process 1 (vllm) total-vm:2kB",
     "out-of-memory", "", "", FAULT),
    ("arch/x86/kernel/cpu/mce/core.c",
     "mce: [Hardware Error]: CPU 3: Machine Check Exception: 5 Bank 0: be00000000800400",
     "machine-check", "", "", FAULT),
    ("drivers/firmware/efi/cper.c", "{1}[Hardware Error]: event severity: fatal",
     "machine-check", "", "", FAULT),
    ("drivers/edac/mce_amd.c",
     "[Hardware Error]: Machine Check: CPU1 MC1_STATUS[0xfeed|UC|AddrV]: 0x0", "machine-check", "",
     "", FAULT),
    ("mchehab/rasdaemon#95", "mce: [Hardware Error]: Machine check events logged",
     "machine-check-corrected", "", "", NOTE),
    ("drivers/edac/edac_mc.c",
     "EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0)",
     "edac-uncorrected", "", "", FAULT),
    ("drivers/edac/edac_mc.c",
     "EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0)",
     "edac-corrected", "", "", NOTE),
    ("mm/memory-failure.c", "Memory failure: 0x1b5d4a: recovery action for dirty LRU page: Failed",
     "memory-failure", "", "", FAULT),
    ("kernel/watchdog.c", "watchdog: BUG: soft lockup - CPU#7 stuck for 23s! [kworker/7:1:312]",
     "kernel-bug", "", "", FAULT),
    ("kernel/watchdog.c", "NMI watchdog: Watchdog detected hard LOCKUP on cpu 3",
     "kernel-bug", "", "", FAULT),
    ("kernel/watchdog.c", "watchdog: Watchdog detected hard LOCKUP on cpu 3",
     "kernel-bug", "", "", FAULT),
    ("arch/x86/mm/fault.c", "BUG: unable to handle page fault for address: ffffb0",
     "kernel-bug", "", "", FAULT),
    ("kernel/hung_task.c", "INFO: task nvidia-smi:812 blocked for more than 120 seconds.",
     "kernel-stall", "", "", FAULT),
    ("kernel/rcu/tree_stall.h", "rcu: INFO: rcu_sched self-detected stall on CPU",
     "kernel-stall", "", "", FAULT),
    ("drivers/nvme/host/pci.c", "nvme nvme1: I/O 22 QID 4 timeout, aborting",
     "nvme", "", "", FAULT),
    ("drivers/thermal/intel/therm_throt.c",
     "CPU12: Package temperature above threshold, cpu clock throttled (total events = 1)",
     "throttled", "", "", NOTE),
]  # fmt: skip

# Lines of healthy nodes, and lines that only look like a kind.
HARMLESS = [
    "mlx5_core 0000:5c:00.0: Port module event: module 0, Cable plugged",
    "mlx5_core 0000:5c:00.0 mlx5_0: Port: 1 Link ACTIVE",
    "mlx5_core 0000:5c:00.0 ib0: Link up",
    "mlx5_core 0000:5c:00.0: firmware version: 28.43.3608",
    "mlx5_core 0000:5c:00.0: mlx5_cmd_out_err:838:(pid 1441871): ACCESS_REG(0x805) op_mod(0x1)"
    " failed, status bad operation(0x2), syndrome (0x305684), err(-22)",
    "IPv6: ADDRCONF(NETDEV_CHANGE): enp1s0f0: link becomes ready",
    "br0: port 1(tcp01) entered disabled state",
    "amdgpu 0000:4e:00.0: amdgpu: no uncorrectable hardware errors detected in umc block",
    "amdgpu 0000:4e:00.0: amdgpu: 0 uncorrectable hardware errors detected in umc block",
    "ata1: SATA link down (SStatus 0 SControl 300)",
    "pcieport 0000:3a:00.0: pciehp: Slot(5): Link Up",
    "pcieport 0000:00:1c.0: AER: enabled with IRQ 122",
    "nvme nvme0: 8/0/0 default/read/poll queues",
    "traps: python3[812] general protection fault ip:7f3 sp:7f4 error:0 in libc.so.6",
    "EDAC MC: Ver: 3.0.0",
    "mce: CPU0: Thermal monitoring enabled (TM1)",
    "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.158.01  Release Build",
    "nvidia-nvswitch0: open (major=510)",
    "NMI watchdog: Perf NMI watchdog permanently disabled",
    "NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.",
    "watchdog: Delayed init of the lockup detector failed: -19",
    "RAS: Correctable Errors collector initialized.",
    "perf: interrupt took too long (2503 > 2500), lowering kernel.perf_event_max_sample_rate",
]


def record(text, level=3, is_kernels=True):
    return KernelRecord(7, level, is_kernels, 1_000_000, text)


@pytest.mark.parametrize(
    ("text", "kind", "code", "device", "gravity"),
    [line[1:] for line in LINES],
    ids=[f"{line[2]} {number}" for number, line in enumerate(LINES)],
)
def test_each_recorded_line_is_of_its_kind(text, kind, code, device, gravity):
    event = event_of(record(text), KNOWN)
    assert (event.kind.name, event.code, event.device) == (kind, code, device)
    assert event.gravity is gravity
    assert event.means
    assert event.action


@pytest.mark.parametrize("text", HARMLESS)
def test_a_line_of_a_healthy_node_is_of_no_kind(text):
    assert event_of(record(text, level=4), KNOWN) is None


def test_every_kind_has_a_recorded_line_and_passes_the_quick_search():
    assert {kind.name for kind in KINDS} == {line[2] for line in LINES}
    assert [line[1] for line in LINES if not HINTS.search(line[1])] == []


def test_an_unknown_code_is_a_fault_and_reported_as_unknown():
    event = event_of(record("NVRM: Xid (PCI:0000:4e:00): 999, pid=1, something new"), KNOWN)
    assert (event.name, event.device, event.gravity) == ("Xid 999", "gpu3", FAULT)
    assert "does not know" in event.means


@pytest.mark.parametrize("text", ["NVRM: Xid (garbled", "NVRM: Xid (PCI:0000:4e:00): , x"])
def test_an_xid_that_cannot_be_read_is_a_fault(text):
    event = event_of(record(text), KNOWN)
    assert (event.name, event.gravity) == ("xid", FAULT)


def test_an_sxid_that_cannot_be_read_is_a_fault():
    line = "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): garbled, Fatal"
    event = event_of(record(line), KNOWN)
    assert (event.name, event.device, event.gravity) == ("sxid", "0000:c1:00.0", FAULT)


@pytest.mark.parametrize("code", [13, 31, 43, 45])
def test_codes_that_programs_cause_are_notes(code):
    assert XIDS[code].gravity is NOTE


@pytest.mark.parametrize(
    "code", [48, 62, 64, 74, 79, 92, 94, 95, 109, 119, 120, 121, 136, 140, 143, *range(144, 151)]
)
def test_codes_of_the_hardware_are_faults(code):
    assert XIDS[code].gravity is FAULT


def test_no_code_is_listed_as_both():
    tables = (xids._FAULTS, xids._NOTES)
    codes = [
        code
        for table in tables
        for key in table
        for code in (key if isinstance(key, range) else (key,))
    ]
    assert sorted(codes) == sorted(XIDS)


def test_a_line_of_a_program_is_at_most_a_note():
    """Whoever may write to the log could otherwise reject a node, or try this suite with it."""
    event = event_of(record(LINES[0][1], is_kernels=False), KNOWN)
    assert event.gravity is NOTE
    assert "written by a program and not by the kernel" in event.means


def test_a_critical_line_of_no_known_kind_is_reported():
    assert event_of(record("the sky falls", level=2), KNOWN).kind is kinds.CRITICAL
    assert event_of(record("the sky falls", level=3), KNOWN) is None
    assert event_of(record("the sky falls", level=2, is_kernels=False), KNOWN) is None


def test_errors_of_metax_drivers_are_reported():
    assert event_of(record("metax 0000:0e:00.0: HBM error"), KNOWN).kind is kinds.METAX
    assert event_of(record("metax 0000:0e:00.0: loaded", level=6), KNOWN) is None


def test_a_line_of_any_length_is_read_in_time():
    hostile = "mlx5_core 0000:5c:00.0 " + "a" * 10**6 + ": Link"
    assert event_of(record(hostile), KNOWN) is None

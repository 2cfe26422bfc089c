"""A table of the lines of the kernel's log that matter for an acceptance.

A kind has a pattern, the cause that its lines are evidence of, its meaning, whether it is a fault
or a note, a remedy, and its source. The first kind whose pattern is found counts. Named groups of a
pattern: ``pci`` is the address of the device, ``dev`` its name, ``code`` the number of an Xid or
SXid, ``count`` a number of errors (0 is none), ``link`` a link of an NVSwitch.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from railgauge.facts.kernel import xids
from railgauge.facts.kernel.xids import Gravity

GPU_XID, PCIE_ERRORS, LINK_FLAP, KERNEL_ERRORS = (
    "gpu-xid",
    "pcie-errors",
    "link-flap",
    "kernel-errors",
)

_PCI = r"(?P<pci>(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?)"
_FAULT, _NOTE = Gravity.FAULT, Gravity.NOTE
_SOURCES = "standard: the Linux kernel's sources, "


@dataclass(frozen=True, slots=True)
class KernelKind:
    """One row of the table; ``name`` identifies it, and is ``xid`` or ``sxid`` for the codes."""

    name: str
    cause: str
    pattern: re.Pattern[str]
    gravity: Gravity
    means: str
    action: str
    basis: str


_Row = tuple[str, str, str, Gravity, str, str, str]


def _kind(row: _Row) -> KernelKind:
    name, cause, pattern, gravity, means, action, basis = row
    return KernelKind(name, cause, re.compile(pattern), gravity, means, action, basis)


_SXID_BASIS = (
    "standard: NVIDIA, Fabric Manager for NVSwitch Systems User Guide, appendix D, SXid Errors"
    " (docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide)"
)
_SWITCH = (
    "check Fabric Manager's log; a fatal one needs all GPUs and NVSwitches of the node to be reset,"
    " or a reboot; have the baseboard checked if it comes again"
)
_SLOT = (
    "check seating, riser and slot of the device; lspci -vvv shows its AER registers and its link;"
    " move the device to another slot to see which of them is at fault"
)
_REFUSED = (
    "the IOMMU refused an access of a device to memory",
    "boot with iommu=pt, or with the IOMMU off as the platform asks; update BIOS and drivers",
)
_CABLE = (
    "check cable and transceiver at both ends (mlxlink -d DEVICE -m -c), and the switch's log at"
    " that moment"
)
_DRIVER = "read the driver's lines around it in the transcript; update firmware and driver"
_RAM = "find the DIMM (ras-mc-ctl --errors, ipmitool sel list) and have it replaced"
_MACHINE = "read the management controller's log (ipmitool sel list), run mcelog or rasdaemon"
_SWXID = r"nvidia-nvswitch\d+: SXid \(PCI:" + _PCI + r"\): "

_ROWS: tuple[_Row, ...] = (
    # --- NVIDIA's GPUs and switches ---
    ("xid", GPU_XID, rf"NVRM: Xid \((?:PCI:)?{_PCI}\):? (?P<code>\d{{1,5}})\b", _FAULT,
          xids.UNKNOWN.means, xids.UNKNOWN.action, xids.BASIS),
    ("xid", GPU_XID, r"NVRM: Xid\b", _FAULT,
          "an Xid whose code cannot be read", xids.UNKNOWN.action, xids.BASIS),
    ("gpu-off-the-bus", GPU_XID, rf"NVRM: (?:The NVIDIA )?GPU {_PCI}\b.*fallen off the bus",
          _FAULT, xids.XIDS[79].means, xids.XIDS[79].action, xids.BASIS),
    ("gpu-not-initialised", GPU_XID, rf"NVRM: GPU {_PCI}: RmInitAdapter failed", _FAULT,
          "the driver could not initialise the GPU", xids.XIDS[143].action,
          "standard: NVIDIA/open-gpu-kernel-modules, kernel-open/nvidia, RmInitAdapter"),
    ("sxid", GPU_XID, _SWXID + r"(?P<code>\d{1,6}), Fatal, (?:Link (?P<link>\d+))?", _FAULT,
          "a fatal error of an NVSwitch", _SWITCH, _SXID_BASIS),
    ("sxid", GPU_XID, _SWXID + r"(?P<code>\d{1,6}), Non-fatal, (?:Link (?P<link>\d+))?", _NOTE,
          "a non-fatal error of an NVSwitch", _SWITCH, _SXID_BASIS),
    ("sxid", GPU_XID, _SWXID + r"(?P<code>\d{1,6}), (?:Severity|Data)\b", _NOTE,
          "more about an error of an NVSwitch", _SWITCH, _SXID_BASIS),
    ("sxid", GPU_XID, rf"SXid(?: \(PCI:{_PCI}\))?", _FAULT,
          "an SXid that cannot be read", _SWITCH, _SXID_BASIS),
    # --- PCI Express ---
    ("aer-uncorrected", PCIE_ERRORS,
          rf"{_PCI}: (?:AER: )?PCIe Bus Error: severity=Uncorrect(?:ed|able)", _FAULT,
          "an uncorrected error on the PCIe link", _SLOT,
          _SOURCES + "drivers/pci/pcie/aer.c; PCI Express Base Specification, 6.2"),
    ("aer-uncorrected", PCIE_ERRORS,
          rf"AER: (?:Multiple )?Uncorrect(?:ed|able) \((?:Non-)?Fatal\) error (?:message )?received"
          rf"(?: from|:) (?:id=\S+|{_PCI})", _FAULT,
          "an uncorrected error on the PCIe link", _SLOT, _SOURCES + "drivers/pci/pcie/aer.c"),
    ("aer-recovery", PCIE_ERRORS, rf"{_PCI}: AER: (?:device recovery failed|can't recover)",
          _FAULT, "the device did not recover from a PCIe error", _SLOT,
          _SOURCES + "drivers/pci/pcie/err.c"),
    ("pcie-containment", PCIE_ERRORS, rf"{_PCI}: DPC: containment event", _FAULT,
          "the port cut the device off after a PCIe error", _SLOT,
          _SOURCES + "drivers/pci/pcie/dpc.c"),
    ("pcie-slot", PCIE_ERRORS,
          rf"{_PCI}: pciehp: Slot\([^)]*\): (?:Link Down|Card not present)", _FAULT,
          "the PCIe link of a slot went down", _SLOT,
          _SOURCES + "drivers/pci/hotplug/pciehp_ctrl.c"),
    ("aer-corrected", PCIE_ERRORS,
          rf"{_PCI}: (?:AER: )?PCIe Bus Error: severity=Correct(?:ed|able)", _NOTE,
          "a corrected error on the PCIe link", _SLOT, _SOURCES + "drivers/pci/pcie/aer.c"),
    ("aer-corrected", PCIE_ERRORS,
          rf"AER: (?:Multiple )?Correct(?:ed|able) error (?:message )?received"
          rf"(?: from|:) (?:id=\S+|{_PCI})", _NOTE,
          "a corrected error on the PCIe link", _SLOT, _SOURCES + "drivers/pci/pcie/aer.c"),
    ("pcie-limited", PCIE_ERRORS,
          rf"{_PCI}: \d+\.\d+ Gb/s available PCIe bandwidth, limited by", _NOTE,
          "the PCIe link of the device, or one above it, carries less than the device can", _SLOT,
          _SOURCES + "drivers/pci/pci.c, __pcie_print_link_status"),
    ("iommu-fault", KERNEL_ERRORS,
          rf"{_PCI}: AMD-Vi: Event logged \[IO_PAGE_FAULT", _FAULT, *_REFUSED,
          _SOURCES + "drivers/iommu/amd/iommu.c"),
    ("iommu-fault", KERNEL_ERRORS,
          rf"AMD-Vi: Event logged \[IO_PAGE_FAULT(?: device={_PCI})?", _FAULT, *_REFUSED,
          _SOURCES + "drivers/iommu/amd/iommu.c"),
    ("iommu-fault", KERNEL_ERRORS,
          rf"DMAR: (?:\[[^\]]*\] Request device \[{_PCI}\]|DRHD: handling fault)", _FAULT,
          *_REFUSED,
          _SOURCES + "drivers/iommu/intel/dmar.c"),
    # --- NICs ---
    ("cable-unplugged", LINK_FLAP,
          rf"mlx5_core {_PCI}: Port module event: module \d+, Cable unplugged", _FAULT,
          "the cable or transceiver of the port went away", _CABLE,
          _SOURCES + "drivers/net/ethernet/mellanox/mlx5/core/events.c"),
    ("transceiver", LINK_FLAP,
          rf"mlx5_core {_PCI}: (?:\S+ )*?Port module event\[error\]", _FAULT,
          "an error of the cable or transceiver of the port", _CABLE,
          _SOURCES + "drivers/net/ethernet/mellanox/mlx5/core/events.c"),
    ("nic-firmware", KERNEL_ERRORS,
          rf"mlx5_core {_PCI}:? .*(?:health compromised|Fatal error \d+ detected|firmware internal"
          r" error|unable to respond to initialization|unrecoverable hardware error|timeout\. Will"
          r" cause a leak)", _FAULT,
          "the firmware of the adapter failed or did not answer", _DRIVER,
          _SOURCES + "drivers/net/ethernet/mellanox/mlx5/core/health.c and cmd.c"),
    ("nic-power", KERNEL_ERRORS, rf"mlx5_core {_PCI}:? .*insufficient power on the PCIe slot",
          _FAULT, "the slot gives the adapter too little power", _SLOT,
          _SOURCES + "drivers/net/ethernet/mellanox/mlx5/core/events.c"),
    ("nic-queue", KERNEL_ERRORS,
          r"NETDEV WATCHDOG: (?:CPU: \d+: )?(?P<dev>[\w.-]+) \([^)]*\): transmit queue", _FAULT,
          "a transmit queue of the NIC stands still", _DRIVER,
          _SOURCES + "net/sched/sch_generic.c"),
    ("link-down", LINK_FLAP,
          rf"^(?:[\w-]+ {_PCI}:? )?(?:(?P<dev>[\w.-]+):? )?(?:[\w.-]+: )*(?:[\w.-]+ NIC )?"
          r"(?:NIC |Port: \d+ |Device )?[Ll]ink (?:is )?(?:[Dd]own|DOWN)\b", _FAULT,
          "the link of the port went down", _CABLE,
          _SOURCES + "the drivers of the NICs, for example mlx5/core/en_main.c, gve_main.c"),
    # --- AMD's and MetaX's GPUs ---
    ("ras-uncorrected", KERNEL_ERRORS,
          rf"amdgpu {_PCI}: .*?\b(?P<count>\d+) (?:new )?uncorrectable hardware errors detected",
          _FAULT, "uncorrectable errors of the GPU", "drain the node; amd-smi metric --ecc and"
          " amd-smi bad-pages say where; have the GPU replaced if its memory is worn out",
          _SOURCES + "drivers/gpu/drm/amd/amdgpu/amdgpu_ras.c"),
    ("ras-corrected", KERNEL_ERRORS,
          rf"amdgpu {_PCI}: .*?\b(?P<count>\d+) (?:new )?(?:correctable|deferred) hardware errors"
          r" detected", _NOTE, "correctable or deferred errors of the GPU",
          "watch amd-smi metric --ecc", _SOURCES + "drivers/gpu/drm/amd/amdgpu/amdgpu_ras.c"),
    ("gpu-hang", KERNEL_ERRORS, rf"amdgpu {_PCI}: .*soft recovered", _NOTE,
          "a queue of the GPU was slow and recovered", _DRIVER,
          _SOURCES + "drivers/gpu/drm/amd/amdgpu/amdgpu_job.c"),
    ("gpu-reset", KERNEL_ERRORS,
          rf"amdgpu {_PCI}: .*(?:GPU reset begin|ring \S+ timeout|GPU [Rr]ecovery [Ff]ailed|device"
          r" lost from bus|poison)", _FAULT,
          "the GPU hung, was reset or met poisoned data", _DRIVER,
          _SOURCES + "drivers/gpu/drm/amd/amdgpu/amdgpu_device.c and amdgpu_job.c"),
    ("gpu-page-fault", KERNEL_ERRORS, rf"amdgpu {_PCI}: .*\bpage fault\b", _NOTE,
          "a page fault in the GPU's memory, as programs with a wrong address cause it",
          "look at the program that ran", _SOURCES + "drivers/gpu/drm/amd/amdgpu/gmc_v9_0.c"),
    # --- memory, processors, kernel ---
    ("out-of-memory", KERNEL_ERRORS, r"[Oo]ut of memory: Kill(?:ed)? process", _FAULT,
          "the kernel killed a process, as memory ran out",
          "look for what holds the memory; the item that ran may have lost a process",
          _SOURCES + "mm/oom_kill.c"),
    ("machine-check", KERNEL_ERRORS,
          r"\[Hardware Error\]: (?:.*(?:Machine Check Exception|Uncorrected|\|UE\||\|UC\|)"
          r"|event severity: (?:fatal|recoverable))", _FAULT,
          "an uncorrected error that the processor reports", _MACHINE,
          _SOURCES + "arch/x86/kernel/cpu/mce/core.c, drivers/firmware/efi/cper.c"),
    ("machine-check-corrected", KERNEL_ERRORS, r"\[Hardware Error\]", _NOTE,
          "an error that the processor reports without calling it uncorrected", _MACHINE,
          _SOURCES + "arch/x86/kernel/cpu/mce/core.c, drivers/firmware/efi/cper.c"),
    ("edac-uncorrected", KERNEL_ERRORS, r"EDAC \S+: (?P<count>\d+) UE ", _FAULT,
          "uncorrected errors of the host's memory", _RAM, _SOURCES + "drivers/edac/edac_mc.c"),
    ("edac-corrected", KERNEL_ERRORS, r"EDAC \S+: (?P<count>\d+) CE ", _NOTE,
          "corrected errors of the host's memory", _RAM, _SOURCES + "drivers/edac/edac_mc.c"),
    ("memory-failure", KERNEL_ERRORS, r"Memory failure: 0x", _FAULT,
          "a page of the host's memory is poisoned", _RAM, _SOURCES + "mm/memory-failure.c"),
    ("kernel-bug", KERNEL_ERRORS,
          r"^(?:BUG: |(?:NMI )?watchdog: (?:BUG: |Watchdog detected hard LOCKUP)|kernel BUG at "
          r"|Oops|Kernel panic|Internal error: Oops)",
          _FAULT, "the kernel itself failed or stood still", _DRIVER,
          _SOURCES + "kernel/watchdog.c, kernel/panic.c"),
    ("kernel-stall", KERNEL_ERRORS,
          r"INFO: task .* blocked for more than \d+ seconds"
          r"|rcu: INFO: \w+ (?:self-)?detected (?:expedited )?stall",
          _FAULT, "the kernel stood still for a while", _DRIVER,
          _SOURCES + "kernel/hung_task.c, kernel/rcu/tree_stall.h"),
    ("nvme", KERNEL_ERRORS, r"nvme nvme\d+: (?:I/O .* timeout|controller is down)", _FAULT,
          "an NVMe disk did not answer", "check the disk (nvme smart-log)",
          _SOURCES + "drivers/nvme/host/pci.c"),
    ("throttled", KERNEL_ERRORS, r"temperature (?:is )?above threshold, cpu clock", _NOTE,
          "a processor was too hot and slowed down", "check fans, air flow and power",
          _SOURCES + "drivers/thermal/intel/therm_throt.c"),
)  # fmt: skip
KINDS: tuple[KernelKind, ...] = tuple(map(_kind, _ROWS))

# A line with none of these words is of no kind of the table; this search is cheaper.
HINTS = re.compile(
    r"Xid|NVRM|AER|PCIe Bus|available PCIe|IO_PAGE_FAULT|DMAR"
    r"|DPC|pciehp|mlx5|NETDEV|[Ll]ink|amdgpu|ut of memory|Hardware Error|EDAC"
    r"|Memory failure|BUG|watchdog|Oops|Kernel panic|blocked for|stall|nvme|above threshold"
)

# The driver's lines are not documented: those at level error are reported, but fail nothing.
METAX = _kind((
    "metax-driver", KERNEL_ERRORS, r"(?i)^\W*(?:metax|mxcd|mxgpu|mxc)\b", _NOTE,
    "an error that the driver of MetaX's GPUs reports", _DRIVER,
    "derived: no public document lists these lines, so that their gravity is not known",
))  # fmt: skip
CRITICAL = _kind((
    "critical", KERNEL_ERRORS, "", _NOTE, "a critical line of no known kind", _DRIVER,
    "standard: syslog(2): levels 0 to 2 are emergencies, alerts and critical conditions",
))  # fmt: skip
# Lines that are faults in a run but not before it: while a machine boots, links go up and down and
# slots are empty, and errors that programs cause in memory and file systems are no hardware faults.
OF_A_RUN = frozenset(
    ("cable-unplugged", "transceiver", "link-down", "pcie-slot", "iommu-fault", "out-of-memory",
     "kernel-stall")
)  # fmt: skip
# The least levels of the two kinds above: errors, and critical conditions.
ERROR_LEVEL, CRITICAL_LEVEL = 3, 2

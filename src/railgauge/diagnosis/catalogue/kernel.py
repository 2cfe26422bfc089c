"""Causes that the kernel's log shows."""

from __future__ import annotations

from collections.abc import Mapping

from railgauge.diagnosis.catalogue.kind import Kind

KINDS: Mapping[str, Kind] = {
    "gpu-xid": Kind(
        "the driver of an NVIDIA GPU or NVSwitch logged an Xid or SXid, an error of the hardware,"
        " while the node was measured",
        "do what the entry says for this code; drain the node, reset the GPU or reboot, and replace"
        " the GPU if the code comes back; keep nvidia-bug-report.sh for the vendor",
        "standard: NVIDIA, Xid Errors: Analyzing Xid Errors with the Xid Catalog"
        " (docs.nvidia.com/deploy/xid-errors)",
    ),
    "pcie-errors": Kind(
        "a device or its slot had PCIe errors while the node was measured: uncorrected ones, or"
        " more corrected ones and replays than the link may have",
        "check seating, riser and slot of the device, and its AER registers (lspci -vvv -s"
        " ADDRESS); move the device to tell slot and device apart",
        "standard: PCI Express Base Specification, 6.2, error signaling and logging; the Linux"
        " kernel's Documentation/PCI/pcieaer-howto.rst",
    ),
    "link-flap": Kind(
        "the link of a NIC went down while the node was measured",
        "check cable and transceiver at both ends (mlxlink -d DEVICE -m -c), clean or replace them;"
        " look at the switch's log at that moment",
        "derived: the port was up at the survey, and nothing of a run takes it down",
    ),
    "kernel-errors": Kind(
        "the kernel logged an error of memory, processor, driver or GPU while the node was"
        " measured, or killed a process because memory ran out",
        "do what the entry says for this line; the management controller's log (ipmitool sel list)"
        " often names the part",
        "derived: the kinds of lines and their sources are those of railgauge docs kernel-log",
    ),
    "faults-before-run": Kind(
        "the kernel logged a fault of the hardware between its boot and the run",
        "do what the entry says for this line, then reboot the node, so that its log begins anew,"
        " and measure again: a fault that comes back under load has a cause of its own",
        "derived: what failed before may fail again, and nobody has examined it yet",
    ),
    "kernel-log-unread": Kind(
        "the kernel's log of a node, or a part of it, could not be read: what it says of the run is"
        " not known",
        "log in as root, or add become: sudo -n to the hostfile, where kernel.dmesg_restrict is 1;"
        " where records were lost, enlarge the log (log_buf_len=16M on the kernel's command line)",
        "standard: the Linux kernel's Documentation/ABI/testing/dev-kmsg and"
        " Documentation/admin-guide/sysctl/kernel.rst, dmesg_restrict",
        folds=True,
    ),
}

"""Causes of nodes and ports that are not one of a kind, or whose clock is off."""

from __future__ import annotations

from collections.abc import Mapping

from railgauge.diagnosis.catalogue.kind import Kind

KINDS: Mapping[str, Kind] = {
    "one-machine": Kind(
        "several names of the hostfile are one running kernel: one machine counts as several",
        "keep one name of each machine in the hostfile; reboot a machine resumed from a snapshot",
        "derived: the kernel draws its boot id anew at each boot, see random(4)",
    ),
    "cloned-image": Kind(
        "several nodes have one machine id: their system image was cloned with its identity",
        "empty /etc/machine-id in the image; systemd-machine-id-setup gives each node its own",
        "standard: machine-id(5), the id of an installation is unique; DHCP and logs rely on it",
    ),
    "duplicate-address": Kind(
        "several ports have one LID, GID or GUID: what is sent to one of them may reach another",
        "restart the subnet manager for a LID; give each port its own GUID or IP address for a GID",
        "standard: InfiniBand Architecture Specification, volume 1: an address names one port",
    ),
    "guid-unset": Kind(
        "an adapter has no GUID: the subnet manager cannot tell it from others",
        "give it the GUID of its label (flint -d DEVICE -guid GUID sg), and reset it; a virtual"
        " function gets its GUID of the host (ip link set … vf N node_guid GUID)",
        "standard: InfiniBand Architecture Specification, volume 1: each adapter has a GUID",
    ),
    "clock-off": Kind(
        "the clock of a node does not show the time of the others",
        "start chronyd or ntpd and check its servers (chronyc tracking); then compare the hardware"
        " clock: hwclock",
        "standard: RFC 4120, 3.2.3: a clock that is off by more than the skew, such as 5 minutes,"
        " is refused",
        folds=True,
    ),
}

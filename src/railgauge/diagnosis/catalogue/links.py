"""Causes of the links of NICs and GPUs: port, cable, slot, MTU, firmware."""

from __future__ import annotations

from collections.abc import Mapping

from railgauge.diagnosis.catalogue.kind import Kind

KINDS: Mapping[str, Kind] = {
    "link-down": Kind(
        "the port of a NIC is down",
        "check cable, transceiver and switch port; the other end should show LinkUp too",
        "001: degraded ports were found and isolated first; 004: State Active, Physical LinkUp",
    ),
    "subnet-manager-missing": Kind(
        "the port has a link, but no subnet manager has given it an address",
        "start OpenSM on one host or switch of the subnet: systemctl start opensm; sminfo",
        "004: the fabric came up with OpenSM, LIDs assigned",
    ),
    "link-rate-degraded": Kind(
        "the link trained to less than its full rate",
        "reseat or replace the cable; check the switch port's speed; ibportstate shows both ends",
        "001: links with errors and degraded ports",
    ),
    "miscabled": Kind(
        "a cable connects other ports than the declared ones",
        "move the cable; or, if the cabling is right, declare a new dump of ibnetdiscover",
        "derived: paths between leaves have their planned bandwidth only if cabled as planned",
    ),
    "pcie-degraded": Kind(
        "the NIC's slot runs at less than its width or speed",
        "reseat the card; compare LnkSta with LnkCap in lspci -vv",
        "001: degraded PCIe links are among the first suspects",
    ),
    "gpu-pcie-degraded": Kind(
        "the GPU's slot runs at less than its width or generation",
        "reseat the GPU; compare LnkSta with LnkCap in lspci -vv; check whether the slot is shared",
        "001: degraded PCIe links are among the first suspects",
    ),
    "mtu-mismatch": Kind(
        "the MTU of a port is not the fabric's",
        "set it: in the subnet manager's partition for InfiniBand, with ip link for Ethernet",
        "004: MTU 4096, optimal for InfiniBand",
        folds=True,
    ),
    "firmware-mismatch": Kind(
        "NICs or GPUs of one model have different firmware, and no file declares which is wanted",
        "declare it under 'versions' in the hostfile, then the next run names the devices that do "
        "not have it; bring these to it (mlxfwmanager -u, the GPU vendor's tool)",
        "derived: limits hold for devices that are alike",
    ),
    "link-error-rate": Kind(
        "the error counters of a link grow while it is measured",
        "replace the cable or transceiver; until then disable the port: ibportstate LID PORT "
        "disable",
        "001: several links with a high bit error rate were disabled and isolated",
    ),
}

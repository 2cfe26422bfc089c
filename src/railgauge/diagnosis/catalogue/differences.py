"""Causes of nodes that are not as declared, or not as the other nodes."""

from __future__ import annotations

from collections.abc import Mapping

from railgauge.diagnosis.catalogue.kind import Kind

KINDS: Mapping[str, Kind] = {
    "wrong-numa-node": Kind(
        "a NIC or GPU is attached to another NUMA node than declared or than on the other nodes",
        "compare slot, riser and the BIOS setting (NPS, SNC) with a good node",
        "003: thread bindings rely on the NUMA node of each NIC; 004: PCIe and NUMA limit GPU and"
        " NIC",
    ),
    "hardware-differs": Kind(
        "a part is not the declared one or that of the other nodes, or not in its declared slot",
        "compare the node with its delivery note; or correct the platform file if that is wrong",
        "derived: limits hold for the declared hardware only",
    ),
    "nodes-differ": Kind(
        "nodes differ in a version or in their build, and no file declares which is wanted",
        "declare it under 'versions' in the hostfile, or in the platform file; then the next run "
        "names the nodes that do not have it",
        "derived: limits hold for nodes that are alike; most of them may be the wrong ones",
    ),
    "version-mismatch": Kind(
        "a version is not the one that the hostfile or platform file declares or limits hold for",
        "install the declared version; or declare the new one, if the change was intended",
        "derived: limits hold for the versions that they were measured with",
        folds=True,
    ),
}

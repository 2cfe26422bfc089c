"""Causes of how the collective library uses the network."""

from __future__ import annotations

from collections.abc import Mapping

from railgauge.diagnosis.catalogue.kind import Kind

KINDS: Mapping[str, Kind] = {
    "wrong-transport": Kind(
        "collectives use sockets although the fast network is up",
        "read the library's INFO log: network plugin, NCCL_IB_HCA, NCCL_NET, NCCL_IB_DISABLE",
        "derived: the library falls back to sockets where it cannot use the plugin or the HCA",
    ),
    "nic-idle": Kind(
        "a NIC carries no share of the collective's traffic",
        "check NCCL_IB_HCA / NCCL_SOCKET_IFNAME, the topology file and the NIC's NUMA node",
        "003: all four NICs carry equal traffic, about 128 GB each",
    ),
    "collective-tuning-missing": Kind(
        "the collective library runs without the variables that the platform file sets",
        "remove the line from 'environment' in the hostfile, or set the platform file's value",
        "001: without the four variables 337 instead of 392 GB/s",
    ),
    "unstable-collective": Kind(
        "the iterations of a collective vary strongly, and no fact explains why",
        "look for GPU diagnostics, other jobs and thermal throttling at the time of the run",
        "001: a mean hides that the iterations fall into two groups",
    ),
}

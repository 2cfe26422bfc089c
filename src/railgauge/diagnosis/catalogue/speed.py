"""Causes of what is slow: how collectives use the network, and slow parts."""

from __future__ import annotations

from collections.abc import Mapping

from railgauge.core.terms import Rung
from railgauge.diagnosis.catalogue.effect import (
    ABOVE,
    BETWEEN,
    COLLECTIVES,
    GPU,
    GPU_NETWORK,
    LESS,
    LOW,
    NETWORK,
    OUT,
    SETTING,
    SLOW,
    Effect,
)
from railgauge.diagnosis.catalogue.kind import (
    COMPARE,
    CORRECT,
    CRITICAL,
    DRAIN,
    EXCHANGE,
    MAJOR,
    MEASURE_AGAIN,
    MINOR,
    REPAIR_LINK,
    RESEAT,
    RESET,
    Kind,
)
from railgauge.diagnosis.symptoms import Symptom

KINDS: Mapping[str, Kind] = {
    "wrong-transport": Kind(
        "collectives use sockets although the fast network is up",
        "read the library's INFO log: network plugin, NCCL_IB_HCA, NCCL_NET, NCCL_IB_DISABLE",
        "derived: the library falls back to sockets where it cannot use the plugin or the HCA",
        severity=MAJOR,
        action=CORRECT,
        effect=Effect(LOW, BETWEEN, LESS),
    ),
    "nic-idle": Kind(
        "a NIC carries no share of the collective's traffic",
        "check NCCL_IB_HCA / NCCL_SOCKET_IFNAME, the topology file and the NIC's NUMA node",
        "003: all four NICs carry equal traffic, about 128 GB each",
        severity=MAJOR,
        action=CORRECT,
        effect=Effect(LOW, BETWEEN, LESS),
    ),
    "collective-tuning-missing": Kind(
        "the collective library runs without the variables that the platform file sets",
        "remove the line from 'environment' in the hostfile, or set the platform file's value",
        "001: without the four variables 337 instead of 392 GB/s",
        severity=MAJOR,
        action=CORRECT,
        # Slow enough, a collective runs into its time limit.
        effect=Effect(SETTING, BETWEEN, SLOW | {Symptom.HUNG}),
    ),
    "unstable-collective": Kind(
        "the iterations of a collective vary strongly, and no fact explains why",
        "look for GPU diagnostics, other jobs and thermal throttling at the time of the run",
        "001: a mean hides that the iterations fall into two groups",
        severity=MAJOR,
        action=MEASURE_AGAIN,
        effect=Effect(LOW, BETWEEN, SLOW),
    ),
    "slow-gpu-link": Kind(
        "one link between two GPUs is slower than the other links",
        "reset the GPUs; if the link stays slow, replace the board that carries it",
        "002: the slowest of seven links caps what a GPU can send",
        severity=MAJOR,
        action=RESET,
        effect=Effect(LOW, COLLECTIVES, SLOW, "link"),
    ),
    "slow-gpu": Kind(
        "one GPU is slow on all its paths",
        "check its clocks, power cap and PCIe link (nvidia-smi -q, rocm-smi); reseat or replace it",
        "derived: a GPU that is slow with every NIC it was measured with",
        severity=MAJOR,
        action=RESEAT,
        effect=Effect(LOW, GPU, SLOW, "gpu"),
    ),
    "late-rank": Kind(
        "a rank of a training computes slower than its GPU alone, and all other ranks wait for it",
        "look at the host: the CPUs on which the rank runs, other programs, memory on the far NUMA"
        " node; run the training again with its GPU given to another rank",
        "derived: a step of a training is as fast as its slowest rank",
        severity=MAJOR,
        action=COMPARE,
        effect=Effect(LOW, frozenset({Rung.APPLICATION}), SLOW, "gpu"),
    ),
    "starved-loader": Kind(
        "a host takes too long to load the data of training steps, and the GPUs wait",
        "look for other programs on its CPUs, swapping, slow storage and too few loader processes",
        "derived: a step begins when its data are there",
        severity=MAJOR,
        action=COMPARE,
        effect=Effect(LOW, frozenset({Rung.APPLICATION}), SLOW),
    ),
    "slow-nic": Kind(
        "one NIC is slow with every partner while the node's other NICs are not",
        "check its slot, firmware, cable and congestion control; swap it with a good one",
        "derived: a NIC that is slow in all its pairs",
        severity=MAJOR,
        action=EXCHANGE,
        effect=Effect(LOW, NETWORK, LESS, "nic"),
    ),
    "slow-pcie-path": Kind(
        "one GPU and one NIC are slow together, and each is fine with others",
        "check the PCIe switch between them, ACS and IOMMU settings",
        "derived: of all pairings that were measured, only one is slow",
        severity=MAJOR,
        action=CORRECT,
        effect=Effect(LOW, GPU_NETWORK, LESS, "part"),
    ),
    "slow-path": Kind(
        "two nodes are slow together while each is fine with others",
        "check the cables and switches between the two, and the routes: ibtracert",
        "derived: a pair is as fast as the slowest of its two nodes and the path between them",
        severity=MAJOR,
        action=REPAIR_LINK,
        effect=Effect(LOW, NETWORK, LESS, "part"),
    ),
    "slow-direction": Kind(
        "a node, or one of its NICs or GPUs, sends slowly and receives at its limit, or the other"
        " way round",
        "compare the NIC's counters of that direction (pause frames, xmit_wait, discards), its flow"
        " control and its PCIe settings with a good node; swap its cable and its switch port",
        "derived: a test in one direction is as fast as its sender can send and its receiver can"
        " receive",
        severity=MAJOR,
        action=REPAIR_LINK,
        effect=Effect(LOW, NETWORK, LESS, "nic"),
    ),
    "slow-node": Kind(
        "a node is slow in all its pairs while its partners are not",
        "compare clocks, power, BIOS settings and PCIe links with a good node; reboot it and "
        "measure again: if it is fast then, the state it had gathered was the cause (001)",
        "derived: a pair is as fast as the slower of its two nodes",
        severity=MAJOR,
        action=DRAIN,
        effect=Effect(LOW, ABOVE, LESS, "node"),
    ),
    "straggler": Kind(
        "a part keeps its limits, but is behind the same part of the other nodes in most of its "
        "measurements",
        "compare it with a peer: clocks, power, BIOS, PCIe link, cable, firmware; the slowest part "
        "sets the pace of every job that uses all nodes",
        "derived: like parts are alike. Healthy ones differ by up to 1.04 % (002, both directions "
        "of a link), a straggler by 2 % or more",
        severity=MINOR,
        action=COMPARE,
        # It misses no limit but the one on its distance from its peers.
        effect=Effect(LOW),
    ),
    "slow-storage": Kind(
        "a declared path delivers less than the hostfile says, on one node or on all of them",
        "on one node: read the disk's health, the mount options and the link to the storage; on"
        " all: what else used the storage, and how full it is",
        "derived: the site declares what the path delivers, and the basis of it",
        severity=MAJOR,
        action=COMPARE,
        effect=Effect(LOW),
    ),
    "slow-client": Kind(
        "a node gets far less than the others while all of them use a shared path",
        "compare its mount options, its link to the storage and its load with another node's",
        "derived: like nodes get like shares; how much less one may get is what the site declares",
        severity=MAJOR,
        action=COMPARE,
        effect=Effect(LOW),
    ),
    "storage-corruption": Kind(
        "a block of a shared path is not read as another node wrote it",
        "take the path out of use; check the node's memory and network, and the storage servers",
        "derived: what returns wrong data cannot be used at any speed",
        severity=CRITICAL,
        action=DRAIN,
        effect=Effect(OUT),
    ),
    "slow-leaf": Kind(
        "a leaf slows large collectives: its uplinks, or its switch; pairs of its nodes are fine",
        "count the leaf's uplinks that are up, at their rate and without errors, compare its routes"
        " and adaptive routing with those of another leaf; ibtracert and ibdiagnet show them",
        "derived: a ring over nodes of several leaves in turn sends all that a leaf's nodes send"
        " over its uplinks; the leaf is slow with each of two leaves that are fine together",
        severity=MAJOR,
        action=REPAIR_LINK,
        effect=Effect(LOW, BETWEEN, SLOW),
    ),
    "oversubscribed-uplinks": Kind(
        "the uplinks of all leaves, or those of the only two, carry less than their nodes send",
        "compare the number and rate of uplinks with that of the ports to nodes, and of two leaves"
        " one with the other; switch adaptive routing on: without it a hash puts flows onto one"
        " uplink while others idle; if the fabric was bought like that, give the ladder a floor"
        " that says so",
        "derived: each leaf is slow with a few nodes of all others, which are fine together",
        severity=MAJOR,
        action=CORRECT,
        effect=Effect(LOW, BETWEEN, SLOW),
    ),
    "congestion-impact": Kind(
        "the traffic of other nodes slows a pair that shares no node and no NIC with it",
        "compare the switches and NICs with what was designed: congestion control (IB CC, or ECN"
        " and DCQCN) on at both ends, PFC on the traffic's own class, service levels, adaptive"
        " routing; counters of pause frames, xmit_wait and CNPs show where queues are long",
        "derived: the fabric carries the full rate of all nodes at once, so that the rate of others"
        " leaves a pair its own; GPCNeT (SC19) measures it in the same way",
        severity=MAJOR,
        action=CORRECT,
        effect=Effect(LOW, BETWEEN, SLOW),
    ),
    "poor-scaling": Kind(
        "parts alone are fast, but together they are far slower: nodes that serve or train a model,"
        " or all nodes in one collective whose halves are fine, or that is fine as a ring",
        "read in the log which transport and algorithm the library chose (GPUDirect RDMA, which"
        " NICs), and compare spines, routes and adaptive routing with what was designed",
        "000: 1.2, serving on two nodes at a tenth of one: the payload went through host memory",
        severity=MAJOR,
        action=CORRECT,
        effect=Effect(LOW, BETWEEN, SLOW),
    ),
}

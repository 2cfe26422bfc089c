"""Causes of a part that is slow, or slower than the same part of its peers."""

from __future__ import annotations

from collections.abc import Mapping

from railgauge.diagnosis.catalogue.kind import Kind

KINDS: Mapping[str, Kind] = {
    "slow-gpu-link": Kind(
        "one link between two GPUs is slower than the other links",
        "reset the GPUs; if the link stays slow, replace the board that carries it",
        "002: the slowest of seven links caps what a GPU can send",
    ),
    "slow-gpu": Kind(
        "one GPU is slow on all its paths",
        "check its clocks, power cap and PCIe link (nvidia-smi -q, rocm-smi); reseat or replace it",
        "derived: a GPU that is slow with every NIC it was measured with",
    ),
    "slow-nic": Kind(
        "one NIC is slow with every partner while the node's other NICs are not",
        "check its slot, firmware, cable and congestion control; swap it with a good one",
        "derived: a NIC that is slow in all its pairs",
    ),
    "slow-pcie-path": Kind(
        "one GPU and one NIC are slow together, and each is fine with others",
        "check the PCIe switch between them, ACS and IOMMU settings",
        "derived: of all pairings that were measured, only one is slow",
    ),
    "slow-path": Kind(
        "two nodes are slow together while each is fine with others",
        "check the cables and switches between the two, and the routes: ibtracert",
        "derived: a pair is as fast as the slowest of its two nodes and the path between them",
    ),
    "slow-direction": Kind(
        "a node, or one of its NICs or GPUs, sends slowly and receives at its limit, or the other"
        " way round",
        "compare the NIC's counters of that direction (pause frames, xmit_wait, discards), its flow"
        " control and its PCIe settings with a good node; swap its cable and its switch port",
        "derived: a test in one direction is as fast as its sender can send and its receiver can"
        " receive",
    ),
    "slow-node": Kind(
        "a node is slow in all its pairs while its partners are not",
        "compare clocks, power, BIOS settings and PCIe links with a good node; reboot it and "
        "measure again: if it is fast then, the state it had gathered was the cause (001)",
        "derived: a pair is as fast as the slower of its two nodes",
    ),
    "straggler": Kind(
        "a part keeps its limits, but is behind the same part of the other nodes in most of its "
        "measurements",
        "compare it with a peer: clocks, power, BIOS, PCIe link, cable, firmware; the slowest part "
        "sets the pace of every job that uses all nodes",
        "derived: like parts are alike. Healthy ones differ by up to 1.04 % (002, both directions "
        "of a link), a straggler by 2 % or more; one false alarm in 100,000 runs",
    ),
    "poor-scaling": Kind(
        "each node alone serves a model at full speed, but together they are far slower",
        "read in the server's log which transport the library chose (GPUDirect RDMA, which NICs),"
        " and compare its environment with that of the collectives, measured one rung below",
        "000: 1.2, serving on two nodes at a tenth of one: the payload went through host memory",
    ),
}

"""Document 003, section 2: TCPX's threads are bound to CPUs near their NIC, one set each way."""

from __future__ import annotations

import pytest
from testing.core_values import ROOT

from railgauge.config import thresholds

TCPX = thresholds.load("h100-tcpx", ROOT / "thresholds")
NICS = {nic.name: nic.numa_node for nic in TCPX.nics}
WAYS = ("TX", "RX")


def numbers(text: str) -> set[int]:
    """``8-21,112-125`` as a set of CPUs."""
    spans = [part.split("-") for part in text.split(",")]
    return {cpu for span in spans for cpu in range(int(span[0]), int(span[-1]) + 1)}


def bindings(way: str) -> dict[str, set[int]]:
    text = str(TCPX.environment[f"NCCL_GPUDIRECTTCPX_{way}_BINDINGS"])
    return {nic: numbers(cpus) for nic, _, cpus in (one.partition(":") for one in text.split(";"))}


def wanted(name: str) -> object:
    assert TCPX.expected[name].rule == "equals"
    return TCPX.expected[name].value


def test_the_cpus_are_those_of_the_document() -> None:
    assert wanted("cpus") == 208
    assert wanted("numa_nodes") == 2
    assert wanted("numa_cpus") == {"0": "0-51,104-155", "1": "52-103,156-207"}


@pytest.mark.parametrize("way", WAYS)
def test_threads_are_bound_to_the_numa_node_of_their_nic(way: str) -> None:
    nodes = wanted("numa_cpus")
    assert isinstance(nodes, dict)
    bound = bindings(way)
    assert bound.keys() == NICS.keys()
    for nic, cpus in bound.items():
        assert cpus <= numbers(nodes[str(NICS[nic])]), nic
        assert len(cpus) == 28


def test_no_cpu_transmits_and_receives() -> None:
    sending, receiving = (set.union(*bindings(way).values()) for way in WAYS)
    assert not sending & receiving

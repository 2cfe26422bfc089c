"""Rung 3: GPUs of one node reach each other, and their hosts, at the rate of their links."""

import pytest

pytestmark = pytest.mark.needs("gpus")


@pytest.mark.measures("gpu_link_bandwidth")
@pytest.mark.needs("linked gpus")
def test_every_gpu_link(node, link, measure, check):
    """Every link between two GPUs reaches its bandwidth while all links are busy.

    Pass: The link's bandwidth reaches its floor.
    Fail: The link is slower.
    Remedy: Check the link's state and error counters with the smi tool; run the vendor's link
        diagnostic.
    """
    check(measure(node), link=link)


@pytest.mark.measures("gpu_link_bandwidth")
@pytest.mark.needs("linked gpus")
def test_gpu_aggregate(node, gpu, measure, check):
    """Each GPU sends to all other GPUs at its full aggregate bandwidth.

    Pass: The GPU's aggregate bandwidth reaches its floor.
    Fail: The aggregate is lower; its slowest link decides it.
    Remedy: Check the link's state and error counters with the smi tool; run the vendor's link
        diagnostic.
    """
    check(measure(node), gpu=gpu)


@pytest.mark.measures("gpu_link_bandwidth")
@pytest.mark.needs("linked gpus")
def test_all_to_all_average(node, measure, check):
    """The links of a node reach their average bandwidth while all are busy.

    Pass: The average reaches its floor.
    Fail: The average is lower; the items of the links show where.
    Remedy: Check the link's state and error counters with the smi tool; run the vendor's link
        diagnostic.
    """
    check(measure(node))


@pytest.mark.measures("gpu_copy_bandwidth")
@pytest.mark.needs("linked gpus")
def test_copy_between_gpus(node, link, measure, check):
    """A copy from any GPU to any other runs at the bandwidth of their link.

    Pass: The copy's bandwidth reaches its floor.
    Fail: The copy is slower.
    Remedy: Check the link's state and error counters with the smi tool; run the vendor's link
        diagnostic.
    """
    check(measure(node), link=link)


@pytest.mark.measures("gpu_host_bandwidth")
def test_copy_between_gpu_and_host(node, gpu, measure, check):
    """Copies between a GPU and its host run at the bandwidth of the GPU's PCIe slot.

    Pass: The bandwidth reaches its floor in each direction.
    Fail: The bandwidth is below its floor.
    Remedy: Check generation and width of the GPU's slot, and that the process runs on the GPU's
        NUMA node.
    """
    check(measure(node), gpu=gpu)

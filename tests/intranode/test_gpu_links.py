"""Rung 3: GPUs of one node reach each other, and their hosts, at the rate of their links."""

import pytest

pytestmark = pytest.mark.needs("gpus")


@pytest.mark.measures("gpu_link_bandwidth")
@pytest.mark.needs("linked gpus")
def test_every_gpu_link(node, link, measure, check):
    """Every link between two GPUs carries its share when all of them are busy."""
    check(measure(node), link=link)


@pytest.mark.measures("gpu_link_bandwidth")
@pytest.mark.needs("linked gpus")
def test_gpu_aggregate(node, gpu, measure, check):
    """What a GPU can send to all others at once, which its slowest link decides."""
    check(measure(node), gpu=gpu)


@pytest.mark.measures("gpu_link_bandwidth")
@pytest.mark.needs("linked gpus")
def test_all_to_all_average(node, measure, check):
    """The average link of a node, when all links are busy."""
    check(measure(node))


@pytest.mark.measures("gpu_copy_bandwidth")
@pytest.mark.needs("linked gpus")
def test_copy_between_gpus(node, link, measure, check):
    """A copy from any GPU to any other runs at the rate of their link."""
    check(measure(node), link=link)


@pytest.mark.measures("gpu_host_bandwidth")
def test_copy_between_gpu_and_host(node, gpu, measure, check):
    """Copies between a GPU and its host run at the rate of the GPU's PCIe slot."""
    check(measure(node), gpu=gpu)

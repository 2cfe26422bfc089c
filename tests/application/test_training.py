"""Rung 5: GPUs train a model, with the right bits."""

import pytest

pytestmark = pytest.mark.needs("linked gpus")


@pytest.mark.measures("node_replay")
def test_replay_on_each_gpu(node, gpu, measure, check):
    """Each GPU of a node computes the same training steps as the others, bit for bit.

    Pass: The loss and all weights have the bits of the other GPUs after every step.
    Fail: They have other bits from a step on: the GPU computed wrong values, without an error.
    Remedy: Take the GPU out of service, and run the vendor's diagnostics on it.
    """
    check(measure(node), gpu=gpu)


@pytest.mark.measures("pair_replay")
@pytest.mark.needs("two nodes")
def test_replay_on_two_nodes(pair, measure, check):
    """All GPUs of two nodes compute the same training steps, bit for bit.

    Pass: The loss and all weights of every GPU have the same bits after every step.
    Fail: A GPU has other bits than most: it computed wrong values. If all GPUs of a node have,
        something that they share differs, such as a library.
    Remedy: Take a GPU that is named out of service; otherwise compare the nodes' software.
    """
    check(measure(pair))

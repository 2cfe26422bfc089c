"""Rung 5: GPUs train a model: the right bits, and as fast as their rungs below allow."""

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


@pytest.mark.measures("node_training")
def test_each_rank_of_a_training(node, gpu, measure, check):
    """Each rank of a node computes its part of a training step at the rate of its GPU.

    Pass: The rate of forward pass, backward pass and update reaches its floor.
    Fail: The rank is late in every step, and all others wait for it.
    Remedy: If rung 3 passes for its GPU, look at the host: the CPUs on which the rank runs, other
        programs, memory on the far NUMA node.
    """
    check(measure(node), gpu=gpu)


@pytest.mark.measures("node_training")
def test_training_on_one_node(node, measure, check):
    """The GPUs of a node train a model together as fast as products and all-reduce allow.

    Pass: The rate of the model reaches its floor, and data loading and the slowest steps stay below
        their ceilings.
    Fail: The rate is below its floor, the host takes too long to load, or some steps are slow.
    Remedy: Compare rung 3 of the node first; then the times of its ranks in the transcript.
    """
    check(measure(node))


@pytest.mark.measures("pair_training")
@pytest.mark.needs("two nodes")
def test_training_on_two_nodes(pair, measure, check):
    """Two nodes train a model together as fast as products and all-reduce allow.

    Pass: The rate of the model reaches its floor, and communication, data loading and the slowest
        steps stay below their ceilings.
    Fail: The rate is below its floor, or a part of the step takes too long.
    Remedy: Compare rung 4 of the pair first; then the times of its ranks in the transcript.
    """
    check(measure(pair))


@pytest.mark.measures("pair_training")
@pytest.mark.needs("two nodes")
def test_training_scales(pair, measure, check_ratio):
    """On two nodes each GPU trains at the declared share of its rate on one node.

    Pass: The ratio of the rates of a GPU reaches its floor.
    Fail: The second node costs more than its all-reduce explains.
    Remedy: Check which transport and NICs the library chose, and rung 4 of the pair.
    """
    one = measure(pair.source, of="node_training")
    check_ratio(measure(pair), one)


@pytest.mark.measures("pair_training")
@pytest.mark.needs("two nodes", "nics")
def test_traffic_of_a_training(pair, measure, check_traffic):
    """The NICs of both nodes carry the gradients, in equal shares and without errors.

    Pass: What the NICs counted agrees with the gradients, and they share it as declared.
    Fail: A NIC stood idle, the payload took another way, or an error counter grew.
    Remedy: Check which NICs the library chose, and its topology file.
    """
    check_traffic(measure(pair))


@pytest.mark.measures("group_training")
@pytest.mark.needs("three nodes")
def test_training_on_a_group(group, measure, check):
    """A group of nodes trains a model together as fast as products and all-reduce allow.

    Pass: The rate of the model reaches its floor, and communication, data loading and the slowest
        steps stay below their ceilings.
    Fail: The rate is below its floor, or a part of the step takes too long.
    Remedy: Compare the pairs of the group first; then the times of its ranks in the transcript.
    """
    check(measure(group))


@pytest.mark.measures("group_training")
@pytest.mark.needs("three nodes")
def test_training_scales_to_a_group(group, measure, check_ratio):
    """In a group of nodes each GPU trains at the declared share of its rate on one node.

    Pass: The ratio of the rates of a GPU reaches its floor.
    Fail: The other nodes cost more than their all-reduce explains.
    Remedy: Compare the pairs of the group: if they scale, look at the switches between them.
    """
    one = measure(group.nodes[0], of="node_training")
    check_ratio(measure(group), one)


@pytest.mark.measures("group_training")
@pytest.mark.needs("three nodes", "nics")
def test_traffic_of_a_training_in_a_group(group, measure, check_traffic):
    """The NICs of all nodes carry the gradients, in equal shares and without errors.

    Pass: What the NICs counted agrees with the gradients, and they share it as declared.
    Fail: A NIC stood idle, the payload took another way, or an error counter grew.
    Remedy: Check which NICs the library chose, and its topology file.
    """
    check_traffic(measure(group))

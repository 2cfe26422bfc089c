"""Undeclared differences between nodes: all groups are named and no node is blamed."""

from dataclasses import replace

import pytest
from testing.diagnose_scenes import (
    accounted,
    causes,
    fact,
    healthy,
    named,
    names,
    record,
    run_results,
)

from railgauge.config.thresholds.site import with_versions
from railgauge.core.errors import NodeUnreachable
from railgauge.core.model import Judgement, Outcome
from railgauge.diagnosis import diagnose

OLD, NEW = "28.36.1010", "28.39.1002"


def found_as(value, node, subject, part=""):
    """The item of a fact whose value most nodes have."""
    judged = Judgement(subject, Outcome.PASSED, value, "the same everywhere", "derived: x")
    return replace(record(0, subject, node, part=part), judgements=(judged,))


def firmware(values, part="mlx5_3", subject="nic_firmware"):
    """Items of one device on nodes n1, n2, …; failed unless most nodes have the same value."""
    return [
        (found_as(value, node, subject, part) if 2 * values.count(value) > len(values)
         else fact(node, subject, part, value))
        for node, value in zip(names(len(values)), values, strict=True)
    ]  # fmt: skip


def only(found):
    (cause,) = found
    return cause


@pytest.mark.parametrize(
    "values", [(OLD, OLD, OLD, NEW), (NEW, OLD, OLD, OLD), (OLD, NEW), (NEW, NEW, OLD, OLD)]
)
@pytest.mark.parametrize(
    ("subject", "part", "cause", "device"),
    [("nic_firmware", "mlx5_3", "firmware-mismatch", "nic_firmware"),
     ("gpu_vbios", "gpu3", "firmware-mismatch", "gpu_vbios"),
     ("kernel", "", "nodes-differ", "kernel"),
     ("ofed", "", "nodes-differ", "ofed"),
     ("gpu_driver", "", "nodes-differ", "gpu_driver"),
     ("collective_library", "", "nodes-differ", "collective_library"),
     ("nic_numa", "mlx5_3", "nodes-differ", "mlx5_3")],
)  # fmt: skip
def test_both_groups_are_named_and_none_is_blamed(values, subject, part, cause, device):
    records = firmware(values, part, subject)
    nodes = names(len(values))
    found = only(causes(records, nodes=nodes))
    assert (found.cause, found.where.device) == (cause, device)
    assert found.where.node == f"n[1-{len(nodes)}]"
    for value in (OLD, NEW):
        group = [node for node, its in zip(nodes, values, strict=True) if its == value]
        shown = group[0] if len(group) == 1 else f"n[{group[0][1:]}-{group[-1][1:]}]"
        assert f"{value} on {shown}" in found.says
    assert "declare the one that is wanted" in found.says
    assert accounted([found]) == {item.id for item in records if item.outcome is Outcome.FAILED}


def test_a_single_different_device_is_named_with_its_node():
    same = [found_as(OLD, node, "nic_firmware", nic) for node in names(3) for nic in ("mlx5_0",)]
    same += [found_as(OLD, node, "nic_firmware", "mlx5_1") for node in ("n1", "n3")]
    odd = fact("n2", "nic_firmware", "mlx5_1", NEW)
    found = only(causes(same, odd, nodes=names(3)))
    assert f"{OLD} on n[1,3], n2 mlx5_0; {NEW} on n2 mlx5_1" in found.says
    assert named([found]) == [("firmware-mismatch", "n2, mlx5_1")]
    assert accounted([found]) == {odd.id}


def of_gpus(*values):
    """The firmware of two GPUs of each node."""
    pairs = zip(names(len(values)), values, strict=True)
    every = [(node, f"gpu{at}", one) for node, both in pairs for at, one in enumerate(both)]
    usual = max((OLD, NEW), key=[one for *_, one in every].count)
    return [
        found_as(one, node, "gpu_vbios", gpu) if one == usual else fact(node, "gpu_vbios", gpu, one)
        for node, gpu, one in every
    ]


@pytest.mark.parametrize(
    ("values", "due"),
    [
        (((OLD, OLD), (OLD, NEW), (OLD, OLD)), ["n2, gpu1"]),
        (((NEW, OLD), (OLD, OLD), (NEW, OLD), (OLD, OLD)), ["n1, gpu0", "n3, gpu0"]),
        (((OLD, OLD), (NEW, NEW), (OLD, OLD)), ["n[1-3], gpu_vbios"]),
        (((OLD, OLD), (NEW, NEW), (OLD, NEW)), ["n[1-3], gpu_vbios"]),
        (((OLD, NEW), (OLD, NEW)), ["n[1-2], gpu_vbios"]),
    ],
)
def test_a_gpu_that_differs_from_those_beside_it_is_named(values, due):
    """A whole node may be the one that was mended, and of two halves neither is the usual one."""
    found = causes(of_gpus(*values), nodes=names(len(values)))
    assert named(found) == [("firmware-mismatch", where) for where in due]
    assert all(f"{NEW} on n" in one.says and f"{OLD} on n" in one.says for one in found)


def test_a_declared_version_blames_the_nodes_without_it():
    """Three of four nodes have old firmware; the declaration makes these three the cause."""
    site = with_versions(run_results([]).platform, {"nic_firmware": {"*": NEW}}, "bench.yaml")
    old = [fact(node, "nic_firmware", "mlx5_3", OLD) for node in names(3)]
    run = replace(run_results([*old, found_as(NEW, "n4", "nic_firmware", "mlx5_3")]), platform=site)
    assert named(diagnose(run)) == [("version-mismatch", "n[1-3], mlx5_3")]


def test_a_difference_explains_no_slow_item():
    from testing.diagnose_scenes import collective  # noqa: PLC0415

    found = causes(firmware((OLD, OLD, OLD, NEW)), collective(("n4",), 100), nodes=names(4))
    assert named(found) == [("slow-node", "n4"), ("firmware-mismatch", "n[1-4], nic_firmware")]
    assert found[1].explains == ()


# --- values where less is a fault, even if most nodes have it ---


@pytest.mark.parametrize("values", [("50", "25"), ("50", "50", "50", "25")])
def test_a_lower_rate_blames_its_own_node_only(values):
    rates = firmware(values, "gpu3", "gpu_link_rate")
    found = only(causes(rates, nodes=names(len(values))))
    assert named([found]) == [("gpu-link-down", f"n{len(values)}, gpu3")]
    assert accounted([found]) == {item.id for item in rates if item.outcome is Outcome.FAILED}


def test_the_highest_rate_is_not_called_degraded():
    rates = firmware(("25", "25", "25", "50"), "gpu3", "gpu_link_rate")
    found = only(causes(rates, nodes=names(4)))
    assert named([found]) == [("nodes-differ", "n[1-4], gpu_link_rate")]


# --- a kernel difference together with another fault ---


@pytest.mark.parametrize("nodes", [names(2), names(4)])
def test_a_lost_driver_after_a_kernel_update_blames_no_healthy_node(nodes):
    *others, last = nodes
    lacking = replace(healthy(last, "metax-c500"), peer_memory=())
    kernels = firmware([*["9.4"] * len(others), "9.6"], "", "kernel")
    found = causes(
        fact(last, "peer_memory"), kernels, facts=[lacking], on="metax-c500", nodes=nodes
    )
    assert named(found) == [("gpudirect-rdma-disabled", last)]


def test_an_unreachable_node_is_in_no_group():
    lost = NodeUnreachable("no route", where="n3")
    found = causes(firmware((OLD, NEW)), facts=[lost], nodes=names(3))
    assert only(found).where.node == "n[1-2]"

"""The parts of the cluster that decide the values of each tool."""

from __future__ import annotations

from dataclasses import replace

import pytest
from testing.diagnose_scenes import platform as limits_of

from railgauge import tools
from railgauge.core.model import Case, Pairing
from railgauge.core.terms import Flow, Scope
from railgauge.tools.form import ClusterPart, KindOfPart, Layout, ToolFigure, of_path

METAX, MI300X, TCPX = "metax-c500", "mi300x", "h100-tcpx"


def figure(platform_name, measurement, nodes, pairing=None, *, metric="", placement=""):
    platform = limits_of(platform_name)
    case = Case(measurement, nodes, pairing, (1 << 23,))
    found = platform.measurements[measurement]
    return ToolFigure(case, found, Layout.of(platform), metric, placement)


def chains(form, stage):
    return [[str(part.kind) for part in chain] for chain in form.stages[stage]]


def test_a_test_between_two_nodes_is_as_fast_as_the_slowest_of_two_ends_and_their_path():
    gpu = Pairing("mlx5_0", 0, "near")
    form = tools.form(figure(METAX, "gpu_write_bandwidth", ("a", "b"), gpu))
    assert form is not None
    assert chains(form, 0) == [
        ["node", "nic", "send", "send", "gpu", "pcie"],
        ["node", "nic", "receive", "receive", "gpu", "pcie"],
        ["path", "path"],
    ]


def test_a_single_nic_is_no_part_besides_its_node():
    form = tools.form(
        figure("connectx4-homelab", "host_read_bandwidth", ("a", "b"), Pairing("mlx5_0"))
    )
    assert form is not None
    assert chains(form, 0) == [["node", "receive"], ["node", "send"], ["path"]]


def test_both_directions_are_two_stages_whose_mean_counts():
    one = figure(METAX, "host_write_bandwidth", ("a", "b"), Pairing("mlx5_0"))
    both = of_path(one, Flow.BOTH)
    assert both is not None
    assert both.mean == 2
    assert chains(both, 0) == [
        ["node", "nic", "send", "send"],
        ["node", "nic", "receive", "receive"],
    ]


def test_the_slowest_messages_of_a_run_have_no_form():
    latency = figure("connectx4-homelab", "host_send_latency", ("a", "b"), Pairing("mlx5_0"))
    assert tools.form(replace(latency, metric="lat_max")) is None
    assert tools.form(replace(latency, metric="lat_typical")) is not None


def test_a_collective_waits_for_the_slowest_gpu_hop_and_nic_and_perhaps_for_a_link():
    form = tools.form(figure(METAX, "pair_all_reduce", ("a", "b")))
    assert form is not None
    kinds = [{str(part.kind) for chain in stage for part in chain} for stage in form.stages]
    assert kinds == [{"node", "gpu"}, {"path"}, {"nic", "send", "receive", "pcie"}, {"link"}]
    assert {part.kind for part in form.maybe} == {KindOfPart.LINK}
    assert ClusterPart(KindOfPart.NIC, "a", "mlx5_0") in {
        p for chain in form.stages[2] for p in chain
    }


def test_a_sendrecv_inside_a_node_uses_the_links_of_its_ring():
    form = tools.form(figure(MI300X, "node_sendrecv", ("a",)))
    assert form is not None
    links = [part for (part,) in form.stages[1]]
    assert [(part.gpu, part.to) for part in links] == [*((g, g + 1) for g in range(7)), (7, 0)]


def test_a_path_between_two_rails_has_the_nics_of_both_nodes_in_their_order():
    across = Pairing("mlx5_1", distance="cross_rail", peer=Pairing("mlx5_0"))
    there = tools.form(figure(METAX, "host_write_bandwidth", ("a", "b"), across))
    back = tools.form(figure(METAX, "host_write_bandwidth", ("b", "a"), across))
    assert there is not None
    assert back is not None
    own = ClusterPart(KindOfPart.PATH, "a", peer="b")
    assert there.stages[0][2] == (own, replace(own, nic="mlx5_1:mlx5_0"))
    assert back.stages[0][2] == (own, replace(own, nic="mlx5_0:mlx5_1"))


def test_a_nodes_own_check_is_as_fast_as_its_slowest_gpu_link_or_nic():
    inside = tools.form(figure("h200", "node_health_check", ("a",), metric="check_nccl_allreduce"))
    nics = tools.form(figure("h200", "node_health_check", ("a",), metric="check_ib_bw_gdr"))
    assert inside is not None
    assert nics is not None
    assert {part.kind for s in inside.stages for c in s for part in c} == {"node", "gpu", "link"}
    assert [str(chain[-1].nic) for chain in nics.stages[0]] == [f"mlx5_{i}" for i in range(8)]


def test_a_copy_over_a_link_may_depend_on_its_gpus_and_one_from_the_host_does():
    link = tools.form(figure(TCPX, "gpu_copy_bandwidth", ("a",), placement="gpu0>gpu3"))
    host = tools.form(figure(TCPX, "gpu_host_bandwidth", ("a",), placement="gpu3"))
    assert link is not None
    assert host is not None
    assert link.stages == (
        (
            (
                ClusterPart(KindOfPart.NODE, "a"),
                ClusterPart(KindOfPart.LINK, "a", gpu=0, to=3),
                ClusterPart(KindOfPart.GPU, "a", gpu=0),
                ClusterPart(KindOfPart.GPU, "a", gpu=3),
            ),
        ),
    )
    assert {part.gpu for part in link.maybe} == {0, 3}
    assert host.stages == (
        ((ClusterPart(KindOfPart.NODE, "a"), ClusterPart(KindOfPart.GPU, "a", gpu=3)),),
    )


def test_what_a_gpu_of_transferbench_reaches_is_its_slowest_link():
    form = tools.form(figure(MI300X, "gpu_link_bandwidth", ("a",), placement="gpu2"))
    assert form is not None
    assert len(form.stages[0]) == 7
    assert form.apart > 0


@pytest.mark.parametrize("name", [METAX, MI300X, TCPX, "h200", "connectx4-homelab"])
def test_each_measurement_of_a_part_has_a_form(name):
    """Scans of the subnet, diagnostics, replays, and a pair beside a load have none."""
    platform = limits_of(name)
    for measurement, one in platform.measurements.items():
        if one.scope == Scope.FABRIC or one.victims or one.command in ("dcgmi", "replay"):
            continue
        nodes = ("a",) if one.scope == Scope.NODE else ("a", "b")
        pairing = platform.paths(one)[0] if one.scope == Scope.PATH else None
        placement = {"link": "gpu0>gpu1", "gpu": "gpu0"}
        asked = [(asserted.metric, placement.get(asserted.per, "")) for asserted in one.asserts]
        made = (figure(name, measurement, nodes, pairing, metric=m, placement=p) for m, p in asked)
        assert any(tools.form(each) for each in made), measurement


def test_the_device_of_a_part_is_the_name_that_items_have_for_it():
    assert ClusterPart(KindOfPart.PCIE, "a", "mlx5_0", 3).device == "gpu3-mlx5_0"
    assert ClusterPart(KindOfPart.LINK, "a", gpu=0, to=3).device == "gpu0>gpu3"
    assert ClusterPart(KindOfPart.PATH, "a", peer="b").device == ""

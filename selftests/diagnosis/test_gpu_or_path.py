"""A GPU that was measured over one NIC only is told from its path by another NIC."""

from __future__ import annotations

from dataclasses import replace

import pytest
from testing.core_values import judgement
from testing.diagnose_scenes import asking, findings, names, pairs_of, paths

from railgauge.core.model import Outcome
from railgauge.diagnosis import diagnose
from railgauge.diagnosis.confirm import follow_ups
from railgauge.judging.confirmation import Confirmed

RAILS = [f"gpu{number}-mlx5_{number}" for number in range(8)]
NICS = [f"mlx5_{number}" for number in range(8)]
SLOW = ("n2", "gpu3-mlx5_3")


def scene(value=317.0, nodes=4):
    pairs = list(pairs_of(names(nodes), 2))
    items = [*paths(pairs, NICS, {}), *paths(pairs, RAILS, {SLOW: value})]
    return findings([asking(item) for item in items])


def requests(found):
    return follow_ups(found, diagnose(found))


def test_the_same_gpu_is_measured_over_its_next_nic_beside_good_nodes():
    again, other, good, *host = requests(scene())
    assert [one.suspects for one in (again, other, good)] == [("n2",), ("n2",), ()]
    over = [(one.question.case.measurement, str(one.question.case.pairing)) for one in host]
    assert over == [("host_write_bandwidth", "mlx5_3")] * 2, "the NIC may be slow since then"
    ways = [one.question.case.nodes for one in host]
    assert ways[0] == ways[1][::-1]
    assert {one.suspects for one in host} == {("n2",)}
    cases = [one.question.case for one in (again, other, good)]
    assert [str(case.pairing) for case in cases] == ["gpu3-mlx5_3", "gpu3-mlx5_0", "gpu3-mlx5_0"]
    assert all("n2" in case.nodes for case in cases[:2])
    assert "n2" not in cases[2].nodes
    assert cases[1].pairing.distance == "far"
    assert [case.repeats for case in cases] == [1, 3, 1], "it may be slow at times only"


def test_a_good_node_that_was_not_measured_over_the_pairing_serves_as_well():
    """n3 and n4 are in no measurement of GPU memory, as if they were behind a gate."""
    nodes = names(4)
    pairs = list(pairs_of(nodes, 2))
    near = [pair for pair in pairs if set(pair) == {"n1", "n2"}] or [("n1", "n2")]
    items = [*paths(pairs, NICS, {}), *paths(near, RAILS, {SLOW: 317.0})]
    items += paths([("n1", "n2"), ("n2", "n1")], ["gpu3-mlx5_3"], {SLOW: 317.0})
    found = findings([asking(item) for item in items], nodes=nodes)
    suspected = [replace(c, where=replace(c.where, node="n2", device="gpu3,gpu3-mlx5_3"),
                         confidence="open") for c in diagnose(found)[:1]]  # fmt: skip
    asked = follow_ups(found, suspected)
    assert [str(one.question.case.pairing) for one in asked[:3]] == [
        "gpu3-mlx5_3", "gpu3-mlx5_0", "gpu3-mlx5_0",
    ]  # fmt: skip
    assert "n2" not in asked[2].question.case.nodes


def test_two_nodes_have_nobody_to_compare_with():
    assert requests(scene(nodes=2)) == ()
    assert requests(scene(value=392.0)) == ()


def result(request, value, floor):
    outcome = Outcome.PASSED if value >= floor else Outcome.FAILED
    judged = judgement(outcome, unit="Gb/s", worst=value, floor=floor, values=(value,))
    return Confirmed(request, (judged,))


def causes_after(value, over_another, between_good, found=None):
    found = found or scene(value)
    again, other, good, *host = requests(found)
    far = result(other, over_another, 200), result(good, between_good, 200)
    near = [result(one, 392.0, 372.4) for one in host]
    results = (result(again, value, 372.4), *far, *near)
    return diagnose(replace(found, confirmed=results))


@pytest.mark.parametrize(
    ("value", "over_another", "cause"),
    [
        (317.0, 230.0, ("slow-gpu", "gpu3")),
        (317.0, 284.0, ("slow-pcie-path", "gpu3-mlx5_3")),
        (317.0, 275.0, ("slow-pcie-path", "gpu3-mlx5_3")),
        (200.0, 160.0, ("slow-gpu", "gpu3")),
    ],
)
def test_the_share_of_what_good_nodes_reach_decides(value, over_another, cause):
    """The limit of the far pairing, 200 Gb/s, is met in all but one case."""
    (found,) = causes_after(value, over_another, 284.0)
    assert (found.cause, found.where.device) == cause
    assert (found.where.node, found.confidence, found.would_decide) == ("n2", "likely", "")
    assert f"over mlx5_0 it is {'slow too' if cause[0] == 'slow-gpu' else 'fine'}" in found.says
    assert len(found.confirmation.seen) == 3


def test_good_nodes_that_are_slower_than_the_suspect_tell_nothing():
    """Their path, which nothing measured so far, is slow: 230 of 284 Gb/s."""
    (found,) = causes_after(317.0, 260.0, 230.0)
    assert (found.where.device, found.confidence) == ("gpu3,gpu3-mlx5_3", "open")


def test_a_gpu_that_is_hardly_behind_its_limit_stays_undecided():
    (found,) = causes_after(370.0, 280.0, 284.0)
    assert found.confidence == "open"


@pytest.mark.parametrize(
    ("over_another", "cause"), [(257.0, "slow-gpu"), (284.0, "slow-pcie-path")]
)
def test_where_the_limit_is_far_below_a_healthy_value_the_share_decides(over_another, cause):
    """370 of 372.4 Gb/s: close to the limit, and 9 % behind what the GPU should reach."""
    (found,) = causes_after(370.0, over_another, 284.0)
    assert (found.cause, found.confidence) == (cause, "likely")


def test_a_pairing_that_is_not_slow_again_stays_undecided():
    found = scene()
    again, other, good, *_ = requests(found)
    results = (result(again, 390.0, 372.4), result(other, 284.0, 200), result(good, 284.0, 200))
    (cause,) = diagnose(replace(found, confirmed=results))
    assert cause.confidence == "open"


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_result_that_is_missing_leaves_it_undecided(lost):
    found = scene()
    results = [result(one, 230.0, 372.4) for one in requests(found)[:3]]
    results[lost] = Confirmed(results[lost].asked, (), "it timed out")
    (cause,) = diagnose(replace(found, confirmed=tuple(results)))
    assert (cause.where.device, cause.confidence) == ("gpu3,gpu3-mlx5_3", "open")


@pytest.mark.parametrize(
    ("values", "cause"),
    [((235.0, 235.0), ("slow-nic", "likely")),
     ((235.0, 392.0), ("slow-nic", "likely")),  # the other way was slow with the GPU
     ((392.0, 235.0), ("slow-direction", "likely")), ((235.0, None), ("slow-nic", "open"))],
)  # fmt: skip
def test_a_nic_that_became_slow_after_host_memory_was_measured_is_named(values, cause):
    """By the plan alone, host memory is fine, and the path of one GPU is slow."""
    found = scene()
    again, other, good, *host = requests(found)
    near = [
        Confirmed(one, (), "it timed out") if value is None else result(one, value, 372.4)
        for one, value in zip(host, values, strict=True)
    ]
    rest = (result(again, 317.0, 372.4), result(other, 284.0, 200), result(good, 284.0, 200))
    named, *left = diagnose(replace(found, confirmed=(*rest, *near)))
    assert (named.cause, named.confidence) == cause
    # One direction does not explain the GPU's item that went the other way.
    assert [(one.where.node, one.confidence) for one in left] == (
        [("n2|n3", "open")] if named.cause == "slow-direction" else []
    )
    assert (named.where.node, named.where.device) == ("n2", "mlx5_3")
    assert "host memory over mlx5_3 was fine before, and is slow now" in named.says


def test_host_memory_is_measured_again_three_times_in_each_direction():
    """What is slow at times only may be fine once, and its GPU's path would be blamed."""
    host = requests(scene())[3:]
    assert [one.question.case.repeats for one in host] == [3, 3]
    assert len({one.question.case.nodes for one in host}) == 2

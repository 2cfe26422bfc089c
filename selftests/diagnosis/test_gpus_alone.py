"""Each GPU against all other GPUs of the cluster, in what it reaches by itself."""

import random
import time
from dataclasses import replace

import pytest
from testing.diagnose_scenes import causes, fact, findings, measured, named, names, record
from testing.straggler_scenes import FEW, run

from railgauge.core.model import Outcome
from railgauge.diagnosis.peers.alone import every_standing

FULL = {"gpu_matrix_bf16": (692.0, 544.0), "gpu_memory_copy": (4224.0, 3600.0)}
FORMATS = {
    "gpu_matrix_fp64": (57.6, 46.9), "gpu_matrix_fp32": (50.2, 40.2),
    "gpu_matrix_tf32": (371.0, 272.0), "gpu_matrix_fp8": (1246.0, 989.0),
}  # fmt: skip
GPUS = tuple(f"gpu{number}" for number in range(8))


def gpus(nodes, share=None, subjects=FULL, *, seed=1, noise=0.002):
    """What each GPU of the nodes reaches; ``share`` is left to a node, GPU, or (node, GPU)."""
    left, chance = share or {}, random.Random(seed)
    found = []
    for subject, (full, floor) in {**FULL, **FORMATS}.items():
        if subject not in subjects:
            continue
        for node in nodes:
            for gpu in GPUS:
                keys = [node, gpu, (node, gpu), (node, gpu, subject)]
                value = full * (1 - noise * chance.random())
                for key in keys:
                    value *= left.get(key, 1.0)
                found.append(rate(subject, node, gpu, value, floor))
    return found


def rate(subject, node, gpu, value, floor):
    copies = subject == "gpu_memory_copy"
    item = measured(record(3, subject, node, part=gpu), value)
    (judged,) = item.judgements
    margin = (value - floor) / floor
    outcome = Outcome.PASSED if margin >= 0 else Outcome.FAILED
    judged = replace(
        judged,
        metric="copy_bandwidth" if copies else "tflops",
        unit="GB/s" if copies else "TFLOP/s",
        better="higher",
        floor=floor,
        margin=margin,
        outcome=outcome,
    )
    return replace(item, outcome=outcome, judgements=(judged,))


@pytest.mark.parametrize("nodes", [names(1), names(2), names(4), names(64)])
def test_a_gpu_behind_all_others_is_a_straggler_with_few_nodes_too(nodes):
    (found,) = causes(gpus(nodes, {(nodes[0], "gpu3"): 0.95}))
    assert (found.cause, str(found.where), found.confidence) == ("straggler", "n1, gpu3", "likely")
    assert "n1 gpu3 is 5." in found.says or "n1 gpu3 is 4." in found.says
    assert "behind its peers in 2 of 2 measurements" in found.says
    assert len(found.evidence) == 2


@pytest.mark.parametrize("nodes", [names(1), names(2), names(4)])
def test_a_gpu_below_its_floor_is_slow_and_no_straggler_beside_it(nodes):
    (found,) = causes(gpus(nodes, {(nodes[-1], "gpu3"): 0.6}))
    assert (found.cause, found.where.device) == ("slow-gpu", "gpu3")
    assert found.where.node == nodes[-1]


def test_a_gpu_that_misses_one_floor_and_is_behind_in_another_is_one_cause():
    slow = {("n2", "gpu3", "gpu_matrix_bf16"): 0.7, ("n2", "gpu3", "gpu_memory_copy"): 0.9}
    assert named(causes(gpus(names(2), slow))) == [("slow-gpu", "n2, gpu3")]


def test_one_measurement_is_undecided_and_says_to_measure_again():
    (found,) = causes(gpus(names(2), {("n2", "gpu3", "gpu_matrix_bf16"): 0.93}))
    assert (found.cause, str(found.where), found.confidence) == ("straggler", "n2, gpu3", "open")
    assert "of matrix products" in found.says
    assert found.would_decide == "one measurement shows it: measure it again"


PRODUCTS = ("gpu_matrix_bf16", "gpu_matrix_fp64")
SOME = (*PRODUCTS, "gpu_memory_copy")


def test_a_gpu_that_computes_slowly_but_copies_well_is_decided_by_several_formats():
    """Its memory and its path to the NIC are as fast as those of the others."""
    slow = {("n2", "gpu1", name): 0.94 for name in PRODUCTS}
    (found,) = causes(gpus(FEW, slow, SOME), run(FEW))
    assert (str(found.where), found.confidence) == ("n2, gpu1", "likely")
    assert "behind its peers in 2 of 2 measurements of matrix products" in found.says
    assert {item.partition("test_")[2].partition("[")[0] for item in found.evidence} == {
        "x.py::test_gpu_matrix_bf16", "x.py::test_gpu_matrix_fp64",
    }  # fmt: skip


def test_slow_memory_alone_is_told_as_such():
    every = [*FULL, *FORMATS]
    (found,) = causes(gpus(names(2), {("n1", "gpu0", "gpu_memory_copy"): 0.9}, every))
    assert (str(found.where), found.confidence) == ("n1, gpu0", "open")
    assert "of its memory" in found.says


def test_the_place_of_a_gpu_in_the_chassis_is_no_fault():
    assert causes(gpus(names(2), {"gpu7": 0.95})) == ()
    assert causes(gpus(names(4), {"gpu7": 0.95})) == ()
    found = causes(gpus(names(4), {"gpu7": 0.95, ("n3", "gpu7"): 0.95}))
    assert named(found) == [("straggler", "n3, gpu7")]


def test_of_two_nodes_none_is_the_slow_one_and_of_three_one_is():
    assert causes(gpus(names(2), {"n2": 0.95})) == ()
    (found,) = causes(gpus(names(3), {"n2": 0.95}))
    assert (found.cause, str(found.where)) == ("straggler", "n2")


def test_a_node_that_computes_slowly_is_named_as_a_whole():
    slow = {("n2", gpu, name): 0.95 for gpu in GPUS for name in PRODUCTS}
    (found,) = causes(gpus(FEW, slow, SOME), run(FEW))
    assert (str(found.where), found.confidence) == ("n2", "likely")
    assert "behind its peers in 2 of 2 measurements of matrix products" in found.says


@pytest.mark.parametrize("nodes", [names(1), names(2), names(4)])
@pytest.mark.parametrize("noise", [0.0, 0.002, 0.02, 0.08])
def test_gpus_that_differ_by_chance_are_no_stragglers(nodes, noise):
    """GPUs at their power limit differ by some percent."""
    for seed in range(30):
        assert causes(gpus(nodes, seed=seed, noise=noise)) == ()


def test_a_gpu_less_than_two_percent_behind_is_none():
    assert causes(gpus(names(4), {("n1", "gpu3"): 0.985}, noise=0.0)) == ()


def test_a_known_cause_at_the_gpu_explains_its_lag():
    slow = gpus(names(2), {("n2", "gpu3"): 0.93})
    found = causes(slow, fact("n2", "gpu_clock_max", "gpu3"))
    assert [cause.cause for cause in found] == ["gpu-clock-limited"]


def test_a_gpu_is_compared_once_and_not_by_its_number_too():
    """Of four nodes each GPU has 31 peers; its number alone would give it three."""
    found = every_standing(findings(gpus(names(4))))
    assert len(found) == 2 * 4 * 8
    assert {one.alone for one in found} == {"computing rate", "bandwidth"}
    assert all(not one.suspects and one.repeats == 1 for one in found)


def test_copies_over_links_and_slots_are_not_compared_between_gpus():
    """A GPU's slot may be farther from the host than another's."""
    hosts = [
        measured(record(3, "gpu_host_bandwidth", node, part=gpu), 340.0 if gpu == "gpu0" else 400.0)
        for node in names(2) for gpu in GPUS
    ]  # fmt: skip
    assert every_standing(findings(hosts)) == []


def test_a_thousand_nodes_take_seconds():
    scene = gpus(names(1000), {("n7", "gpu2"): 0.95})
    began = time.process_time()
    found = every_standing(findings(scene))
    assert time.process_time() - began < 5
    assert max(found, key=lambda one: one.behind).node == "n7"

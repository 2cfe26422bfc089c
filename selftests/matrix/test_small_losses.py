"""The model and small losses: those of a straggler are named as they are, smaller ones are not."""

from __future__ import annotations

import math
from random import Random

import pytest
import straggler_seeds
from healthy_seeds import bench
from healthy_seeds_lab import InProcessLab, using_lab

from railgauge.diagnosis.slow import inferred
from railgauge.diagnosis.slow.constants import When

DIFFER = 1.04
"""Per cent by which healthy like parts differ: document 002."""


def inference(platform, level, *faults, seed=1):
    lab = InProcessLab(platform, injected=faults)
    with using_lab(lab):
        return inferred(straggler_seeds.results(bench(lab, level), seed))


def best(one):
    parts = one.model.evidence.parts
    return [
        (parts[f.part].node, parts[f.part].device, f.when, round(1 - math.exp(f.share), 3))
        for f in one.weighed.best
    ]


@pytest.mark.parametrize("seed", [1, 2])
def test_a_loss_of_one_per_cent_is_fitted_as_it_is_and_not_named(seed):
    """Its slowest readings alone show two per cent."""
    one = inference("h200", "nightly", "slow-node@h200-02=1%", seed=seed)
    ((node, device, _, lost),) = best(one)
    assert (node, device, lost) == ("h200-02", "", 0.01)
    assert one.found_parts == ()


@pytest.mark.parametrize("share", [3, 6])
def test_a_slow_link_that_collectives_use_is_told_from_a_gpu_that_is_slow_at_times(share):
    one = inference("mi300x", "nightly", f"slow-xgmi@mi02:0>7={share}%")
    (link,) = one.found_parts
    assert link.is_decided
    assert (link.part.node, link.part.device, link.when) == ("mi02", "gpu0>gpu7", When.ALWAYS)


def test_two_stragglers_of_different_nodes_are_both_named():
    faults = ("slow-nic@mx02:mlx5_1=3%", "slow-gpu@mx03:3=4%")
    found = inference("metax-c500", "smoke", *faults).found_parts
    decided = {(one.part.node, one.part.device) for one in found if one.is_decided}
    assert decided == {("mx02", "mlx5_1"), ("mx03", "gpu3")}


@pytest.mark.parametrize("kind", ["nic", "gpu"])
@pytest.mark.parametrize("seed", [1, 2])
def test_like_parts_that_differ_as_healthy_ones_do_are_no_stragglers(kind, seed):
    random, lab = Random(seed), InProcessLab("metax-c500")
    nics = [nic.name for nic in lab.platform.fabric_nics]
    devices = nics if kind == "nic" else range(lab.platform.gpus.count)
    faults = [
        f"slow-{kind}@{node}:{device}={random.uniform(0.1, DIFFER):.2f}%"
        for node in lab.nodes
        for device in devices
    ]
    uneven = InProcessLab("metax-c500", injected=faults)
    with using_lab(uneven):
        assert list(straggler_seeds.alarms(bench(uneven, "smoke"), seed)) == []

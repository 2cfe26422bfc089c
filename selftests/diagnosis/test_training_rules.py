"""Causes that only a training shows: late ranks, hosts that keep GPUs waiting, wrong bits."""

from __future__ import annotations

from dataclasses import replace

import pytest
from testing.diagnose_scenes import causes, collective, corrupt, healthy, measured, named, record

from railgauge.core.model import Judgement, Outcome
from railgauge.judging.record import ItemRecord


def training(metric: str, *nodes: str, part: str = "", misses: bool = True) -> ItemRecord:
    """An item of a training that misses its limit, or keeps it."""
    subject = "node_training" if len(nodes) == 1 else "pair_training"
    outcome = Outcome.FAILED if misses else Outcome.PASSED
    reported = Judgement(
        metric, outcome, "1", ">= 2", "derived: x", reason="1 is below 2" if misses else "",
        worst=1.0, margin=-0.5 if misses else 0.1,
    )  # fmt: skip
    item = record(5, subject, *nodes, part=part, outcome=outcome, reason=reported.reason)
    return replace(item, id=f"{item.id}-{metric}", judgements=(reported,))


def test_a_late_rank_is_named_and_explains_the_speed_of_the_whole() -> None:
    found = causes(
        training("compute_tflops", "n2", part="gpu3"),
        training("compute_tflops", "n2", part="gpu4", misses=False),
        training("model_tflops", "n2"),
        training("model_tflops", "n1", "n2"),
        training("scaling", "n1", "n2"),
    )
    assert named(found) == [("late-rank", "n2, gpu3")]
    assert len(found[0].explains) == 3


def test_a_host_that_starves_its_loader_is_named() -> None:
    found = causes(training("load_share", "n2"), training("load_share", "n1", "n2"))
    assert named(found) == [("starved-loader", "n2")]


def test_a_gpu_that_is_slow_alone_is_no_late_rank() -> None:
    alone = measured(record(3, "gpu_matrix_bf16", "n2", part="gpu3"), 10.0, metric="tflops")
    found = causes(alone, training("compute_tflops", "n2", part="gpu3"))
    assert "late-rank" not in {cause.cause for cause in found}


@pytest.mark.parametrize("nodes", [("n2",), ("n1", "n2")])
def test_a_gpu_with_other_bits_is_the_cause_also_between_nodes(nodes: tuple[str, ...]) -> None:
    bad = corrupt(nodes, "node_replay" if len(nodes) == 1 else "pair_replay")
    says = "n1: mpirun: host2 gpu3: other bits from step 7 on, first in layer2.up (data-corruption)"
    judged = replace(bad.judgements[0], reason=says)
    known = replace(healthy("n2"), hostname="host2")
    found = causes(replace(bad, judgements=(judged,), reason=says), facts=(known,))
    assert named(found) == [("data-corruption", "n2, gpu3")]


def test_two_halves_without_a_named_gpu_leave_both_nodes_open() -> None:
    found = causes(corrupt(("n1", "n2"), "pair_replay"), collective(("n1",), 392))
    assert [cause.cause for cause in found] == ["data-corruption"]
    assert "n1" in found[0].where.node
    assert "n2" in found[0].where.node

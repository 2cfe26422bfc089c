"""Rung 0: GPUs that are absent, and the facts that differ because the others took their numbers."""

from dataclasses import replace

import pytest
from testing.diagnose_scenes import causes, fact, healthy, named, names, unknown

from railgauge.diagnosis.catalogue.effect import PLACE_FACTS
from railgauge.planning.expectations import EXPECTATIONS


def without_gpu(node, index):
    facts = healthy(node)
    return replace(facts, gpus=tuple(gpu for gpu in facts.gpus if gpu.index != index))


def test_a_missing_gpu_is_found_by_its_slot():
    count = fact("n2", "gpu_count", measured="7")
    gone = unknown("n2", "gpu_model", "gpu7")
    found = causes(count, gone, facts=[without_gpu("n2", 4)], nodes=names(3))
    assert named(found) == [("gpu-missing", "n2, gpu4")]
    assert set(found[0].evidence) == {count.id, gone.id}
    assert "gpu4 is absent" in found[0].says


def test_a_missing_gpu_is_found_by_the_slots_of_the_platform_file():
    facts = healthy("n1", "mi300x")
    slots = [gpu for gpu in facts.gpus if gpu.index != 2]
    declared = _slots("mi300x")
    moved = [replace(gpu, bus_id=declared[gpu.index].upper()) for gpu in slots]
    there = replace(facts, gpus=tuple(moved))
    count = fact("n1", "gpu_count", measured="7")
    assert named(causes(count, facts=[there], on="mi300x")) == [("gpu-missing", "n1, gpu2")]


def _slots(on):
    from testing.diagnose_scenes import platform  # noqa: PLC0415

    return platform(on).gpus.bus_ids


@pytest.mark.parametrize("subject", sorted(PLACE_FACTS - {"gpu_nic_link"}))
def test_what_differs_because_gpus_took_other_numbers_is_no_cause_of_its_own(subject):
    count = fact("n2", "gpu_count", measured="7")
    moved = [fact("n2", subject, f"gpu{gpu}", measured="another") for gpu in range(7)]
    found = causes(count, *moved, facts=[without_gpu("n2", 0)], nodes=names(3))
    assert named(found) == [("gpu-missing", "n2, gpu0")]


def test_each_fact_that_is_declared_gpu_by_gpu_is_one_of_its_place():
    declared = {name for name, found in EXPECTATIONS.items() if "{gpu}" in found.declared}
    assert declared <= PLACE_FACTS


def test_complete_nodes_are_not_blamed_for_what_differs_where_a_gpu_is_missing():
    """Half of the nodes lack a GPU, so that the others are no majority."""
    counts = [fact(node, "gpu_count", measured="7") for node in ("n3", "n4")]
    measured_ = {"n1": "0", "n2": "0", "n3": "1", "n4": "1"}
    moved = [fact(node, "gpu_numa", "gpu3", measured=numa) for node, numa in measured_.items()]
    facts = [healthy("n1"), healthy("n2"), without_gpu("n3", 3), without_gpu("n4", 3)]
    found = causes(*counts, *moved, facts=facts, nodes=names(4), on="mi300x")
    assert {cause.cause for cause in found} == {"gpu-missing"}
    unlike = replace(moved[1], judgements=(replace(moved[1].judgements[0], measured="2"),))
    found = causes(*counts, moved[0], unlike, *moved[2:], facts=facts, nodes=names(4), on="mi300x")
    assert "nodes-differ" in {cause.cause for cause in found}, "the complete nodes differ too"


def test_no_gpu_is_named_if_no_node_has_all_its_gpus():
    broken = [without_gpu("n1", 4), without_gpu("n2", 5)]
    found = causes(fact("n1", "gpu_count"), facts=broken)
    assert named(found) == [("gpu-missing", "n1")]


def test_gpus_that_could_not_be_counted_are_not_missing():
    found = causes(unknown("n2", "gpu_count"), unknown("n2", "gpu_model", "gpu0"))
    assert [cause.cause for cause in found] == ["undiagnosed"]


def test_memory_errors_beside_a_missing_gpu_are_a_cause_of_their_own():
    found = causes(fact("n2", "gpu_count"), fact("n2", "gpu_ecc_errors", "gpu1"))
    assert [cause.cause for cause in found] == ["gpu-missing", "gpu-memory-errors"]

"""A limit on stragglers: missed, kept, in doubt, or nothing to compare with."""

from __future__ import annotations

from dataclasses import replace

import pytest
import straggler_seeds
from healthy_seeds import bench
from healthy_seeds_lab import InProcessLab, using_lab
from straggler_seeds import healthy

from railgauge.core.model import Outcome
from railgauge.diagnosis import RunResults, behind_peers

PLATFORM = "metax-c500"
ONE, TWO, THREE, FOUR = NODES = ("mx01", "mx02", "mx03", "mx04")


def run(*faults: str, platform: str = PLATFORM, count: int | None = None) -> RunResults:
    lab = InProcessLab(platform, count=count, injected=faults)
    with using_lab(lab):
        return straggler_seeds.results(bench(lab, "smoke"), 1)


def without(results: RunResults, *nodes: str) -> RunResults:
    """The run without what was measured on these nodes."""
    kept = {k: v for k, v in results.records.items() if not set(nodes).intersection(v.nodes)}
    return replace(results, records=kept)


def items(results: RunResults):
    return {item.nodes[0]: item for item in behind_peers.compared(results)}


def outcomes(results: RunResults) -> list[Outcome]:
    return [item.outcome for item in items(results).values()]


def test_a_healthy_run_keeps_it():
    assert healthy(PLATFORM, "smoke", 2).alarms == ()
    (judged,) = items(run())[ONE].judgements
    assert (judged.measured, judged.limit) == ("0.0 %", "<= 3 %")


@pytest.mark.parametrize(
    "fault", ["slow-node@mx02=4.5%", "slow-nic@mx02:mlx5_1=4.5%", "slow-gpu@mx02:3=4.5%"]
)
def test_a_part_further_behind_misses_it_and_its_partners_keep_it(fault):
    found = items(run(fault))
    passed = Outcome.PASSED
    assert [found[node].outcome for node in NODES] == [passed, Outcome.FAILED, passed, passed]
    (judged,) = found[TWO].judgements
    assert judged.measured == "4.5 %"
    assert "mx02" in found[TWO].reason
    assert found[TWO].reason.endswith("limit <= 3 %")


def test_a_straggler_within_it_is_marginal():
    assert items(run("slow-node@mx02=2.5%"))[TWO].outcome is Outcome.MARGINAL


def test_two_slow_nodes_of_four_miss_it():
    """The fastest are healthy, however many are slow."""
    found = outcomes(run("slow-node@mx02=4.5%", "slow-node@mx03=4.5%"))
    assert found == [Outcome.PASSED, Outcome.FAILED, Outcome.FAILED, Outcome.PASSED]


def test_suspects_that_were_measured_only_together_are_all_in_doubt():
    results = run("slow-nic@mx02:mlx5_1=4.5%")
    pairs = ({ONE, TWO}, {THREE, FOUR})
    kept = {k: v for k, v in results.records.items() if set(v.nodes) in pairs}
    found = items(replace(results, records=kept))
    assert {node for node, one in found.items() if one.outcome is Outcome.ERROR} == {ONE, TWO}
    assert "the evidence fits" in found[ONE].reason
    assert found[ONE].remedy.startswith("measure ")


def test_a_node_that_nothing_was_measured_of_is_not_passed():
    found = items(without(run(), FOUR))
    assert [found[node].outcome for node in NODES[:3]] == [Outcome.PASSED] * 3
    assert found[FOUR].outcome is Outcome.ERROR
    assert "nothing was measured" in found[FOUR].reason


def test_two_nodes_alone_are_compared_with_nothing():
    assert outcomes(without(run(), THREE, FOUR)) == [Outcome.ERROR] * 4


def test_a_slow_path_is_no_part_of_a_node():
    found = run("slow-path@mx02:mx03=4.5%")
    assert outcomes(found) == [Outcome.PASSED] * 4


def test_fewer_than_three_nodes_or_no_limit_give_no_item():
    assert items(run(count=2)) == {}
    found = run()
    assert items(replace(found, platform=replace(found.platform, peers=None))) == {}

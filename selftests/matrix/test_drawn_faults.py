"""The model of slow parts finds what its own readings were drawn from."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random

import pytest
from healthy_seeds import begun
from healthy_seeds_lab import InProcessLab

from railgauge.core.model import Judgement, Outcome
from railgauge.diagnosis import RunResults
from railgauge.diagnosis.slow import inferred
from railgauge.diagnosis.slow.constants import When
from railgauge.diagnosis.slow.faults import PartFault, joined
from railgauge.diagnosis.slow.known import KnownCause
from railgauge.diagnosis.slow.places import Places
from railgauge.planning import plan, sample
from railgauge.tools import form
from railgauge.tools.form import ClusterPart, KindOfPart, Layout, ToolFigure
from railgauge.tools.metric import HIGHER

HEALTHY, NOISE = 100.0, 0.002


class Drawn:
    """Faults of a lab, and a run whose figures are what the forms predict of them."""

    def __init__(self, platform: str, nodes: int, seed: int, count: int) -> None:
        self.random = Random(seed)
        self.lab = InProcessLab(platform, count=nodes)
        level = sample.level(self.lab.platform, self.lab.cluster, "smoke", 2, sampled=False)
        cases = [case for _, case in plan.cases(self.lab.platform, level)]
        self.items = [item for case in cases for item in begun(self.lab, case)]
        self.layout = Layout.of(self.lab.platform)
        parts = sorted({part for item in self.items for part in self._parts(item)})
        some = [part for part in parts if part.kind not in (KindOfPart.LINK, KindOfPart.PCIE)]
        chosen = [self.random.choice(some)]
        while len(chosen) < count:  # of two parts of a node it is not always known which are slow
            nodes = {node for part in chosen for node in part.nodes}
            chosen.append(self.random.choice([p for p in some if nodes.isdisjoint(p.nodes)]))
        self.faults = {part: -self.random.uniform(0.05, 0.25) for part in chosen}

    def _form(self, item):
        question = item.questions[0]
        measurement = self.lab.platform.measurements[item.subject]
        asserted = measurement.asserts[0].metric
        figure = ToolFigure(
            question.case, measurement, self.layout, asserted, question.placement or ""
        )
        return form(figure)

    def _parts(self, item):
        found = self._form(item)
        return [p for stage in found.stages for chain in stage for p in chain] if found else []

    def results(self, *, varying: bool = False, at_times: dict | None = None) -> RunResults:
        """``varying``: each case has a share of its own of each loss. ``at_times`` are losses of
        parts in four of ten cases, beside those that are always there."""
        records = {}
        for item in self.items:
            found = self._form(item)
            if found is None:
                continue
            numbers = {part: number for number, part in enumerate(self.faults)}
            level = Random(item.questions[0].case.key).random() if varying else 1.0
            losses = tuple((numbers[part], level * share) for part, share in self.faults.items())
            if at_times and Random(item.questions[0].case.key).random() < 0.4:
                losses = joined((*losses, *((numbers[p], share) for p, share in at_times.items())))
            share, _ = Places.of(found, numbers).predicted(losses, adds=True)
            value = HEALTHY * math.exp(share) * self.random.gauss(1, NOISE)
            failed = value < 0.93 * HEALTHY
            judged = Judgement(
                self.lab.platform.measurements[item.subject].asserts[0].metric,
                Outcome.FAILED if failed else Outcome.PASSED,
                "", "", "", unit="GB/s", values=(value,), floor=0.93 * HEALTHY, better=HIGHER,
            )  # fmt: skip
            records[item.id] = replace(item, judgements=(judged,), outcome=judged.outcome)
        return RunResults(records, {}, self.lab.platform, self.lab.cluster)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("platform", ["metax-c500", "h100-tcpx"])
def test_faults_drawn_from_the_model_are_found_again(platform, seed):
    """Each is decided or among the suspects, and no other part is decided."""
    drawn = Drawn(platform, 4 + seed % 2, seed, 1 + seed % 2)
    found = inferred(drawn.results()).findings
    decided = {one.part for one in found if one.is_decided}
    suspected = {part for one in found for part in (one.part, *one.rivals)}
    assert decided <= set(drawn.faults)
    assert set(drawn.faults) <= suspected


@pytest.mark.parametrize("seed", range(3))
def test_a_loss_that_varies_is_one_fault(seed):
    drawn = Drawn("mi300x", 5, seed, 1)
    node = drawn.random.choice(drawn.lab.cluster.nodes).name
    drawn.faults = {ClusterPart(KindOfPart.NODE, node): -0.3}
    (found,) = inferred(drawn.results(varying=True)).findings
    assert found.is_decided
    assert (found.part.kind, found.part.node, found.when) == ("node", node, When.VARYING)


def test_two_faults_of_one_part_are_both_found_and_counted_apart():
    drawn = Drawn("mi300x", 5, 4, 1)
    node = ClusterPart(KindOfPart.NODE, drawn.lab.cluster.nodes[2].name)
    drawn.faults = {node: -0.05}
    found = {one.when: one for one in inferred(drawn.results(at_times={node: -0.2})).findings}
    assert set(found) == {When.ALWAYS, When.AT_TIMES}
    assert {one.part for one in found.values()} == {node}
    assert found[When.ALWAYS].slow == found[When.ALWAYS].of
    assert 0.2 < found[When.AT_TIMES].slow / found[When.AT_TIMES].of < 0.6


def test_a_healthy_cluster_has_no_finding():
    drawn = Drawn("metax-c500", 4, 1, 1)
    drawn.faults = {}
    assert inferred(drawn.results()).findings == ()


def test_what_a_fact_shows_explains_a_loss_away():
    """Two ends and their path explain one slow pair alike, until a fact shows one of them."""
    drawn = Drawn("connectx4-homelab", 2, 3, 1)
    (slow,) = [p for item in drawn.items for p in drawn._parts(item) if p.kind is KindOfPart.NODE][
        :1
    ]
    drawn.faults = {slow: -0.2}
    results = drawn.results()
    before = inferred(results)
    (open_one,) = before.findings
    assert not open_one.is_decided
    other = next(part for part in (open_one.part, *open_one.rivals) if part.kind is KindOfPart.NODE)
    shown = KnownCause(
        "link-error-rate", frozenset({other.node}), frozenset(), "", lambda item: bool(item.nodes)
    )
    assert inferred(results, [shown]).findings == ()


def test_the_probabilities_of_courses_sum_to_one():
    for when in (When.ALWAYS, When.SINCE, When.AT_TIMES):
        weights = [math.exp(weight) for weight, _ in PartFault(0, when, -0.1, 0.3).states]
        assert sum(weights) == pytest.approx(1)


def test_a_nic_that_sends_even_more_slowly_may_be_two_slow_directions():
    """Both explain the same figures, so neither of the two ways to put it is decided."""
    drawn = Drawn("h100-tcpx", 5, 11, 1)
    nic = next(p for item in drawn.items for p in drawn._parts(item) if p.kind is KindOfPart.NIC)
    drawn.faults = {nic: -0.16, replace(nic, kind=KindOfPart.SEND): -0.23}
    found = inferred(drawn.results()).findings
    assert {one.part.kind for one in found if one.is_decided} == {KindOfPart.SEND}
    suspected = {part.kind for one in found for part in (one.part, *one.rivals)}
    assert {KindOfPart.NIC, KindOfPart.SEND, KindOfPart.RECEIVE} <= suspected

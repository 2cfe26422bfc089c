"""The noise of a run is what its likeliest slow parts leave unexplained."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from test_quick_model import Drawn

from railgauge.diagnosis.slow import inferred
from railgauge.tools.form import KindOfPart

NOISY = "gpu_link_bandwidth"


def noisy(drawn, spread: float):
    """The drawn results, of which one measurement varies by more."""
    results, random = drawn.results(), Random(5)
    records = dict(results.records)
    for item, record in records.items():
        if record.subject == NOISY:
            (judged,) = record.judgements
            values = tuple(one * random.gauss(1, spread) for one in judged.values)
            records[item] = replace(record, judgements=(replace(judged, values=values),))
    return replace(results, records=records)


@pytest.mark.parametrize("seed", range(3))
def test_no_part_is_found_in_the_noise_of_a_measurement(seed):
    drawn = Drawn("mi300x", 4, seed, 1)
    drawn.faults = {}
    assert inferred(noisy(drawn, 0.03)).findings == ()


@pytest.mark.parametrize("seed", range(3))
def test_a_slow_part_is_found_beside_the_noise_of_another_measurement(seed):
    drawn = Drawn("mi300x", 4, seed, 1)
    nic = next(p for item in drawn.items for p in drawn._parts(item) if p.kind is KindOfPart.NIC)
    drawn.faults = {nic: -0.1}
    found = inferred(noisy(drawn, 0.03)).findings
    assert [one.part for one in found if one.is_decided] == [nic]


def test_noise_of_one_measurement_does_not_make_another_one_blind():
    """Readings that vary as usual keep their noise: a small loss of theirs counts."""
    drawn = Drawn("mi300x", 4, 1, 1)
    nic = next(p for item in drawn.items for p in drawn._parts(item) if p.kind is KindOfPart.NIC)
    drawn.faults = {nic: -0.03}
    (one,) = inferred(noisy(drawn, 0.03)).findings
    assert nic in (one.part, *one.rivals)


def test_a_slow_part_is_no_noise():
    """Half of the nodes slow: their readings vary, but not beside their causes."""
    drawn = Drawn("mi300x", 4, 2, 1)
    nodes = [p for item in drawn.items for p in drawn._parts(item) if p.kind is KindOfPart.NODE]
    drawn.faults = dict.fromkeys(sorted(set(nodes))[:2], -0.15)
    found = {one.part for one in inferred(drawn.results()).findings if one.is_decided}
    assert found == set(drawn.faults)

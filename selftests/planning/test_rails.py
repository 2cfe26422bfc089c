"""Measurements of all rails of a pair at once: their cases, duration, ceiling, and bad input."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from testing.core_values import ROOT, cluster

from railgauge.config import thresholds
from railgauge.config.thresholds.physics import pcie_gbps, physical_ceiling
from railgauge.core.errors import RailgaugeError
from railgauge.core.model import Pairing
from railgauge.planning import forecast, plan
from railgauge.planning.forecast import Work

NAME = "gpu_write_bandwidth_rails"


@pytest.fixture(scope="module")
def h200():
    return thresholds.load("h200", ROOT / "thresholds")


@pytest.fixture(scope="module")
def signoff(h200):
    return plan.level(h200, cluster("n1", "n2"), "signoff")


def test_a_sign_off_measures_rails_by_themselves_and_together(h200, signoff):
    names = [one.measurement for _, one in plan.cases(h200, signoff)]
    nics, ways = len(h200.fabric_nics), 2
    assert names.count(NAME) == nics * ways
    assert names.count("gpu_write_bandwidth") == nics * nics * ways
    assert not h200.measurements[NAME].made_at("smoke")
    assert not h200.measurements[NAME].made_at("nightly")


def test_the_cases_of_a_pair_are_measured_with_each_other(h200, signoff):
    made = [one for _, one in plan.cases(h200, signoff) if one.measurement == NAME]
    pair = [one for one in made if one.nodes == made[0].nodes]
    for one in pair:
        assert set(plan.measured_with(one, h200, "signoff")) == set(pair)
    assert len({one.pairing.nic for one in pair}) == len(pair)


def test_other_cases_are_measured_alone(h200, signoff):
    other = next(one for _, one in plan.cases(h200, signoff) if one.measurement != NAME)
    assert plan.measured_with(other, h200, "signoff") == (other,)


def test_rails_together_take_as_long_as_one(h200, signoff):
    work = next(one for one in forecast.work(h200, signoff) if one.measurement.name == NAME)
    alone = replace(work.measurement, together=False)
    apart = Work(alone, work.waves, work.paths, work.sizes, work.repeats)
    assert work.takes_s() * work.paths == pytest.approx(apart.takes_s())
    assert work.takes_s() == pytest.approx(work.runs * work.case_s)


def test_the_ports_of_one_card_share_its_slot(h200):
    """A card with two ports of 400 Gb/s in one slot of 504 Gb/s: 252 Gb/s each, both at once."""
    ports = [
        replace(nic, pci_address=f"0000:18:00.{function}")
        for function, nic in enumerate(h200.fabric_nics[:2])
    ]
    other = replace(h200.fabric_nics[2], pci_address="0000:2a:00.0")
    site = replace(h200, nics=(*ports, other))
    measurement = h200.measurements[NAME]
    limit = measurement.limits[0]
    slot = pcie_gbps(ports[0].pcie_generation, ports[0].pcie_width)

    def ceiling(nic, **changes):
        return physical_ceiling(site, replace(measurement, **changes), Pairing(nic.name, 0), limit)

    assert ceiling(ports[0]) == pytest.approx(slot / 2)
    assert ceiling(ports[0], together=False) == pytest.approx(400.0)
    assert ceiling(other) == pytest.approx(400.0)


def load(tmp_path, **changes):
    """The long form of h200 with changes of the measurement of all rails."""
    document = json.loads(thresholds.load("h200", ROOT / "thresholds").text)
    document["measurements"][NAME] |= changes
    path = tmp_path / "h200.json"
    path.write_text(json.dumps(document))
    return thresholds.load_file(path, path.read_text())


TRAFFIC = {"share": [0.9, 1.3], "basis": "derived: what the tool says it moved"}
CROSS = {"signoff": {"sizes": ["8MiB"], "cross_rail": True}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"traffic": TRAFFIC}, "the NICs carry the traffic of all rails at once: remove traffic"),
        ({"levels": CROSS}, "cross_rail would use each NIC several times"),
        ({"scope": "pair"}, "only a measurement of paths has rails"),
        ({"rails": "all"}, "rails"),
    ],
)
def test_settings_without_meaning_for_rails_at_once_are_refused(tmp_path, changes, message):
    with pytest.raises(RailgaugeError, match=message):
        load(tmp_path, **changes)
    assert load(tmp_path).measurements[NAME].together

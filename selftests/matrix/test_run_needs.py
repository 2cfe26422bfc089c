"""What the runs of faults need: storage, leaves and levels, in the matrix and the blind study."""

from __future__ import annotations

from pathlib import Path

import expected_causes
import pytest
import yaml
from blind_draw import costs_speed, drawn
from blind_reach import LEAST_LOST, Visibility, reach
from expected_causes import NEEDS, OF_LADDER, OF_VICTIMS, needs_of
from fault_matrix import declare
from injections import PLATFORMS, injections, limits_of, placed_for_matrix
from testing.acceptance import make_project
from testing.places import ROOT

from railgauge.config import hostfile

FABRIC = (*OF_LADDER, OF_VICTIMS)


def test_a_new_fault_moves_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    before = set(injections("metax-c500", 3))
    fewer = {name: cause for name, cause in expected_causes.CAUSES.items() if name > "g"}
    monkeypatch.setattr("injections.CAUSES", fewer)
    after = set(injections("metax-c500", 3))
    assert after < before
    assert {one.name for one in before - after} == {one.name for one in before if one.name <= "g"}


def test_a_run_has_what_all_of_its_faults_need(tmp_path: Path) -> None:
    names = ("slow-storage", "slow-client", "become-refused", "slow-leaf", "nic-idle-in-training")
    needs = needs_of(names)
    assert (needs.level, needs.leaves, needs.nodes) == ("signoff", 4, 8)
    project = make_project(tmp_path / "project")
    declare(project, "h200", needs)
    path = project.folder / "hostfiles" / "lab-h200.yaml"
    written = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert written["storage"].keys() == {"scratch", "pool"}
    assert written["become"] == "sudo -n"
    assert written["groups"]["leaf04"] == "h200-07,h200-08"
    assert ",".join(written["groups"].values()).split(",") == written["nodes"]
    loaded = hostfile.load(path, schema_file=ROOT / "hostfiles" / "schema.json")
    assert (len(loaded.groups), loaded.storage.keys()) == (4, {"scratch", "pool"})


@pytest.mark.parametrize("platform", PLATFORMS)
def test_only_a_platform_with_the_measurement_has_the_fault(platform: str) -> None:
    found = {one.name: one for one in injections(platform, 1)}
    for name, needs in NEEDS.items():
        if needs.measurements:
            measured = limits_of(platform).measurements.keys() >= set(needs.measurements)
            assert (name in found) == measured, name
    for one in (found[name] for name in FABRIC if name in found):
        assert placed_for_matrix((one,)) == ((one,), 8)
        assert len(one.nodes) == (2 if one.name in ("slow-leaf", OF_VICTIMS) else 0)


def test_the_study_draws_the_faults_of_the_fabric_in_runs_that_show_them() -> None:
    runs = [drawn(5, number, "smoke", ["h200"], [*FABRIC, "slow-nic"]) for number in range(30)]
    of_fabric = [run for run in runs if any(one.name in FABRIC for one in run.injected)]
    assert of_fabric
    for run in of_fabric:
        assert (run.level, run.nodes) == ("signoff", 8)
        assert "4 of two nodes" in run.command
        (fault,) = [one for one in run.injected if one.name in FABRIC]
        assert not any(map(costs_speed, run.injected)), "it would slow the step of all nodes"
        visible = reach(run, fault).visibility
        assert visible is (Visibility.BELOW if _lost(fault.fault) < 8 else Visibility.LIMITS)
    rest = [run for run in runs if run not in of_fabric]
    assert {run.level for run in rest} == {"smoke"}


def _lost(fault: str) -> float:
    return float(fault.partition("=")[2].rstrip("%") or 100)


def test_the_least_visible_loss_is_that_of_the_limits() -> None:
    (scaling,) = limits_of("h200").measurements["scaling_all_reduce"].limits
    storage = needs_of(["slow-storage", "slow-client"]).hostfile["storage"]
    assert {LEAST_LOST[name] for name in OF_LADDER} == {round(100 * (1 - scaling.floor))}
    assert LEAST_LOST["slow-client"] == 1 + int(100 * (1 - storage["pool"]["fairness"]))
    written = storage["scratch"]["write_mb_per_s"]
    assert LEAST_LOST["slow-storage"] == round(100 * (1 - written / 4000))

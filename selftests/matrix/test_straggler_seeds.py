"""Simulated runs for the page of stragglers: what counts as named, and what a healthy run is."""

import pytest
import straggler_seeds
from healthy_seeds_lab import Stage
from straggler_seeds import NAMED, NODE, OTHER, SILENT, came_of, healthy, run, struck
from strikes import PLATFORMS, ROOT
from testing.diagnose_scenes import causes, names
from testing.straggler_scenes import MANY
from testing.straggler_scenes import run as scene

from railgauge.lab import faults


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_healthy_lab_has_no_straggler(platform):
    assert healthy(platform, "smoke", 3).alarms == ()


def fault(text, device=""):
    found = faults.parse(text, list(MANY))
    return faults.Fault(found.name, found.node, device) if device else found


@pytest.mark.parametrize(
    ("wanted", "slow", "word"),
    [
        (fault("slow-node@n2"), {"n2": 0.96}, NAMED),
        (fault("slow-nic@n2", "mlx5_1"), {("n2", "mlx5_1"): 0.96}, NAMED),
        (fault("slow-nic@n2", "mlx5_0"), {("n2", "mlx5_1"): 0.96}, NODE),
        (fault("slow-nic@n2", "mlx5_0"), {"n2": 0.96}, NODE),
        (fault("slow-node@n3"), {"n2": 0.96}, OTHER),
        (fault("slow-node@n2"), {}, SILENT),
    ],
)
def test_what_came_of_it(wanted, slow, word):
    assert came_of(wanted, causes(scene(MANY, slow)), one_nic=False) == word


def test_a_node_with_one_nic_cannot_be_told_from_it():
    found = causes(scene(MANY, {"n2": 0.96}))
    assert came_of(fault("slow-nic@n2", "mlx5_0"), found, one_nic=True) == NAMED


def test_a_slow_node_of_a_lab_is_named_and_the_page_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(straggler_seeds, "SHARES", (1.0, 4.5))
    monkeypatch.setattr(straggler_seeds, "SLOW_SEEDS", {"smoke": 1})
    target = tmp_path / "page.md"
    options = ["--platform", "connectx4-homelab", "--level", "smoke", "--seeds", "2"]
    assert run([*options, "--page", str(target)]) == 0
    said = target.read_text(encoding="utf-8")
    assert "| connectx4-homelab | smoke | slow-node | silent | named |" in said
    assert "| connectx4-homelab | smoke | 2 | 0 | 0 (below 1.0e+00) |" in said
    assert "slow-gpu" not in capsys.readouterr().out


def test_a_false_alarm_is_an_exit_code(monkeypatch):
    class Inline:
        def __init__(self, _jobs):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        map = staticmethod(map)

    monkeypatch.setattr(straggler_seeds, "ProcessPoolExecutor", Inline)
    alarmed = causes(scene(names(4), {"n2": 0.96}))
    monkeypatch.setattr(straggler_seeds, "causes", lambda *_: alarmed)
    options = ["--platform", "connectx4-homelab", "--level", "smoke", "--seeds", "1", "--no-slow"]
    assert run(options) == 1


def test_the_fault_is_on_the_part_that_is_looked_for():
    stage = Stage("h200")
    done = struck(stage, "slow-nic=4%")
    devices = stage.nodes[done.node]["devices"]
    assert {name for name, one in devices.items() if one["speed"] < 1} == {done.device}


def test_the_published_page_has_no_straggler_in_a_healthy_run():
    said = (ROOT / "docs" / "stragglers.md").read_text(encoding="utf-8")
    healthy_rows = said.partition("## Slow parts")[0]
    rows = [line.split(" | ") for line in healthy_rows.splitlines() if line.startswith("| ")][2:]
    assert [row[0].removeprefix("| ") for row in rows if row[1] == "smoke"] == list(PLATFORMS)
    assert {(row[2], row[3]) for row in rows if row[1] == "smoke"} == {("1,000", "0")}
    assert "another node named |" not in said
    assert "4.5 % | 6 %" in said

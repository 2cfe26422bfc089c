"""Simulated runs for the page of stragglers: healthy runs, and what counts as named."""

import pytest
import straggler_seeds
from healthy_seeds import bench, rate
from healthy_seeds_lab import InProcessLab, using_lab
from injections import PLATFORMS, ROOT
from straggler_seeds import (
    NAMED,
    NODE,
    OTHER,
    SILENT,
    alarms,
    apply_fault,
    healthy,
    outcome_of,
    run,
)
from testing.diagnose_scenes import causes
from testing.straggler_scenes import MANY
from testing.straggler_scenes import run as scene

from railgauge_lab import faults


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_healthy_lab_has_no_straggler(platform):
    assert healthy(platform, "smoke", 3).alarms == ()


def test_a_straggler_and_the_limit_that_it_misses_are_alarms():
    lab = InProcessLab("metax-c500", injected=("slow-node@mx02=4.5%",))
    with using_lab(lab):
        cause, item = alarms(bench(lab, "smoke"), 1)
    assert cause.startswith("straggler mx02")
    assert item.startswith("peers::behind_peers[mx02]")


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
def test_the_outcome_says_which_part_was_named(wanted, slow, word):
    assert outcome_of(wanted, causes(scene(MANY, slow)), one_nic=False) == word


def test_a_slow_node_counts_for_its_only_nic():
    found = causes(scene(MANY, {"n2": 0.96}))
    assert outcome_of(fault("slow-nic@n2", "mlx5_0"), found, one_nic=True) == NAMED


def test_the_page_shows_that_a_slow_node_of_a_lab_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(straggler_seeds, "SHARES", (1.0, 4.5))
    monkeypatch.setattr(straggler_seeds, "SLOW_SEEDS", {"smoke": 1})
    target = tmp_path / "page.md"
    options = ["--platform", "connectx4-homelab", "--level", "smoke", "--seeds", "2"]
    assert run([*options, "--page", str(target)]) == 0
    text = target.read_text(encoding="utf-8")
    assert "| connectx4-homelab | smoke | slow-node | silent | named |" in text
    assert "| connectx4-homelab | smoke | 2 | 0 | 0 (below 1.0e+00) |" in text
    assert "slow-gpu" not in capsys.readouterr().out


def test_a_false_alarm_gives_exit_code_1(monkeypatch):
    class Inline:
        def __init__(self, _jobs):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        map = staticmethod(map)

    monkeypatch.setattr(straggler_seeds, "ProcessPoolExecutor", Inline)
    monkeypatch.setattr(straggler_seeds, "alarms", lambda *_: ["straggler n2"])
    options = ["--platform", "connectx4-homelab", "--level", "smoke", "--seeds", "1", "--no-slow"]
    assert run(options) == 1


def test_the_fault_is_applied_to_the_named_device():
    lab = InProcessLab("h200")
    done = apply_fault(lab, "slow-nic=4%")
    devices = lab.nodes[done.node]["devices"]
    assert {name for name, one in devices.items() if one["speed"] < 1} == {done.device}


def test_the_published_page_has_no_straggler_in_a_healthy_run():
    text = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
    section = text.partition("\n## Slow parts within their limits\n")[2].partition("\n## ")[0]
    words = " ".join(section.split())
    assert (
        "In 1,000 healthy runs of each platform at level smoke no part was named: "
        f"{rate(0, 1000)[:-1]} a run)."
    ) in words
    assert "No other node was named." in words
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| ")]
    assert [f"{share:g} %" for share in straggler_seeds.SHARES] == [
        cell.removesuffix(" |") for cell in rows[0][2:]
    ]
    assert [row[0].removeprefix("| ") for row in rows[2:]] == list(PLATFORMS)

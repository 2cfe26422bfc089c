"""A run that reaches the limit on what it stores: one line, no verdict, and nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from testing.acceptance import BARE, HOMELAB, SMOKE, assert_sound, make_project

WORDS = (*HOMELAB, *SMOKE, *BARE, "--lab-nodes", "2")


def test_a_run_that_stores_too_much_is_carried_on(tmp_path: Path) -> None:
    project = make_project(tmp_path / "site")
    run = project.run(*WORDS, "--disk-limit", "256KiB")
    assert run.code == 3, run.output
    (line,) = [line for line in run.output.splitlines() if "cannot be written" in line]
    assert "the limit of 256KiB for what a run stores is reached (--disk-limit)" in line
    assert f"--resume {run.latest.resolve().name}" in line
    assert not (run.latest / "verdict.json").exists()
    kept = runs_of(run.latest)
    assert any(kept.values())  # what was measured before
    again = project.run("--resume", "latest", *BARE)
    assert_sound(again)
    assert (again.latest / "resumed.jsonl").exists()
    later = runs_of(again.latest)
    for name, runs in kept.items():
        assert later[name][: len(runs)] == runs


def test_workers_that_wait_for_a_measurement_end_too(tmp_path: Path) -> None:
    """They hear of the end though no line can be written of it."""
    project = make_project(tmp_path / "site")
    run = project.run(*HOMELAB, *SMOKE, "-n", "2", "--disk-limit", "500KiB")
    assert run.code == 3, run.output
    assert "the limit of 500KiB for what a run stores is reached (--disk-limit)" in run.output
    assert not (run.latest / "verdict.json").exists()


def runs_of(folder: Path) -> dict[str, list[Any]]:
    """The repeats of each case that are stored."""
    files = (folder / "transcripts").glob("host_*.json")
    return {path.name: json.loads(path.read_text())["runs"] for path in files}


def test_a_limit_that_is_no_size_is_bad_usage(tmp_path: Path) -> None:
    run = make_project(tmp_path / "site").run(*WORDS, "--disk-limit", "much")
    assert run.code == 4
    assert "--disk-limit" in run.output

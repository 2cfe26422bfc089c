"""Interrupted runs: no process is left, and nothing looks accepted."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest
from test_confirm import bundled
from testing.acceptance import HOMELAB, Project, Run, assert_clean
from testing.waiting import wait_until

from railgauge.cli import main

NIGHTLY = (*HOMELAB, "--level", "signoff", "--rounds", "3")
SIX = ("--lab-nodes", "6", "--at-once", "3")
WAYS = {"alone": (), "xdist": ("-n", "2"), "at once": SIX, "shared": (*SIX, "-n", "2")}
START_LIMIT_S = 40.0
END_LIMIT_S = 30.0


def processes_of(folder: Path) -> list[str]:
    """The lab's processes that keep their files below ``folder``."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                place = str((entry / "cwd").readlink())
            except OSError:
                continue
            if str(folder) in command or place.startswith(str(folder)):
                found.append(f"{entry.name} {command}")
    return found


def _measured(transcripts: Path) -> list[Path]:
    """Those of measurements; the counters of the nodes are read before the first one."""
    return [path for path in transcripts.glob("*.json") if not path.name.startswith("growth_")]


class Running:
    """A run in its middle: some cases are measured, most are not."""

    def __init__(self, project: Project, *options: str, level: tuple[str, ...] = NIGHTLY) -> None:
        self.project = project
        self.temporary = project.folder / "tmp"
        self.temporary.mkdir()
        self.output = project.folder / "output.txt"
        about = {"TMPDIR": str(self.temporary)}
        self.process = project.start(self.output, *level, *options, new_session=True, **about)
        transcripts = project.folder / "reports" / "latest" / "transcripts"
        wait_until(lambda: len(_measured(transcripts)) >= 2, START_LIMIT_S, "two cases")
        assert processes_of(self.temporary), "the lab should be running now"

    def end(self, number: signal.Signals) -> Run:
        started = time.monotonic()
        self.process.send_signal(number)
        try:
            code = self.process.wait(END_LIMIT_S)
        finally:
            self.process.kill()
        text = self.output.read_text(errors="replace")
        return Run(self.project, code, text, "", time.monotonic() - started)


@pytest.mark.parametrize("options", WAYS.values(), ids=WAYS)
def test_ctrl_c(project: Project, options: tuple[str, ...]) -> None:
    running = Running(project, *options)
    run = running.end(signal.SIGINT)
    assert run.code == 2, run.output
    assert_clean(run)
    assert run.verdict["verdict"] == "incomplete"
    assert run.counts["not_run"] > 0
    assert run.verdict["counts"]["passed"] > 0
    assert sum(run.counts.values()) == run.verdict["counts"]["planned"]
    assert "INCOMPLETE" in run.words
    assert "ACCEPTED" not in run.words
    assert "INCOMPLETE" in run.html
    assert run.manifest
    assert processes_of(running.temporary) == []
    path = bundled(run.latest, project.folder / "stopped.railgauge")
    assert main(["verify", str(path), "--unsigned"]) == 10
    assert [path.name for path in running.temporary.glob("railgauge-lab-*")] == []


@pytest.mark.parametrize("options", WAYS.values(), ids=WAYS)
def test_killed(project: Project, options: tuple[str, ...]) -> None:
    running = Running(project, *options)
    run = running.end(signal.SIGKILL)
    assert run.code == -signal.SIGKILL
    wait_until(lambda: not processes_of(running.temporary), 30, "the end of the lab")
    assert not (run.latest / "verdict.json").exists()
    assert "ACCEPTED" not in run.output
    for path in (run.latest / "transcripts").glob("*.json"):
        # Complete or absent: the lab dies with pytest; a worker may live a moment longer and
        # record that its nodes are gone.
        result = json.loads(path.read_text(encoding="utf-8"))
        assert result["runs"] or result["error"]
    assert all(line["values"] is not None for line in run.measurements)

"""The wall clock of the control host is set while a run measures: nothing is judged by it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from testing.acceptance import BARE_SMOKE, Project, assert_sound, environment, make_project
from testing.held_tool import HeldTool, held_run, held_tool
from testing.standing_lab import StandingLab, standing_lab

HOUR_S = 3600
# Puts what a file says on top of the wall clock, in all modules of the suite and in time.time. The
# monotonic clock stays, as it does when somebody sets the clock of a machine.
JUMP = """
import sys, time
from datetime import datetime, timedelta
from pathlib import Path

real = time.time

def ahead_s():
    return int(Path("ahead").read_text() or 0)

class Jumping(datetime):
    @classmethod
    def now(cls, tz=None):
        return datetime.now(tz) + timedelta(seconds=ahead_s())

def pytest_sessionstart():
    time.time = lambda: real() + ahead_s()
    for name, module in list(sys.modules.items()):
        if name.startswith("railgauge.") and getattr(module, "datetime", None) is datetime:
            module.datetime = Jumping
"""


@dataclass(frozen=True)
class Field:
    lab: StandingLab
    tool: HeldTool


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Field]:
    folder = tmp_path_factory.mktemp("clock") / "lab"
    with standing_lab(folder, "connectx4-homelab", "--nodes", "3") as lab:
        yield Field(lab, held_tool(lab, "columbia"))


def start_fresh(project: Project, output: Path, *options: str) -> subprocess.Popen[bytes]:
    """Start a run that imports the plugin."""
    with output.open("wb") as file:
        return subprocess.Popen(
            project.command("-p", "jump", *options),
            cwd=project.folder, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
            env=environment(),
        )  # fmt: skip


@pytest.mark.parametrize("jump_s", [HOUR_S, -HOUR_S], ids=["forward", "back"])
def test_the_clock_is_set_by_an_hour(field: Field, tmp_path: Path, jump_s: int) -> None:
    project = make_project(tmp_path / "site")
    project.write("jump.py", JUMP)
    ahead = project.write("ahead", "0")
    words = (*field.lab.hostfile(project), *BARE_SMOKE)
    with held_run(field.tool, project, *words, start=start_fresh) as held:
        ahead.write_text(str(jump_s))
        field.tool.go()
        run = held.end()
    assert_sound(run)
    assert run.verdict["verdict"] == "accepted", run.output
    assert set(run.counts) == {"passed"}
    every = [one for data in run.transcripts.values() for runs in data["runs"] for one in runs]
    assert all(0 <= one["duration_s"] < 60 for one in every)
    begun = sorted(one["started_at"] for one in every)
    assert begun[0][:13] != begun[-1][:13], "the clock was not set"
    # With an hour more, an hour's worth of errors would be allowed.
    grown = [line for line in run.measurements if line["id"].startswith("counters::growth[")]
    assert grown
    assert all("0.00 h" in line["measured"] for line in grown), grown
    assert_bundle_holds(project)


def assert_bundle_holds(project: Project) -> None:
    program = "import sys; from railgauge.cli import main; sys.exit(main())"
    for command in (["bundle", "--unsigned", "-o", "run.railgauge"], ["verify", "run.railgauge"]):
        done = project.execute([sys.executable, "-c", program, *command])
        assert "it stands" in done.output, done.output

"""The wall clock of the control host or of a node is set in a run: only the survey reads it."""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from testing.acceptance import BARE_SMOKE, Project, Run, assert_sound, environment, make_project
from testing.commands import railgauge
from testing.fewer import measuring
from testing.held_tool import HeldTool, held_run, held_tool
from testing.standing_lab import StandingLab, standing_lab

from railgauge_lab.sim import stored

NODE, HOUR_S = "columbia", 3600
FEW = measuring("connectx4-homelab", "host_write_bandwidth", "host_send_latency")
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
        yield Field(lab, held_tool(lab, NODE))


def start_fresh(project: Project, output: Path, *options: str) -> subprocess.Popen[bytes]:
    """Start a run that imports the plugin."""
    with output.open("wb") as file:
        return subprocess.Popen(
            project.command("-p", "jump", *options),
            cwd=project.folder, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
            env=environment(),
        )  # fmt: skip


@contextmanager
def clock_set(lab: StandingLab, ahead_s: int) -> Iterator[None]:
    """In the block, the clock of the node is so far ahead; its uptime counts on."""
    home = lab.home(NODE)
    date, path = home / "bin" / "date", str(home / "node")
    node, real, tool = stored.read(path), date.readlink(), (home / "bin" / "ibstat").readlink()
    tools = {**node["tools"], "date": "clock"}
    stored.write(path, {**node, "clock_ahead_s": ahead_s, "tools": tools})
    link(date, tool)
    try:
        yield
    finally:
        link(date, real)
        stored.write(path, node)


def link(path: Path, target: Path) -> None:
    path.unlink()
    path.symlink_to(target)


BOTH_WAYS = pytest.mark.parametrize("jump_s", [HOUR_S, -HOUR_S], ids=["forward", "back"])


@BOTH_WAYS
def test_the_clock_of_a_node_is_set_by_an_hour(field: Field, tmp_path: Path, jump_s: int) -> None:
    project = make_project(tmp_path / "site")
    FEW(project)
    words = (*field.lab.hostfile(project), *BARE_SMOKE)
    with held_run(field.tool, project, *words) as held, clock_set(field.lab, jump_s):
        printed = subprocess.run(
            [*shlex.split(field.lab.logins[NODE]), "date", "+%s"],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        assert abs(int(printed) - time.time() - jump_s) < HOUR_S / 2, "the clock was not set"
        field.tool.go()
        run = held.end()
        assert_sound(run)
        assert run.verdict["verdict"] == "accepted", run.output
        assert set(run.counts) == {"passed"}
        assert_no_hour_was_counted(run)
        again = project.run("--resume", "latest")
    assert_sound(again)
    assert again.with_outcome("failed") == {f"tests/preflight/test_host.py::test_clock[{NODE}]"}
    assert [cause["cause"] for cause in again.verdict["causes"]] == ["clock-off"]
    assert_bundle_holds(project)


@BOTH_WAYS
def test_the_clock_is_set_by_an_hour(field: Field, tmp_path: Path, jump_s: int) -> None:
    project = make_project(tmp_path / "site")
    FEW(project)
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
    assert 0 <= float(run.junit_suite.attrib["time"]) < HOUR_S / 2
    begun = sorted(one["started_at"] for one in every)
    assert begun[0][:13] != begun[-1][:13], "the clock was not set"
    assert_no_hour_was_counted(run)
    assert_bundle_holds(project)


def assert_no_hour_was_counted(run: Run) -> None:
    """With an hour more, an hour's worth of errors would be allowed."""
    grown = [line for line in run.measurements if line["id"].startswith("counters::growth[")]
    assert grown
    assert all("0.00 h" in line["measured"] for line in grown), grown


def assert_bundle_holds(project: Project) -> None:
    for command in (["bundle", "--unsigned", "-o", "run.railgauge"], ["verify", "run.railgauge"]):
        done = railgauge(project.folder, *command)
        assert "it stands" in done.stdout + done.stderr, done

"""``--prepare`` on a machine that runs out of something while it changes settings: one line, no
verdict, and each setting is as it was or named."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_exhaustion import LACKS
from test_interrupt import processes_of
from test_prepare import BALANCING, SHORT, balancing, undo, with_step
from test_resume import small_disk
from testing.acceptance import BARE_SMOKE, Project, Run, assert_clean
from testing.held_tool import Start
from testing.standing_lab import StandingLab, standing_lab
from testing.waiting import wait_until

LIMIT_S = 60.0
BOTH_ON = {"mi01": "1", "mi02": "1"}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandingLab]:
    """Automatic NUMA balancing is on on both nodes."""
    folder = tmp_path_factory.mktemp("lacks") / "lab"
    with standing_lab(folder, "mi300x") as lab:
        yield lab


@pytest.fixture
def project(project: Project) -> Project:
    """Its platform file has one measurement on each rung, and this setting among a few facts."""
    SHORT(project)
    return project


@pytest.fixture(autouse=True)
def _as_it_was(lab: StandingLab) -> None:
    for node in lab.logins:
        path = lab.file(node, BALANCING)
        path.unlink()  # nodes share what is alike
        path.write_text("1\n")


class HeldStep:
    """A run whose second step waits on the node until it is let go; the first one is done there."""

    def __init__(
        self, lab: StandingLab, project: Project, node: str, start: Start = Project.start
    ) -> None:
        self.project, self.output = project, project.folder / "output.txt"
        held, self._hold = lab.file(node, "held"), lab.file(node, "hold")
        held.unlink(missing_ok=True)
        self._hold.touch()
        wait = "[ ! -e $0/hold ] || : >$0/held; while [ -e $0/hold ]; do sleep 0.05; done; echo x"
        with_step(read=["sh", "-c", wait, "{rootfs}"])(lab, project)
        words = (*lab.hostfile(project), *BARE_SMOKE, "--prepare", "-k", "numa_balancing")
        self.process = start(project, self.output, *words)
        wait_until(held.exists, LIMIT_S, "the step")

    def end(self) -> Run:
        self._hold.unlink(missing_ok=True)
        try:
            code = self.process.wait(LIMIT_S)
        finally:
            self.process.kill()
        return Run(self.project, code, self.output.read_text(errors="replace"), "", 0.0)


def assert_no_verdict(run: Run) -> None:
    assert run.code == 3, run.output
    assert_clean(run)
    assert not any((run.latest / name).exists() for name in ("verdict.json", "junit.xml"))
    for word in ("ACCEPTED", "REJECTED", "INCOMPLETE"):
        assert word not in run.output


def lines_with(run: Run, words: str) -> list[str]:
    return [line for line in run.output.splitlines() if words in line]


def nothing_runs_on(lab: StandingLab) -> bool:
    home = lab.home("mi01").parent
    return not [one for one in processes_of(home) if "hold" in one]


@pytest.mark.parametrize("node", ["mi01", "mi02"])
def test_a_full_disk(lab: StandingLab, project: Project, node: str) -> None:
    """The journal cannot be written for the next setting, which is then not changed; what was
    changed is put back, though that cannot be written down either."""
    with small_disk(project.folder / "reports", 1 << 20):
        held = HeldStep(lab, project, node)
        fill(project.folder / "reports" / "filler")
        run = held.end()
        assert_no_verdict(run)
        (line,) = lines_with(run, "cannot be written: No space left")
        assert "free disk space" in line
        assert balancing(lab) == BOTH_ON
        assert not lines_with(run, "NOT UNDONE")
        assert nothing_runs_on(lab)


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(512))
        except OSError:
            return


@pytest.mark.parametrize("name", ["files", "processes"])
@pytest.mark.parametrize("node", ["mi01", "mi02"])
def test_no_more_of_something(lab: StandingLab, project: Project, node: str, name: str) -> None:
    lack = LACKS[name]
    held = HeldStep(lab, project, node, lack.start)
    lack.of(held.process.pid)
    run = held.end()
    assert_no_verdict(run)
    reported = lines_with(run, "this machine has run out of")
    assert reported, run.output
    assert len({line.partition("this machine")[2].split(",")[0] for line in reported}) == 1, (
        reported
    )
    for word in lack.words:
        assert word in reported[0]
    wait_until(lambda: nothing_runs_on(lab), LIMIT_S, "the end of its commands on the nodes")
    changed = [one for one in changes(run) if not one["undone"]]
    left = {name for name, value in balancing(lab).items() if value == "0"}
    assert left <= {one["node"] for one in changed}
    if left:
        assert lines_with(run, f"railgauge undo --hostfile FILE {run.latest.resolve().name}"), (
            run.output
        )
        take_over(run)
        done = undo(run)
        assert done.returncode == 0, done.stderr
    assert balancing(lab) == BOTH_ON


def take_over(run: Run) -> None:
    """Make the folder of a run that another user made this one's, who may undo its changes then."""
    for path in (run.latest.resolve(), run.latest / "prepared.json"):
        os.chown(path, os.geteuid(), -1)


def changes(run: Run) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads((run.latest / "prepared.json").read_text())[
        "changes"
    ]
    return found

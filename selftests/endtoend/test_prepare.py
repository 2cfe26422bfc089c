"""``--prepare``: the only changes on nodes; recorded first, and always undone."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from test_exhaustion import no_more_memory
from testing.acceptance import (
    BARE_SMOKE,
    MI300X,
    Project,
    Run,
    assert_clean,
    assert_sound,
)
from testing.commands import railgauge
from testing.fewer import EXPECTED, measuring
from testing.standing_lab import StandingLab, standing_lab
from testing.waiting import wait_until

from railgauge.core.run_files import FACTS as SURVEY

BALANCING = "proc/sys/kernel/numa_balancing"
NUMA_ITEM = "tests/preflight/test_host.py::test_numa_balancing[{}]"
FEW = ("-k", "numa_balancing")
MANY = ("-k", "numa_balancing or network or gpu_write")
SHORT = measuring(
    "mi300x",
    *("host_write_bandwidth", "gpu_write_bandwidth", "node_all_reduce", "pair_all_reduce"),
    expected=(*EXPECTED, "numa_balancing"),
)
START_LIMIT_S = 40.0
END_LIMIT_S = 40.0


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandingLab]:
    """Two nodes; automatic NUMA balancing is on on the second one."""
    folder = tmp_path_factory.mktemp("standing") / "lab"
    with standing_lab(folder, "mi300x", "--fault", "numa-balancing@mi02") as lab:
        yield lab


@pytest.fixture
def project(project: Project) -> Project:
    """Its platform file has one measurement on each rung, and this setting among a few facts."""
    SHORT(project)
    return project


@pytest.fixture(autouse=True)
def _as_it_was(lab: StandingLab) -> Iterator[None]:
    """However a test ends, the next one starts with the original lab."""
    yield
    for node, value in (("mi01", "0"), ("mi02", "1")):
        path = lab.file(node, BALANCING)
        path.unlink()
        path.write_text(f"{value}\n")


def balancing(lab: StandingLab) -> dict[str, str]:
    return {node: lab.file(node, BALANCING).read_text().strip() for node in lab.logins}


AS_IT_WAS = {"mi01": "0", "mi02": "1"}
PREPARED = {"mi01": "0", "mi02": "0"}


def journal(run_folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((run_folder / "prepared.json").read_text())["changes"]
    return found


def test_a_preparation_is_told_used_and_undone(project: Project) -> None:
    fault = ("--lab-fault", "numa-balancing@mi02")
    run = project.run(*MI300X, *BARE_SMOKE, *fault, "--prepare", "-k", "numa_balancing")
    assert_sound(run)
    assert run.is_good, run.output
    assert run.with_outcome("passed") == {NUMA_ITEM.format("mi01"), NUMA_ITEM.format("mi02")}
    assert "prepare: 1 settings changed" in run.words
    assert "mi02: numa_balancing: 1 -> 0" in run.words
    (change,) = journal(run.latest)
    assert (change["node"], change["step"], change["undone"]) == ("mi02", "numa_balancing", True)
    assert (change["before"], change["after"]) == ("1", "0")
    assert "prepared.json" in run.manifest


def assert_simulated(run: Run) -> None:
    """The lab is reached like any cluster over SSH; its nodes report what they are."""
    message = {run.verdict["evidence"], *(line["evidence"] for line in run.measurements)}
    message |= {json.loads((run.latest / n).read_text())["evidence"] for n in ("run.json", SURVEY)}
    assert message == {"simulated"}
    assert "evidence: SIMULATED - no hardware is measured in this run" in run.words
    assert "(SIMULATED evidence)" in run.words


def test_the_node_is_as_it_was(lab: StandingLab, project: Project) -> None:
    """Also with workers, which prepare nothing themselves."""
    before = lab.files()
    run = project.run(*lab.hostfile(project), *BARE_SMOKE, "--prepare", *FEW, "-n", "2")
    assert run.is_good, run.output
    assert "mi02: numa_balancing: 1 -> 0" in run.words
    assert [change["undone"] for change in journal(run.latest)] == [True]
    assert lab.files() == before
    assert_simulated(run)
    assert balancing(lab) == AS_IT_WAS


def test_a_node_that_is_right_is_left_alone(lab: StandingLab, project: Project) -> None:
    lab.file("mi02", BALANCING).write_text("0\n")
    run = project.run(*lab.hostfile(project), *BARE_SMOKE, "--prepare", *FEW)
    assert run.is_good, run.output
    assert "prepare: 0 settings changed" in run.words
    assert balancing(lab) == PREPARED


def test_without_being_asked_nothing_is_written(lab: StandingLab, project: Project) -> None:
    before = lab.files()
    places = ("tests/preflight/test_host.py", "tests/network", "tests/collective")
    run = project.run(*lab.hostfile(project), *BARE_SMOKE, "--no-gates", *places)
    assert run.code == 1, run.output
    failed = run.with_outcome("failed")
    assert NUMA_ITEM.format("mi02") in failed
    # Pages that move also show in single iterations (002), and are one cause with the setting.
    assert all("collective" in item_id for item_id in failed - {NUMA_ITEM.format("mi02")})
    assert [cause["cause"] for cause in run.verdict["causes"]] == ["numa-balancing-enabled"]
    assert not (run.latest / "prepared.json").exists()
    assert "prepare:" not in run.output
    assert lab.files() == before


def test_collecting_prepares_nothing(lab: StandingLab, project: Project) -> None:
    run = project.run(*lab.hostfile(project), *BARE_SMOKE, "--prepare", "--collect-only", "-q")
    assert run.code == 0
    assert balancing(lab) == AS_IT_WAS


# --- cut short ---


class Prepared:
    """A run with ``--prepare`` in its middle."""

    def __init__(self, lab: StandingLab, project: Project, *options: str) -> None:
        self.project = project
        self.output = project.folder / "output.txt"
        words = (*lab.hostfile(project), *BARE_SMOKE, "--prepare", *MANY, *options)
        self.process = project.start(self.output, *words, new_session=True)
        transcripts = project.folder / "reports" / "latest" / "transcripts"
        wait_until(lambda: any(transcripts.glob("*.json")), START_LIMIT_S, "a case")
        assert balancing(lab) == PREPARED
        (change,) = journal(project.folder / "reports" / "latest")
        assert change["undone"] is False

    def end(self, number: signal.Signals) -> Run:
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> Run:
        try:
            code = self.process.wait(END_LIMIT_S)
        finally:
            self.process.kill()
        return Run(self.project, code, self.output.read_text(errors="replace"), "", 0.0)


@pytest.mark.parametrize(
    ("number", "options"),
    [(signal.SIGINT, ()), (signal.SIGINT, ("-n", "2")), (signal.SIGTERM, ())],
    ids=["ctrl-c", "ctrl-c-xdist", "sigterm"],
)
def test_undone_after_an_interrupt(
    lab: StandingLab, project: Project, number: signal.Signals, options: tuple[str, ...]
) -> None:
    run = Prepared(lab, project, *options).end(number)
    assert run.code == 2, run.output
    assert_clean(run)
    assert balancing(lab) == AS_IT_WAS
    assert [change["undone"] for change in journal(run.latest)] == [True]
    assert run.verdict["verdict"] == "incomplete"


def test_undo_by_hand_after_a_crash(lab: StandingLab, project: Project) -> None:
    run = Prepared(lab, project).end(signal.SIGKILL)
    assert run.code == -signal.SIGKILL
    assert balancing(lab) == PREPARED
    done = undo(run)
    assert done.returncode == 0, done.stderr
    reported, last = done.stdout.splitlines()
    assert reported.startswith("mi02: sh -c ")
    assert last == "1 settings put back, 0 not"
    assert balancing(lab) == AS_IT_WAS
    assert [change["undone"] for change in journal(run.latest)] == [True]
    again = undo(run)
    assert again.returncode == 0
    assert "0 settings put back, 0 not" in again.stdout
    assert balancing(lab) == AS_IT_WAS


def undo(run: Run) -> subprocess.CompletedProcess[str]:
    """With the hostfile that ``StandingLab.hostfile`` has written."""
    named = ("--hostfile", "standing.yaml", str(run.latest))
    return railgauge(run.project.folder, "undo", *named)


# --- a preparation that fails ---

Spoil = Callable[[StandingLab, Project], None]


def with_step(**step: object) -> Spoil:
    """One more step, after the one that sets NUMA balancing."""

    def spoil(lab: StandingLab, project: Project) -> None:
        basis = {"source": "derived", "says": "Made up for a test."}
        whole = {"name": "spoilt", "read": ["true"], "want": "x", "apply": ["true"]}
        whole |= {"undo": ["true"], "basis": basis} | step
        project.edit_platform("mi300x", lambda document: document["prepare"].append(whole))

    return spoil


SPOILT: dict[str, tuple[Spoil, str]] = {
    "refused": (
        with_step(apply=["sh", "-c", "echo Permission denied >&2; exit 1"]),
        "Permission denied",
    ),
    "without-effect": (with_step(read=["echo", "y"]), "spoilt: is 'y' after it was set to 'x'"),
    "unreadable": (with_step(read=["cat", "{rootfs}/proc/sys/nothing"]), "No such file"),
    "not-installed": (with_step(read=["no-such-tool"]), "no-such-tool"),
    "hangs-up": (with_step(apply=["sh", "-c", "kill -9 $$"]), "spoilt"),
}


def test_a_setting_that_a_lack_of_memory_leaves_is_told_and_put_back_by_hand(
    lab: StandingLab, project: Project
) -> None:
    prepared = Prepared(lab, project)
    no_more_memory(prepared.process.pid)
    run = prepared.ended()
    assert run.code == 3, run.output
    assert_clean(run)
    name = run.latest.resolve().name
    (line,) = [line for line in run.output.splitlines() if "NOT UNDONE" in line]
    assert line.startswith("railgauge: prepare: NOT UNDONE: this machine has run out of "), line
    assert f"railgauge undo --hostfile FILE {name}" in line
    # The command may have run on the node: what it printed could not be read.
    assert [change["undone"] for change in journal(run.latest)] == [False]
    lab.file("mi02", BALANCING).write_text("0\n")
    assert "1 settings put back, 0 not" in undo(run).stdout
    assert balancing(lab) == AS_IT_WAS


@pytest.mark.parametrize("name", SPOILT)
def test_a_preparation_that_fails_stops_the_run_and_is_undone(
    lab: StandingLab, project: Project, name: str
) -> None:
    lab.file("mi01", BALANCING).write_text("1\n")
    spoil, says = SPOILT[name]
    spoil(lab, project)
    run = project.run(*lab.hostfile(project), *BARE_SMOKE, "--prepare", *FEW)
    assert_refused(run, says)
    assert balancing(lab) == {"mi01": "1", "mi02": "1"}
    assert "NOT UNDONE" not in run.output


def assert_refused(run: Run, says: str) -> None:
    assert run.code == 4, run.output
    assert_clean(run)
    assert "railgauge: --prepare: mi0" in run.words
    assert says in run.words
    assert "survey" not in run.output
    assert "accepted" not in run.output.lower()
    assert not (run.latest / "transcripts").exists()


def test_a_setting_that_may_only_be_read(lab: StandingLab, project: Project) -> None:
    """As for any user but root: the file cannot be changed, so nothing has to be restored."""
    path = lab.file("mi02", BALANCING)
    path.unlink()
    path.symlink_to("/proc/sys/kernel/ostype")  # readable, and writable only in a network namespace
    run = project.run(*lab.hostfile(project), *BARE_SMOKE, "--prepare", *FEW)
    assert_refused(run, "mi02")
    assert "NOT UNDONE" not in run.output
    assert str(path.readlink()) == "/proc/sys/kernel/ostype"

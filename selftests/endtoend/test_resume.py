"""Resumed runs: no measurement is lost, and no incomplete one is used."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from testing import prepared
from testing.acceptance import (
    HOMELAB,
    SMOKE,
    Project,
    Run,
    Runs,
    Scenario,
    assert_clean,
    assert_sound,
    make_project,
)
from testing.waiting import wait_until

from railgauge.leases.files import held_open
from railgauge.run.folders import point_latest

ONE_SLOW = (*HOMELAB, *SMOKE, "--lab-fault", "slow-node@columbia")
SCENARIOS = {"undisturbed": Scenario(ONE_SLOW)}
START_LIMIT_S = 120.0
SEED = 20240611


@contextmanager
def started(
    project: Project, *options: str
) -> Iterator[prepared.Started | subprocess.Popen[bytes]]:
    """A run in the background; whatever is left of it is killed at the end."""
    process = project.start(Path(os.devnull), *options)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def measured(folder: Path) -> list[Path]:
    """The transcripts of a run's measurements; counters are read before the first one."""
    found = (folder / "transcripts").glob("*.json")
    return [path for path in found if not path.name.startswith("growth_")]


def killed_after(project: Project, cases: int, *options: str) -> Path:
    """The folder of a run that was killed after this many cases, or a few more."""
    latest = project.folder / "reports" / "latest"
    before = latest.resolve()

    def far_enough() -> bool:
        new = latest.exists() and latest.resolve() != before
        return new and len(measured(latest)) >= cases

    with started(project, *options) as process:
        wait_until(
            lambda: far_enough() or process.poll() is not None, START_LIMIT_S, f"{cases} cases"
        )
        assert far_enough(), "it ended before it was killed"
        process.send_signal(signal.SIGKILL)
    return latest.resolve()


def settled(run: Run) -> dict[str, Any]:
    """The verdict without the run's id."""
    return {key: value for key, value in run.verdict.items() if key != "run_id"}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def log(run: Run) -> list[dict[str, Any]]:
    text = (run.latest / "resumed.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def measured_at(folder: Path) -> dict[str, list[str]]:
    """When each transcript of each case was made, without cases that lost their nodes.

    Each run reads counters and kernels' logs anew.
    """
    found = {}
    for path in (folder / "transcripts").glob("*.json"):
        data = json.loads(path.read_text(encoding="utf-8"))
        made = [one for run in data["runs"] for one in run]
        if path.name.startswith(("kernel_log", "growth_")):
            continue
        if made and not data["error"] and not any(one["error"] for one in made):
            found[data["case"]["key"]] = [one["started_at"] for one in made]
    return found


def test_killed_again_and_again(project: Project, runs: Runs) -> None:
    """Two kills at different moments; every case is measured once in all three runs.

    The second has workers and carries on a run without; the third has none and carries on a run
    with workers.
    """
    whole = runs["undisturbed"]
    moments = sorted(random.Random(SEED).sample(range(len(whole.transcripts)), 2))
    first = killed_after(project, moments[0], *ONE_SLOW)
    kept = contents(first)
    second = killed_after(project, moments[1], "--resume", "latest", "-n", "2")
    assert second != first
    run = project.run("--resume", "latest")
    assert_sound(run)
    assert settled(run) == settled(whole)
    assert run.outcomes == whole.outcomes
    assert contents(first).items() >= {k: v for k, v in kept.items() if "transcripts" in k}.items()
    now = measured_at(run.latest)
    for folder in (first, second):
        for case, times in measured_at(folder).items():
            assert now[case] == times
    assert {line["run"] for line in log(run) if "case" in line} == {second.name}
    assert json.loads((run.latest / "manifest.json").read_text())["resumes"] == second.name


@pytest.fixture(scope="module")
def broken_off(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with one run that was killed in its middle."""
    project = make_project(tmp_path_factory.mktemp("resume") / "project")
    killed_after(project, 2, *ONE_SLOW, "-k", "write")
    hostfile = (project.folder / HOMELAB[1]).read_text(encoding="utf-8")
    project.write("hostfiles/other.yaml", f"{hostfile}environment: {{A: b}}\n")
    return project


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--level", "nightly"), "--level is nightly here and was smoke in the run"),
        (("--rounds", "1"), "--rounds is 1 here and was not given"),
        (("--lab-seed", "0"), "--lab-seed is 0 here and was 1"),
        (("--lab-fault", "memlock@viper"), "--lab-fault is memlock@viper here and was slow-node@"),
        (("--lab-nodes", "2"), "--lab-nodes is 2 here and was not given"),
        (("-k", "nics"), "-k is nics here and was write"),
        (("--no-gates",), "--no-gates is True here and was not given"),
        (("--hostfile", "hostfiles/other.yaml"), "other.yaml differs from the hostfile of the run"),
        (("tests/network/test_rdma.py::test_traffic",), "lacks a test"),
    ],
    ids=lambda value: value[0].lstrip("-") if isinstance(value, tuple) else "",
)
def test_another_run_is_not_carried_on(
    broken_off: Project, options: tuple[str, ...], complaint: str
) -> None:
    name = (broken_off.folder / "reports" / "latest").resolve().name
    if options[0].startswith("tests"):  # printed once the tests are known: that run has a folder
        run = broken_off.run("--resume", name, *options)
        point_latest(broken_off.folder / "reports", broken_off.folder / "reports" / name)
    else:
        run = broken_off.run("--resume", "latest", *options)
        assert (broken_off.folder / "reports" / "latest").resolve().name == name
    assert_refused(run, f"--resume {name}: ", complaint)


def assert_refused(run: Run, *message: str) -> None:
    """One clear line, before any node is touched."""
    assert run.code == 4, run.output
    assert_clean(run)
    lines = [line for line in run.output.splitlines() if all(word in line for word in message)]
    assert len(lines) == 1, run.output
    assert "survey" not in run.output


def test_limits_that_were_changed(tmp_path: Path, broken_off: Project) -> None:
    shutil.copytree(broken_off.folder, tmp_path / "copy", symlinks=True)
    project = Project(tmp_path / "copy")
    project.edit_platform("connectx4-homelab", lambda data: data.update(title="another"))
    hostfile = project.folder / "hostfiles" / "lab-connectx4-homelab.yaml"
    assert_refused(
        project.run("--resume", "latest", "--hostfile", str(hostfile)),
        "connectx4-homelab.json differs from the thresholds of the run",
    )


@pytest.mark.parametrize("name", ["nothing", ".", "hostfiles"])
def test_what_is_no_run(broken_off: Project, name: str) -> None:
    run = broken_off.run("--resume", name)
    assert_refused(run, f"--resume: {name} is not a run that can be carried on")


def test_not_in_a_replay(broken_off: Project) -> None:
    run = broken_off.run("--resume", "latest", "--replay=x")
    assert_refused(run, "--resume cannot be combined with a replay")


def test_a_run_that_goes_on(broken_off: Project) -> None:
    """Refused while its controller lives, which holds the lock."""
    folder = (broken_off.folder / "reports" / "latest").resolve()
    with held_open(folder / "invocation.json"):
        assert_refused(broken_off.run("--resume", "latest"), "this run has not ended")


def test_changes_that_are_not_undone(tmp_path: Path, broken_off: Project) -> None:
    shutil.copytree(broken_off.folder, tmp_path / "copy", symlinks=True)
    project = Project(tmp_path / "copy")
    journal = {"changes": [{"node": "viper", "undone": False}]}
    (project.folder / "reports" / "latest" / "prepared.json").write_text(json.dumps(journal))
    assert_refused(project.run("--resume", "latest"), "are not undone; railgauge undo ")


def test_a_hostfile_that_the_folder_of_a_run_chooses(tmp_path: Path, broken_off: Project) -> None:
    """A hostfile can run programs: one outside of the site is not used without being named."""
    shutil.copytree(broken_off.folder, tmp_path / "copy", symlinks=True)
    project = Project(tmp_path / "copy")
    assert_refused(project.run("--resume", "latest"), "its hostfile", "--hostfile", "if you trust")


def test_what_is_half_written_was_not_written_by_the_run(
    tmp_path: Path, broken_off: Project
) -> None:
    """A file gets its name when all of it is on the disk, also after a power loss."""
    shutil.copytree(broken_off.folder, tmp_path / "copy", symlinks=True)
    project = Project(tmp_path / "copy")
    before = project.folder / "reports" / "latest"
    path = max((before / "transcripts").glob("*.json"))
    path.write_bytes(path.read_bytes()[:40])
    run = project.run("--resume", str(before), "--hostfile", *HOMELAB[1:])
    assert_refused(run, f"{path.name}: was changed after the run wrote it")


@contextmanager
def small_disk(folder: Path, size_bytes: int) -> Iterator[None]:
    """A file system of that size at ``folder``."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a small file system")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def on_disk(folder: Path) -> int:
    """How much a folder takes, in whole pages."""
    return sum(-(-len(data) // 4096) * 4096 for data in contents(folder).values())


@pytest.mark.parametrize("trouble", ["full", "read-only", "a file"])
def test_no_folder_to_begin_with(project: Project, trouble: str) -> None:
    """One line before anything is done; the folder stays as it was."""
    reports = project.folder / "reports"
    if trouble == "a file":
        reports.write_text("mine", encoding="utf-8")
        assert_no_folder(project.run(*HOMELAB, *SMOKE), "File exists", "Not a directory")
        return
    with small_disk(reports, 4096):
        if trouble == "full":
            (reports / "mine").write_bytes(bytes(4096))
        else:
            subprocess.run(["mount", "-o", "remount,ro", str(reports)], check=True)
        assert_no_folder(project.run(*HOMELAB, *SMOKE), "No space left", "Read-only file system")
        assert {path.name for path in reports.iterdir()} <= {"mine"}


def assert_no_folder(run: Run, *reasons: str) -> None:
    assert run.code == 4, run.output
    assert_clean(run)
    (line,) = [
        line for line in run.output.splitlines() if "the run cannot be stored there: " in line
    ]
    assert any(reason in line for reason in reasons)
    assert "reports: " in line
    assert "free disk space" in line


@pytest.mark.parametrize(
    ("part", "options"),
    [(0.3, ()), (0.6, ("-n", "2")), (0.9, ())],
    ids=["early", "xdist", "reports"],
)
def test_disk_full(project: Project, runs: Runs, part: float, options: tuple[str, ...]) -> None:
    """One line, no verdict; with more space the run is resumed as if nothing had happened."""
    whole = runs["undisturbed"]
    reports = project.folder / "reports"
    with small_disk(reports, int(part * on_disk(whole.latest.resolve()))):
        run = project.run(*ONE_SLOW, *options)
        assert run.code == 3, run.output
        assert_clean(run)
        lines = [line for line in run.output.splitlines() if "cannot be written: No space" in line]
        assert len(lines) == 1, run.output
        assert f"--resume {run.latest.resolve().name}" in lines[0]
        assert not any((run.latest / name).exists() for name in ("verdict.json", "junit.xml"))
        subprocess.run(["mount", "-o", "remount,size=100m", str(reports)], check=True)
        again = project.run("--resume", "latest", *options)
        assert_sound(again)
        assert settled(again) == settled(whole)

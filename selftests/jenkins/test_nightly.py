"""Nightly runs without Jenkins: the shell script and the systemd units."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from nights import REPLAY, RUN, Night, make_workspace, verdict
from testing.places import ROOT
from testing.waiting import pass_time, wait_until

SCRIPTS = (
    "examples/nightly.sh", "selftests/jenkins/fetch_jars", ".ci/run",
    "examples/kubernetes/on-node", "image/build.sh",
)  # fmt: skip
TIME_LIMIT_S = 60.0
ACCEPTED = Night(verdict=verdict("accepted"))


def make_night(folder: Path, night: Night) -> Path:
    """A project folder with the script and stand-ins for everything that it calls."""
    make_workspace(folder, night)
    (folder / "examples").mkdir()
    shutil.copy(ROOT / "examples" / "nightly.sh", folder / "examples")
    return folder


def command(folder: Path, *arguments: str) -> list[str]:
    return [str(folder / "examples" / "nightly.sh"), *arguments]


def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(folder, *arguments),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **environment},
        check=False,
    )


def diary(folder: Path) -> list[str]:
    return (folder / "diary.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    ("code", "printed"), [(0, "accepted"), (1, "rejected"), (10, "incomplete"), (2, "incomplete")]
)
def test_exit_code_and_evidence(tmp_path: Path, code: int, printed: str) -> None:
    folder = make_night(tmp_path / "night", Night(code, verdict(printed)))
    done = run(folder, "mine.yaml", "--level", "smoke", "-k", "a b")
    assert done.returncode == code, done.stderr
    assert (folder / "evidence" / f"{RUN}.railgauge").exists()
    measured, *others = diary(folder)[1:]
    options, id_file = measured.split(" [--run-id-file] ")
    assert (
        options
        == f"python [-m] [pytest] [--hostfile] [{folder}/mine.yaml] [--level] [smoke] [-k] [a b]"
    )
    assert not Path(id_file.strip("[]")).exists()
    assert others == [
        f"railgauge [bundle] [reports/{RUN}] [--unsigned] [-o] [evidence/{RUN}.railgauge]",
        "railgauge [prune] [--keep] [14] [--yes]",
    ]


@pytest.mark.parametrize(
    ("keep", "asked"), [("30", ["[prune] [--keep] [30] [--yes]"]), ("all", [])]
)
def test_how_many_old_runs_stay_whole(tmp_path: Path, keep: str, asked: list[str]) -> None:
    folder = make_night(tmp_path / "night", ACCEPTED)
    assert run(folder, "mine.yaml", RAILGAUGE_KEEP=keep).returncode == 0
    assert [line for line in diary(folder) if "[prune]" in line] == [
        f"railgauge {a}" for a in asked
    ]


def test_old_runs_that_cannot_be_pruned_change_no_verdict(tmp_path: Path) -> None:
    folder = make_night(tmp_path / "night", replace(ACCEPTED, prune="exit 1"))
    done = run(folder, "mine.yaml")
    assert (done.returncode, "not all old runs were pruned" in done.stderr) == (0, True)


@pytest.mark.parametrize("printed", ["incomplete", None])
def test_a_replay_in_the_same_site_is_not_taken_for_the_night(
    tmp_path: Path, printed: str | None
) -> None:
    night = Night(10, verdict(printed) if printed else None, pytest=REPLAY)
    folder = make_night(tmp_path / "night", night)
    assert run(folder, "mine.yaml").returncode == (10 if printed else 74)
    bundled = [line for line in diary(folder) if "[bundle]" in line]
    assert all(f"[bundle] [reports/{RUN}]" in line for line in bundled)
    assert len(bundled) == (1 if printed else 0)


def test_signed_evidence(tmp_path: Path) -> None:
    folder = make_night(tmp_path / "night", ACCEPTED)
    assert run(folder, "mine.yaml", RAILGAUGE_KEY="/secret/a key").returncode == 0
    assert all("[--key] [/secret/a key]" in line for line in diary(folder)[-2:])


@pytest.mark.parametrize(
    ("night", "code", "says"),
    [
        (Night(), 74, "left no verdict.json"),
        (Night(earlier=True), 74, "left no verdict.json"),
        (Night(1), 74, "exit code 1, but the run left no verdict.json"),
        (Night(10, earlier=True), 74, "exit code 10, but the run left no verdict.json"),
        (Night(11), 74, "left no verdict.json"),
        (Night(4), 4, ""),
        (replace(ACCEPTED, bundle="exit 2"), 74, "the evidence could not be kept"),
        (replace(ACCEPTED, make="exit 1"), 2, ""),
    ],
    ids=[
        "silent",
        "last-night-again",
        "broken-package",
        "no-10",
        "no-11",
        "bad-input",
        "no-evidence",
        "no-installation",
    ],
)
def test_no_verdict(tmp_path: Path, night: Night, code: int, says: str) -> None:
    done = run(make_night(tmp_path / "night", night), "mine.yaml")
    assert (done.returncode, says in done.stderr) == (code, True), done.stderr


@pytest.mark.parametrize("arguments", [(), ("missing.yaml",)])
def test_bad_usage(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    folder = make_night(tmp_path / "night", ACCEPTED)
    done = run(folder, *arguments)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert not (folder / "diary.txt").exists()


@pytest.mark.parametrize("held", ["mine.yaml", "reports"])
def test_one_night_at_a_time(tmp_path: Path, held: str) -> None:
    folder = make_night(tmp_path / "night", ACCEPTED)
    place = os.open(folder / held, os.O_RDONLY)
    try:
        fcntl.flock(place, fcntl.LOCK_EX)
        done = run(folder, "mine.yaml")
    finally:
        os.close(place)
    assert done.returncode == 75, done.stderr
    assert not (folder / "diary.txt").exists()


@pytest.mark.parametrize("times", [1, 2])
def test_sigterm_lets_the_run_clean_the_nodes(tmp_path: Path, times: int) -> None:
    cleaning = "trap 'sleep 0.5; echo cleaned >>diary.txt; exit 2' TERM; touch started\n"
    night = replace(ACCEPTED, pytest=cleaning + "while :; do sleep 0.05; done")
    folder = make_night(tmp_path / "night", night)
    process = subprocess.Popen(
        command(folder, "mine.yaml"),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until((folder / "started").exists, TIME_LIMIT_S, "the run to start")
    for _ in range(times):
        process.send_signal(signal.SIGTERM)
        pass_time(0.1, "the second signal comes while it cleans")
    assert process.wait(TIME_LIMIT_S) == 2
    assert "cleaned" in diary(folder)
    assert "[bundle]" in diary(folder)[-2]


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_are_bash(script: str) -> None:
    done = subprocess.run(["bash", "-n", ROOT / script], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("script", SCRIPTS)
def test_shellcheck(script: str) -> None:
    """Skipped where it is not installed; the script does not need it."""
    beside = Path(sys.executable).with_name("shellcheck")
    shellcheck = shutil.which("shellcheck") or (str(beside) if beside.exists() else None)
    if shellcheck is None:
        pytest.skip("there is no shellcheck")
    done = subprocess.run([shellcheck, ROOT / script], capture_output=True, text=True, check=False)
    assert done.stdout == ""


def verify(folder: Path, change: Callable[[str], str] = str) -> str:
    """systemd's messages about the units, installed in the project's folder."""
    folder.mkdir()
    for name in ("railgauge@.service", "railgauge@.timer"):
        text = (ROOT / "examples" / name).read_text(encoding="utf-8")
        unit = change(text.replace("/opt/railgauge", str(ROOT)))
        (folder / name).write_text(unit, encoding="utf-8")
    units = [str(folder / f"railgauge@mine.{kind}") for kind in ("service", "timer")]
    tool = ["systemd-analyze", "verify", "--man=no", *units]
    done = subprocess.run(tool, capture_output=True, text=True, timeout=TIME_LIMIT_S, check=False)
    # It returns 0 even for settings that it ignores.
    printed = [line for line in (done.stdout + done.stderr).splitlines() if "railgauge" in line]
    return "\n".join(printed) or ("" if done.returncode == 0 else done.stderr)


@pytest.fixture
def systemd() -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze")


@pytest.mark.usefixtures("systemd")
def test_units(tmp_path: Path) -> None:
    assert verify(tmp_path / "units") == ""


@pytest.mark.usefixtures("systemd")
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("KillMode=mixed", "KillMode=mixt"),
        ("TimeoutStopSec", "TimeoutStoppSec"),
        ("examples/nightly.sh", "examples/nightly"),
        ("OnCalendar=*-*-* 01", "OnCalendar=*-*-* 25"),
    ],
)
def test_broken_units_are_seen(tmp_path: Path, right: str, wrong: str) -> None:
    assert verify(tmp_path / "units", lambda text: text.replace(right, wrong)) != ""

"""A lab leaves nothing in the folder of temporary files, however the program ends behind it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from testing.acceptance import BARE_SMOKE, HOMELAB, environment, make_project
from testing.lab_bench import cluster
from testing.places import ROOT
from testing.standing_lab import standing_lab
from testing.waiting import wait_until

from railgauge.core.errors import RailgaugeError
from railgauge_lab import cluster as lab

_LAB_UP = "import sys; from railgauge.cli import main; sys.exit(main())"
LIMIT_S = 60


def is_empty(folder: Path) -> bool:
    return list(folder.iterdir()) == []


def ended_by(process: subprocess.Popen[str], number: int, scratch: Path) -> None:
    try:
        process.send_signal(number)
        process.wait(LIMIT_S)
        wait_until(lambda: is_empty(scratch), LIMIT_S, f"an empty {scratch}")
    finally:
        process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_lab_that_is_up(tmp_path: Path, number: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _LAB_UP, "lab", "up", "--nodes", "2", "--json", "--hostfile",
         "hostfiles/lab-connectx4-homelab.yaml"],
        cwd=ROOT, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
        env=environment() | {"TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert process.stdout
    text = ""
    while not text.endswith("}\n"):
        text += process.stdout.readline() or pytest.fail("the lab did not come up")
    assert json.loads(text)
    assert not is_empty(tmp_path)
    ended_by(process, number, tmp_path)


def test_a_lab_that_is_asked_to_end_as_soon_as_it_is_up(tmp_path: Path) -> None:
    with standing_lab(tmp_path / "lab", "connectx4-homelab"):
        pass  # it wants exit code 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_on_the_lab(tmp_path: Path, number: int) -> None:
    project, scratch = make_project(tmp_path / "site"), tmp_path / "scratch"
    scratch.mkdir()
    process = subprocess.Popen(
        project.command(*HOMELAB, *BARE_SMOKE), cwd=project.folder, text=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
        env=environment() | {"TMPDIR": str(scratch)},
    )  # fmt: skip
    reports = project.folder / "reports"
    wait_until(lambda: any(reports.glob("2*/transcripts/*.json")), LIMIT_S, "a first measurement")
    assert any(scratch.glob("railgauge-lab-*"))
    ended_by(process, number, scratch)


def test_a_lab_that_does_not_start_points_into_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its log is in a temporary folder, which is gone when the message is read."""
    (tmp_path / "asyncssh.py").write_text("raise ImportError('broken on purpose')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(RailgaugeError) as caught:
        lab.start(
            cluster("metax-c500"), nodes=1, seed=0, faults=(), folder=tmp_path / "lab",
            removes=tmp_path / "lab",
        )  # fmt: skip
    assert "broken on purpose" in str(caught.value)
    assert str(tmp_path / "lab") not in str(caught.value)

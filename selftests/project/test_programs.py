"""A node of a selftest has only the programs that the test gives it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from testing import programs


@pytest.fixture
def rich(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with all programs."""
    folder = tmp_path / "machine"
    monkeypatch.setenv("PATH", os.environ["PATH"])
    monkeypatch.setenv("RAILGAUGE_STAND_INS", "")
    programs.stand_in(folder)
    return folder


def call(name: str, path: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", f"{name} --version"],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_node_sees_no_tool_of_a_machine_that_has_everything(rich: Path, tmp_path: Path) -> None:
    path = programs.node_path(tmp_path / "own", tmp_path / "basic")
    seen = {name: shutil.which(name, path=path) for name in programs.STAND_INS}
    assert seen == dict.fromkeys(programs.STAND_INS)
    assert call("lspci", path).returncode == 127
    assert programs.asked_for() == []


def test_a_node_has_what_it_is_stated_to_have(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "lspci").write_text("#!/bin/sh\necho mine\n")
    (own / "lspci").chmod(0o755)
    path = programs.node_path(own, tmp_path / "basic")
    assert call("lspci", path).stdout == "mine\n"
    needed = ("sh", "cat", "ls", "timeout", "readlink", "grep", "sed", "sort", "flock")
    assert all(shutil.which(name, path=path) for name in needed)


def test_who_asks_for_a_tool_of_the_machine_is_found_out(rich: Path) -> None:
    assert call("nvidia-smi", os.environ["PATH"]).returncode == 9
    (line,) = programs.asked_for()
    assert line.startswith("nvidia-smi --version, asked for in ")
    assert "test_who_asks_for_a_tool_of_the_machine_is_found_out" in line


def test_a_test_that_asks_by_name_finds_the_machine_s_own(rich: Path) -> None:
    assert str(rich) not in programs.machine().split(os.pathsep)
    assert shutil.which("sh", path=programs.machine())

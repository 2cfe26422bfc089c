"""The scripts behind the Makefile's longer targets start as the Makefile starts them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from testing.places import ROOT
from testing.programs import cannot_run, machine


@pytest.mark.parametrize(
    "target", ["healthy", "stragglers", "blind", "blind-quick", "kills", "bench"]
)
def test_the_script_of_a_target_starts(target: str, tmp_path: Path) -> None:
    if not shutil.which("make", path=machine()):
        cannot_run("make is not on this machine")
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    (tmp_path / ".ready").touch()
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    made = subprocess.run(
        ["make", "--silent", target, f"VENV={tmp_path}", "ARGS=--help"],
        cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith("usage: ")

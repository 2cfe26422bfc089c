"""The settings of pip on this machine, handed on to the build of an image."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from testing.places import ROOT

SCRIPT = ROOT / "image" / "pip_settings.py"
_FILE = """\
[global]
index-url = https://ana:%70w@packages.example/simple
timeout = 7
[install]
find-links =
    {0}/wheels
    https://wheels.example/all
[download]
pre = true
"""


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, str]:
    """The variables of a machine with a file of settings, which they override in part."""
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / "one.whl").write_text("a wheel")
    (tmp_path / "own.crt").write_text("a certificate")
    (tmp_path / "pip.conf").write_text(_FILE.format(tmp_path))
    kept = {name: text for name, text in os.environ.items() if not name.startswith("PIP_")}
    return kept | {
        "HOME": str(tmp_path),
        "PIP_CONFIG_FILE": str(tmp_path / "pip.conf"),
        "PIP_CERT": str(tmp_path / "own.crt"),
        "PIP_TIMEOUT": "9",
    }


def settings_of(environment: dict[str, str]) -> set[str]:
    argv = [sys.executable, "-m", "pip", "config", "list"]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True)
    return {line.partition(".")[2] for line in done.stdout.splitlines()}


def test_the_build_has_the_settings_that_count_and_copies_of_their_files(
    machine: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "made"
    folder.mkdir()
    subprocess.run([sys.executable, SCRIPT, folder], env=machine, check=True)
    copies = [path for path in folder.rglob("*") if path.is_file() and path.name != "pip.conf"]
    assert sorted(path.read_text() for path in copies) == ["a certificate", "a wheel"]
    inside = {
        "PATH": machine["PATH"],
        "HOME": str(folder),
        "PIP_CONFIG_FILE": str(folder / "pip.conf"),
    }
    wheels, certificate = (
        f"/run/pip/{'-'.join((tmp_path / name).parts[1:])}" for name in ("wheels", "own.crt")
    )
    assert settings_of(inside) >= {
        "index-url='https://ana:%70w@packages.example/simple'",
        "timeout='9'",
        f"cert='{certificate}'",
        f"find-links='{wheels}\\nhttps://wheels.example/all'",
    }
    assert not {line for line in settings_of(inside) if line.startswith("pre=")}, (
        "of another command"
    )


def test_without_any_setting_the_build_has_none(machine: dict[str, str], tmp_path: Path) -> None:
    bare = {name: text for name, text in machine.items() if not name.startswith("PIP_")}
    folder = tmp_path / "made"
    folder.mkdir()
    bare["PIP_CONFIG_FILE"] = os.devnull  # no file at all, as pip reads it
    subprocess.run([sys.executable, SCRIPT, folder], env=bare, check=True)
    assert [path.name for path in folder.iterdir()] == ["pip.conf"]

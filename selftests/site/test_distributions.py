"""A wheel is enough: built from the source distribution, it makes a site that accepts a lab."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from importlib import import_module
from pathlib import Path

import pytest
from testing.acceptance import BARE_SMOKE, HOMELAB
from testing.distributions import TIME_LIMIT_S, carry_out, distributions
from testing.places import ROOT
from testing.programs import asked

from railgauge.cli import COMMANDS
from railgauge.site import contents


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return distributions(tmp_path_factory.mktemp("build")).wheel


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made by the wheel in an environment of its own, which has only the dependencies of ours."""
    top = tmp_path_factory.mktemp("installed")
    carry_out(sys.executable, "-m", "venv", top / "env", cwd=top)
    python = top / "env" / "bin" / "python"
    carry_out(python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", wheel, cwd=top)
    (packages,) = (top / "env").glob("lib/python3*/site-packages")
    # The .pth files of that folder are not read, and so its editable installation is not seen.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    carry_out(top / "env" / "bin" / "railgauge", "init", top / "site", cwd=top)
    return top / "site"


def test_a_wheel_has_every_file_of_a_site(site: Path) -> None:
    for name in contents.names(ROOT):
        made, own = site / name, ROOT / name
        assert made.read_bytes() == own.read_bytes()
        assert made.stat().st_mode & 0o100 == own.stat().st_mode & 0o100, name


def test_a_wheel_has_the_documentation(site: Path) -> None:
    program = site / ".venv" / "bin" / "railgauge"
    assert (
        carry_out(program, "docs", "nightly", cwd=site.parent)
        == (ROOT / "docs/nightly.md").read_text()
    )
    listed = json.loads(carry_out(program, "docs", "--json", cwd=site.parent))["pages"]
    assert [one["page"] for one in listed if one["page"] == "running"] == ["running"]
    (packaged,) = site.parent.glob("env/lib/python3*/site-packages/railgauge/site/docs")
    assert contents.pages(packaged).keys() == contents.pages(ROOT / "docs").keys()
    assert "### `test_peer_memory`" in carry_out(program, "docs", "tests", cwd=site.parent)
    assert "## h200: " in carry_out(program, "docs", "limits", cwd=site.parent)


@pytest.fixture(scope="module")
def manual(site: Path) -> Path:
    return site.parent / "env" / "share" / "man" / "man1" / "railgauge.1"


def test_the_man_page_has_the_help_and_the_examples_of_each_command(manual: Path) -> None:
    roff = manual.read_text(encoding="utf-8").replace(r"\&", "").replace(r"\-", "-")
    shown = "".join(roff.replace(r"\e", "\\").split())
    for name, module in COMMANDS.items():
        command = import_module(module)
        for text in (f".SS railgauge {name}", command.HELP, command.EXAMPLE):
            assert "".join(text.split()) in shown, name


def test_both_programs_that_show_man_pages_show_this_one(manual: Path) -> None:
    assert carry_out(asked("mandoc"), "-Tlint", manual, cwd=manual.parent) == ""
    done = subprocess.run(
        [asked("man"), "--warnings", "-l", str(manual)],
        env=os.environ | {"MANWIDTH": "80", "LC_ALL": "C.UTF-8"},
        capture_output=True, text=True, timeout=TIME_LIMIT_S, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_the_site_uses_the_installed_package(site: Path) -> None:
    code = "import railgauge, pathlib; print(pathlib.Path(railgauge.__file__).resolve())"
    where = carry_out(site / ".venv" / "bin" / "python", "-c", code, cwd=site)
    assert Path(where.strip()).is_relative_to(site.parent / "env")


def test_the_site_accepts_a_lab_and_its_evidence_verifies(site: Path, tmp_path: Path) -> None:
    shutil.copy(site / HOMELAB[1], tmp_path / "mine.yaml")
    python, railgauge = site / ".venv/bin/python", site / ".venv/bin/railgauge"
    options = ("--hostfile", tmp_path / "mine.yaml", *BARE_SMOKE, "--lab-nodes", "2")
    carry_out(railgauge, "plan", "--hostfile", tmp_path / "mine.yaml", cwd=site)
    output = carry_out(python, "-m", "pytest", *options, cwd=site)
    assert "ACCEPTED (SIMULATED evidence)" in output
    assert json.loads((site / "reports/latest/verdict.json").read_text())["verdict"] == "accepted"
    bundle = tmp_path / "night.railgauge"
    carry_out(railgauge, "bundle", "reports/latest", "--unsigned", "-o", bundle, cwd=site)
    carry_out(railgauge, "verify", bundle, "--unsigned", cwd=tmp_path)
    assert "is up to date" in carry_out(railgauge, "init", site, cwd=tmp_path)

"""One direction of imports; the pure code imports neither pytest, SSH nor subprocess."""

import ast
import shutil

import pytest
from import_layers import DOOR, LAB, ORDER, PRODUCT, complaints, entries
from testing.core_values import ROOT

SOURCE = ROOT / "src"
PACKAGE = SOURCE / PRODUCT


def test_the_packages_keep_to_one_direction():
    assert complaints(SOURCE) == []


def test_there_are_two_packages_and_the_product_opens_the_lab_in_one_place():
    assert entries(SOURCE) == {PRODUCT, LAB}
    naming = [path for path in PACKAGE.rglob("*.py") if LAB in path.read_text(encoding="utf-8")]
    assert [path.relative_to(PACKAGE).as_posix() for path in naming] == [f"{DOOR}/__init__.py"]


def test_every_folder_has_one_place_in_the_order():
    folders = {name for name in entries(PACKAGE) if not name.endswith(".py")}
    assert sorted(ORDER) == sorted(folders)
    assert len(set(ORDER)) == len(ORDER)


def test_the_root_is_small():
    """The root has few entries, so that folder names show where a change belongs."""
    assert len(entries(PACKAGE)) <= 25


@pytest.fixture
def copy(tmp_path):
    return shutil.copytree(
        SOURCE, tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
    )


@pytest.mark.parametrize(
    ("file", "line", "says"),
    [
        ("core/units.py", "from railgauge.judging.judge import judge", "core imports judging"),
        ("core/units.py", "from railgauge.planning import plan", "imports planning"),
        ("core/units.py", "from railgauge import planning", "core imports planning"),
        ("core/units.py", "from ..run.store import Store", "core imports run, not below"),
        ("judging/judge.py", "import railgauge.run.store", "judging imports run, not below"),
        ("judging/judge.py", "def f():\n    import railgauge.run.runner", "imports run,"),
        ("tools/__init__.py", 'X = "railgauge.plugin.session"', "tools imports plugin, not below"),
        ("tools/perftest/parse.py", "from ...verdict import counts", "tools imports verdict"),
        ("report/html.py", "from railgauge.cli import main", "report imports cli, not below"),
        ("plugin/items.py", "from railgauge.cli import main", "plugin imports cli, not below"),
        ("run/runner.py", "from railgauge_lab import start", "run.runner:1: knows of the lab"),
        ("transport/registry.py", "import railgauge_lab", "registry:1: knows of the lab"),
        ("transport/registry.py", "X = 'railgauge_lab'", "registry:1: knows of the lab"),
        ("transport/registry.py", "from railgauge import labs", "imports labs, not below"),
        ("plugin/opening.py", "from railgauge_lab.netlab import run", "1: knows of the lab"),
        ("cli/lab.py", "def f():\n    from railgauge_lab import faults", "2: knows of the lab"),
        ("judging/judge.py", "import pytest", "pure, but imports pytest"),
        ("facts/parse.py", "import subprocess", "pure, but imports subprocess"),
        ("tools/perftest/plan.py", "from socket import socket", "pure, but imports socket.socket"),
        ("verdict/counts.py", 'X = "simulated"', "verdict.counts:1: knows of simulated evidence"),
        ("run/runner.py", "is_simulated = True", "run.runner:1: knows of simulated evidence"),
        ("run/holding.py", "import pytest", "run.holding:1: run imports pytest"),
        ("bundle/make.py", "from _pytest import config", "bundle imports _pytest.config"),
        (
            "run/survey.py",
            "if T:\n    from railgauge.run.services import RunServices",
            "run.services <- railgauge.run.survey",
        ),
        ("astrology.py", "import railgauge.core.errors", "astrology: has no place in the order"),
    ],
)  # fmt: skip
def test_a_bad_import_is_seen(copy, file, line, says):
    found = _complaints_with(line, copy / PRODUCT / file, copy)
    assert any(says in one for one in found), found


@pytest.mark.parametrize(
    ("file", "line", "name"),
    [
        ("server.py", "from railgauge.core.units import convert", "railgauge.core.units.convert"),
        ("server.py", "from railgauge.plugin import options", "railgauge.plugin.options"),
        ("sim/mpi.py", "import railgauge.cli.text", "railgauge.cli.text"),
        ("faults.py", "from railgauge import labs", "railgauge.labs"),
        ("faults.py", "from railgauge_lab import netlab", "railgauge_lab.netlab"),
        ("netlab/node.py", "import railgauge.core.units", "railgauge.core.units"),
        ("netlab/node.py", "from railgauge_lab import cluster", "railgauge_lab.cluster"),
        ("netlab/node.py", "from ..sim import mpi", "railgauge_lab.sim.mpi"),
    ],
)  # fmt: skip
def test_a_bad_import_in_the_lab_is_seen(copy, file, line, name):
    found = _complaints_with(line, copy / LAB / file, copy)
    assert any(one.endswith(f":1: the lab imports {name}") for one in found), found


def _complaints_with(line, path, source):
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(f"{line}\n{_without_future(old)}", encoding="utf-8")
    return complaints(source)


def _without_future(text):
    ast.parse(text)
    return text.replace("from __future__ import annotations\n", "")

"""One direction of imports; the pure code imports neither pytest, SSH nor subprocess."""

import ast
import shutil

import pytest
from import_layers import LABS, ORDER, complaints, entries
from testing.core_values import ROOT

PACKAGE = ROOT / "src" / "railgauge"


def test_the_package_keeps_to_one_direction():
    assert complaints(PACKAGE) == []


def test_every_folder_has_one_place_in_the_order():
    folders = {name for name in entries(PACKAGE) if not name.endswith(".py")}
    assert sorted({*ORDER, *LABS}) == sorted(folders)
    assert len(set(ORDER)) == len(ORDER)


def test_the_root_is_small():
    """The root has few entries, so that folder names show where a change belongs."""
    assert len(entries(PACKAGE)) <= 25


@pytest.fixture
def copy(tmp_path):
    return shutil.copytree(
        PACKAGE, tmp_path / "railgauge", ignore=shutil.ignore_patterns("__pycache__")
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
        ("run/runner.py", "from railgauge.lab import start", "run.runner:1: knows of the lab"),
        ("transport/registry.py", "from railgauge import lab", "registry:1: knows of the lab"),
        ("transport/registry.py", "from railgauge import netlab", "registry:1: knows of the lab"),
        ("netlab/node.py", "from railgauge.core.units import convert", "imports core.units"),
        ("netlab/node.py", "from railgauge.lab.cluster import start", "imports lab.cluster"),
        ("lab/server.py", "from railgauge.core.units import convert", "lab imports core.units"),
        ("lab/server.py", "from railgauge.judging.judge import judge", "lab imports judging"),
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
            "run.services <- run.survey",
        ),
        ("astrology.py", "import railgauge.core.errors", "astrology: has no place in the order"),
    ],
)  # fmt: skip
def test_a_bad_import_is_seen(copy, file, line, says):
    path = copy / file
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(f"{line}\n{_without_future(old)}", encoding="utf-8")
    assert any(says in found for found in complaints(copy)), complaints(copy)


def _without_future(text):
    ast.parse(text)
    return text.replace("from __future__ import annotations\n", "")

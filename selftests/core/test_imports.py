"""One direction of imports; the pure middle touches neither pytest, SSH nor processes."""

import ast
import shutil

import pytest
from core_values import ROOT
from import_layers import LABS, LAYERS, complaints

PACKAGE = ROOT / "src" / "railgauge"


def test_the_package_keeps_to_one_direction():
    assert complaints(PACKAGE) == []


def test_every_part_of_the_package_is_in_one_layer():
    parts = {path.stem for path in PACKAGE.iterdir() if path.stem not in ("__pycache__", "py")}
    layered = [part for layer in LAYERS for part in layer]
    assert len(layered) == len(set(layered))
    assert parts - {*LABS, "__init__"} == set(layered)


@pytest.fixture
def copy(tmp_path):
    return shutil.copytree(
        PACKAGE, tmp_path / "railgauge", ignore=shutil.ignore_patterns("__pycache__")
    )


@pytest.mark.parametrize(
    ("file", "line", "says"),
    [
        ("units.py", "from railgauge.judge import judge", "units imports judge, not below"),
        ("units.py", "from railgauge import plan", "units imports plan, not below"),
        ("units.py", "from .store import Store", "units imports store, not below"),
        ("judge.py", "import railgauge.store", "judge imports store, not below"),
        ("judge.py", "def f():\n    from railgauge.runner import Runner", "judge imports runner"),
        ("tools/__init__.py", 'X = "railgauge.plugin.session"', "tools imports plugin, not below"),
        ("tools/perftest/parse.py", "from ...verdict import count", "tools imports verdict"),
        ("report/html.py", "from railgauge.cli import main", "report imports cli, not below"),
        ("plugin/items.py", "from railgauge.cli import main", "plugin imports cli, not below"),
        ("runner.py", "from railgauge.lab import start", "runner:1: knows of the lab"),
        ("transport/registry.py", "from railgauge import lab", "transport:1: knows of the lab"),
        ("transport/registry.py", "from railgauge import netlab", "transport:1: knows of the lab"),
        ("netlab/node.py", "from railgauge.units import convert", "the lab imports units"),
        ("lab/server.py", "from railgauge.units import convert", "the lab imports units"),
        ("lab/server.py", "from railgauge.judge import judge", "the lab imports judge"),
        ("judge.py", "import pytest", "pure, but imports pytest"),
        ("facts/parse.py", "import subprocess", "pure, but imports subprocess"),
        ("tools/perftest/plan.py", "from socket import socket", "pure, but imports socket.socket"),
        ("verdict.py", 'X = "simulated"', "verdict:1: knows of simulated evidence"),
        ("runner.py", "is_simulated = True", "runner:1: knows of simulated evidence"),
        ("astrology.py", "import railgauge.errors", "astrology: is in no layer"),
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

"""The packages have no module, name or method that no run can reach."""

from __future__ import annotations

import re
import sys
from functools import cache

import pytest
from testing.core_values import ROOT
from testing.corpus_owners import OF_FACTS
from unused_names import Packages
from xdist.scheduler import Scheduling

# pytest-xdist calls these on the scheduler that ``pytest_xdist_make_scheduler`` returns.
CALLED = {"CaseScheduling": Scheduling}
# Platform files name facts by their paths: ``nics.mlx5_0.gids.3.roce_version``.
BY_PATH = {"railgauge.facts.model: GidFacts.roce_version"}


@cache
def product():
    users = [ROOT / "conftest.py", *sorted((ROOT / "tests").rglob("*.py"))]
    printed = (ROOT / "pyproject.toml").read_text()
    entries = re.findall(r'^[\w-]+ = "(railgauge\.[\w.]*(?::\w+)?)"', printed, re.MULTILINE)
    packages = [ROOT / "src" / name for name in ("railgauge", "railgauge_lab")]
    return Packages(packages, users, entries)


def test_everything_in_the_package_is_used():
    """Passes if a run can reach every name. Otherwise delete the listed names and their tests.

    A use in ``selftests`` does not count: what only they call tests nothing that is run.
    """
    assert product().unused() == []
    assert product().unused_methods(CALLED) == []


def test_everything_that_a_package_offers_is_taken_from_there():
    """Passes if some module of ``src`` imports it; a selftest imports from the defining module."""
    assert product().unused_exports() == []


def test_every_field_of_a_dataclass_is_read():
    assert sorted(set(product().unread_fields()) - BY_PATH) == []


def test_the_readers_of_the_recorded_outputs_are_those_that_run():
    readers = {(reader.__module__, reader.__name__) for reader in OF_FACTS.values()}
    assert readers - product().reached == set()


# --- what is found ---

SOURCE = {
    "__init__.py": "",
    "cli.py": "from made_up import shapes\nfrom made_up.registry import look_up\n"
    "def main():\n    return shapes.area(2), look_up('round').draw()\n",
    "registry.py": "from importlib import import_module\nfrom made_up.values import Box\n"
    "_MODULES = {'round': 'made_up.round'}\n"
    "def look_up(name):\n    return import_module(_MODULES[name])\n",
    "round.py": "def draw():\n    return _draw(1)\ndef _draw(n):\n    return n\n",
    "shapes.py": "SIDES = 4\ndef area(n):\n    return n * n\n",
    "values.py": "class Box:\n    def open(self):\n        return 1\n",
}


@pytest.fixture
def written(tmp_path, monkeypatch):
    def write(**more):
        for name, text in (SOURCE | {f"{key}.py": text for key, text in more.items()}).items():
            path = tmp_path / "made_up" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return Packages([tmp_path / "made_up"], (), ["made_up.cli:main"])

    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return write


def test_what_only_selftests_take_from_a_package_is_offered_to_nobody(written):
    both = "from made_up.box.inner import Box, Lid\n__all__ = ['Box', 'Lid']\n"
    inner = "class Box:\n    pass\nclass Lid:\n    pass\n"
    package = written(**{
        "box/__init__": both, "box/inner": inner,
        "cli": "from made_up.box import Box\ndef main():\n    return Box()\n",
    })  # fmt: skip
    assert package.unused_exports() == ["made_up.box: Lid"]


def test_a_field_that_nothing_reads_is_found(written):
    text = "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: int\n"
    package = written(cli=f"{text}    z: int\ndef main():\n    return P(1, 2, 3).x, 'a.z'\n")
    assert package.unread_fields() == ["made_up.cli: P.y"]


def test_what_a_registry_looks_up_by_name_is_used(written):
    assert written().unused() == ["made_up.shapes: SIDES", "made_up.values: Box"]


@pytest.mark.parametrize(
    ("file", "text", "names"),
    [
        ("lonely", "X = 1\n", ["made_up.lonely"]),
        ("round", "def draw(): pass\ndef erase(): pass\n", ["made_up.round: erase"]),
        # Two functions that only call each other, and one that calls itself.
        (
            "round",
            "def draw(): pass\ndef a(): b()\ndef b(): a()\ndef c(): c()\n",
            ["made_up.round: a", "made_up.round: b", "made_up.round: c"],
        ),
        # A local variable of the same name is not a use.
        (
            "round",
            "size = 3\ndef draw():\n    size = 4\n    return size\n",
            ["made_up.round: size"],
        ),
        # Nor is an import that is not used further.
        ("values", "class Box: pass\nclass Bag: pass\n", ["made_up.values: Bag"]),
    ],
)
def test_what_nothing_reaches_is_found(written, file, text, names):
    found = written(**{file: text}).unused()
    assert set(found) - {"made_up.shapes: SIDES", "made_up.values: Box"} == set(names)


def test_a_function_hides_the_module_that_is_called_as_it_is(written):
    files = {
        "tools/__init__": "from made_up.tools.ruler import MM\ndef ruler():\n    return MM\n",
        "tools/ruler": "MM = 1\nINCH = 25.4\n",
        "round": "from made_up.tools import ruler\ndef draw():\n    return ruler()\n",
    }
    assert "made_up.tools: ruler" not in written(**files).unused()
    assert "made_up.tools.ruler: INCH" in written(**files).unused()


def test_a_method_that_nothing_names_is_found(written):
    text = (
        "from ast import NodeVisitor\n"
        "class Pen:\n    def write(self): ...\n    def _ink(self): ...\n    def chew(self): ...\n"
        "class Walk(NodeVisitor):\n    def generic_visit(self, node): ...\n"
        "def draw():\n    Pen().write()\n    return Walk\n"
    )
    assert written(round=text).unused_methods() == ["made_up.round: Pen.chew"]
    assert written(round=text).unused_methods({"Pen": type("P", (), {"chew": 1})}) == []

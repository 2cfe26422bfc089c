"""Changes the code of verdicts, one place at a time, and lists what its unit tests do not detect.

    python selftests/mutation/mutants.py [MODULE ...]

The changes are those of Cosmic Ray (https://cosmic-ray.readthedocs.io) and of ``operators.py``.
No file is ever changed: each mutant is imported from memory, by a fork of this process that has
pytest and all that is not of this suite loaded already. A mutant that lives and is not listed in
``survivors.yaml`` is an error, exit code 1.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import importlib.abc
import importlib.util
import os
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import _hypothesis_pytestplugin  # noqa: F401 - loaded once, for all forks
import cosmic_ray.plugins
import hypothesis.internal.conjecture.engine  # noqa: F401 - as well
import pytest
import yaml
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from hypothesis import settings
from operators import OPERATORS

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
MODULES: dict[str, list[str]] = yaml.safe_load((FOLDER / "modules.yaml").read_text())
settings.register_profile("unhurried", deadline=None)
MOST_S = 120  # time for the tests of a module without a change
LIVES, DIES, LATE, ELSEWHERE = 0, 1, 98, 99


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed module, and the lines that differ: ``was`` and ``is_now``."""

    line: int
    was: str
    is_now: str
    source: str

    def __str__(self) -> str:
        return f"{self.was} -> {self.is_now}"


# Object identity of equal values depends on the interpreter, and identity has no order;
# of eleven other arithmetic operators five are enough.
_LEFT_OUT = re.compile(
    r"_(Eq|NotEq|Lt|LtE|Gt|GtE)_Is(Not)?$|_Is(Not)?_(Eq|NotEq|Lt|LtE|Gt|GtE)$"
    r"|BinaryOperator_\w+_(Div|FloorDiv|Mod|Pow|RShift|LShift|BitXor)$"
)


def mutants(source: str) -> Iterator[Mutant]:
    """Every change by every operator; annotations are left out."""
    names = (name for name in cosmic_ray.plugins.operator_names() if not _LEFT_OUT.search(name))
    found = [cosmic_ray.plugins.get_operator(name) for name in names]
    nodes, plain, seen = list(ast_nodes(get_ast(source))), _plain(source), set()
    for operator in [*(one for one in found if not one.arguments()), *OPERATORS]:
        places = sum(1 for node in nodes for _ in operator().mutation_positions(node))
        for occurrence in range(places):
            changed = mutate_code(source, operator(), occurrence)
            meant = changed and _plain(changed)
            if changed and meant and meant != plain and meant not in seen:
                seen.add(meant)
                yield _mutant(source, changed)


def _plain(source: str) -> str:
    """The code of a module without annotations and layout; empty if it is not Python.

    That its values are frozen and have slots keeps mistakes out, and changes no result.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return ""
    for node in ast.walk(tree):
        if isinstance(node, (ast.arg, ast.AnnAssign)):
            node.annotation = None  # type: ignore[assignment]
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "dataclass":
            node.keywords = []
    return ast.dump(tree)


def _mutant(source: str, changed: str) -> Mutant:
    old, new = source.splitlines(), changed.splitlines()
    for tag, start, end, first, last in difflib.SequenceMatcher(
        None, old, new, autojunk=False
    ).get_opcodes():
        if tag != "equal":
            both = (" ".join(map(str.strip, lines)) for lines in (old[start:end], new[first:last]))
            return Mutant(start + 1, *both, changed)
    raise ValueError("nothing differs")


# --- one run of the tests ---


class _FromMemory(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from the given code."""

    def __init__(self, name: str, path: Path, source: str) -> None:
        self.name, self.path, self.source = name, path, source

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name == self.name:
            return importlib.util.spec_from_loader(name, self, origin=str(self.path))
        return None

    def exec_module(self, module: Any) -> None:
        module.__file__ = str(self.path)
        exec(compile(self.source, self.path, "exec"), module.__dict__)


def _tested(finder: _FromMemory, tests: list[str]) -> int:
    """Whether the tests fail, in a separate process."""
    sys.meta_path.insert(0, finder)
    try:
        module = importlib.import_module(finder.name)
    except Exception:
        return DIES
    words = ["-x", "-q", "--disable-warnings", "--tb=short", "--noconftest"]
    words += ["-p", "_hypothesis_pytestplugin", "--hypothesis-seed=0"]
    code = pytest.main([*words, *(f"selftests/{one}" if ".py" in one else one for one in tests)])
    if sys.modules.get(finder.name) is not module:
        return ELSEWHERE
    return LIVES if code == pytest.ExitCode.OK else DIES


def outcome(module: str, source: str, limit_s: float, log: Path) -> int:
    """Whether the module's tests detect a mutant; one that never ends is detected too."""
    finder = _FromMemory(f"railgauge.{module}", _path(module), source)
    child = os.fork()
    if child == 0:
        os.setsid()
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        os._exit(_tested(finder, MODULES[module]))
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return LATE


def _path(module: str) -> Path:
    return ROOT.joinpath("src", "railgauge", *module.split(".")).with_suffix(".py")


def warm(module: str) -> None:
    """Imports all that a module needs, except itself, its package, and what uses it."""
    _forget("railgauge")
    importlib.import_module(f"railgauge.{module}")
    _forget(f"railgauge.{module.partition('.')[0]}")


def _forget(part: str) -> None:
    for name in [name for name in sys.modules if f"{name}.".startswith(f"{part}.")]:
        del sys.modules[name]


# --- the figure ---


def measured(module: str, allowed: dict[str, str], folder: Path) -> tuple[Counter[str], list[str]]:
    """The numbers of killed, declared and live mutants of a module, and the lines to print."""
    warm(module)
    source, log = _path(module).read_text(encoding="utf-8"), folder / "log"
    began = time.monotonic()
    if outcome(module, source, MOST_S, log) != LIVES:
        raise SystemExit(f"{module}: its tests fail as it is, or take too long\n{log.read_text()}")
    limit_s = 10 + 3 * (time.monotonic() - began)
    figures: Counter[str] = Counter()
    reported, met = [], set()
    for mutant in mutants(source):
        code = outcome(module, mutant.source, limit_s, log)
        if code == ELSEWHERE:
            raise SystemExit(f"{module}: the tests imported it from elsewhere\n{log.read_text()}")
        ends = "killed" if code else "listed" if str(mutant) in allowed else "alive"
        figures[ends] += 1
        figures["late"] += code == LATE
        met |= {str(mutant)} if ends == "listed" else set()
        if ends == "alive":
            reported.append(f"  {module}:{mutant.line}: {mutant}")
            print(reported[-1], flush=True)
    return figures, [
        *reported,
        *(f"  {module}: no longer lives: {one}" for one in allowed.keys() - met),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=", ".join(MODULES))
    chosen = parser.parse_args().modules or list(MODULES)
    listed = yaml.safe_load((FOLDER / "survivors.yaml").read_text()) or []
    os.chdir(ROOT)
    sys.path.append(str(ROOT / "selftests"))  # the package testing; no conftest.py is loaded
    settings.load_profile("unhurried")
    total: Counter[str] = Counter()
    complaints: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = folder
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        for module in chosen:
            began = time.monotonic()
            groups = [group for group in listed if group["module"] == module]
            allowed = {one: group["because"] for group in groups for one in group["mutants"]}
            figures, reported = measured(module, allowed, Path(folder))
            complaints += reported
            total += figures
            print(f"{_line(module, figures)}, {time.monotonic() - began:.0f} s", flush=True)
    print(_line("all", total), *complaints, sep="\n")
    return 1 if complaints else 0


def _line(name: str, figures: Counter[str]) -> str:
    count = sum(figures[ends] for ends in ("killed", "listed", "alive"))
    return (
        f"{name}: {count} mutants, {figures['killed']} killed ({figures['late']} by the clock), "
        f"{figures['listed']} live and change "
        f"no verdict (survivors.yaml), {figures['alive']} live"
    )


if __name__ == "__main__":
    sys.exit(main())

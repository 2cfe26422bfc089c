"""Read from the source of the tests what they ask for; no test is imported or collected.

A test names its subject with a mark, ``@pytest.mark.measures("NAME")`` or
``@pytest.mark.expects("NAME")``. Only a name that is a string literal is found here; pytest finds
others when it collects. A second mark names the hardware that a test needs,
``@pytest.mark.needs("gpus", "two nodes")``. It is at the test or, as ``pytestmark``, at the top of
the file for all of its tests.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from railgauge.core.errors import BadInput
from railgauge.core.question import FABRIC, FACT, RATIO, RESULTS, TRAFFIC, TRANSPORT
from railgauge.planning.demand import GPU, LINK, RUN, SIZE

MEASURES, EXPECTS = KINDS = ("measures", "expects")
NEEDS = "needs"

# Argument of a test -> the way in which it asks. ``check`` is not listed: it asks per part.
_ASKING = {
    "expect": FACT,
    "check_traffic": TRAFFIC,
    "check_transport": TRANSPORT,
    "check_ratio": RATIO,
    "check_fabric": FABRIC,
    "check_results": RESULTS,
}


@dataclass(frozen=True, slots=True)
class MarkedTest:
    """One test, and the measurement or expectation (``kind``) of the platform file that it names.

    ``where`` is the test's id without parameters, ``ways`` are the ways in which it asks, ``needs``
    is the hardware that must be declared. ``kind`` and ``name`` are empty if it names no subject.
    """

    where: str
    kind: str
    name: str
    ways: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


def ways_of(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the ways in which a test with these arguments asks for its subject."""
    per = next((name for name in (SIZE, LINK, GPU) if name in arguments), RUN)
    limits = (per,) if "check" in arguments else ()
    return (*limits, *(way for name, way in _ASKING.items() if name in arguments))


def marked_tests(root: Path) -> tuple[MarkedTest, ...]:
    """Return the tests below ``root``/tests; empty if the folder does not exist.

    Raises ``BadInput`` for a file that is not Python.
    """
    files = sorted((root / "tests").rglob("test_*.py"))
    return tuple(one for path in files for one in _of_file(path, path.relative_to(root)))


def _of_file(path: Path, shown: Path) -> tuple[MarkedTest, ...]:
    try:
        return _of_text(path.read_text(encoding="utf-8"), shown)
    except BadInput as error:
        raise BadInput(error.what, where=str(path)) from None
    except (OSError, ValueError, SyntaxError) as error:
        raise BadInput(f"cannot be read as Python: {error}", where=str(path)) from error


@cache  # a run asks twice: before it opens, and when it lists what else could be measured
def _of_text(text: str, shown: Path) -> tuple[MarkedTest, ...]:
    return tuple(_in_tree(ast.parse(text), shown))


def _in_tree(tree: ast.Module, shown: Path) -> Iterator[MarkedTest]:
    for_all = tuple(need for mark in _marks_of_file(tree) for need in _needs(mark))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            where = f"{shown.as_posix()}::{node.name}"
            own = (need for mark in node.decorator_list for need in _needs(mark))
            needs = tuple(dict.fromkeys((*for_all, *own)))
            ways = ways_of([argument.arg for argument in node.args.args])
            for kind, name in filter(None, map(_subject, node.decorator_list)):
                yield MarkedTest(where, kind, name, ways, needs)
            marks = (*node.decorator_list, *_marks_of_file(tree))
            if all(_name(mark) == NEEDS for mark in marks):
                yield MarkedTest(where, "", "")


def _marks_of_file(tree: ast.Module) -> list[ast.expr]:
    """Return the marks of ``pytestmark``, which hold for all tests of the file."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="pytestmark")], value=value):
                return value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value]
    return []


def _subject(mark: ast.expr) -> tuple[str, str] | None:
    match mark:
        case ast.Call(args=[ast.Constant(value=str(name))]) if _name(mark) in KINDS:
            return _name(mark), name
    return None


def _needs(mark: ast.expr) -> tuple[str, ...]:
    """Return the needs that a mark names. Raises ``BadInput`` unless all are string literals."""
    if not isinstance(mark, ast.Call) or _name(mark) != NEEDS:
        return ()
    named = [arg.value for arg in mark.args if isinstance(arg, ast.Constant)]
    if len(named) < len(mark.args) or not all(isinstance(one, str) for one in named):
        what = f"line {mark.lineno}: needs takes string literals only, such as needs('gpus')"
        raise BadInput(what)
    return tuple(map(str, named))


def _name(mark: ast.expr) -> str:
    """Return ``measures`` for ``pytest.mark.measures(...)``; empty if it is not a call."""
    match mark:
        case ast.Call(func=ast.Attribute(attr=name)):
            return name
    return ""

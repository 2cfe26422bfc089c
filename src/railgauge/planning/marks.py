"""Read the subjects of tests from their source; no test is imported or collected.

A test names its subject with a mark, ``@pytest.mark.measures("NAME")`` or
``@pytest.mark.expects("NAME")``. A mark with several names is that of a *family*: its subjects are
judged alike, and the test gets the current one as its argument ``measurement`` or ``expectation``.
Only string literals are found here, and tuples of them that have a name at the top of the file
(``*NAMES``); pytest finds others when it collects. A second mark names the hardware that a test
needs, ``@pytest.mark.needs("gpus", "two nodes")``. It is at the test or, as ``pytestmark``, at the
top of the file for all of its tests.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from railgauge.core.errors import BadInput
from railgauge.core.question import FABRIC, FACT, RATIO, RESULTS, TRAFFIC, TRANSPORT
from railgauge.planning.required import GPU, LINK, RUN, SIZE

MEASURES, EXPECTS = KINDS = ("measures", "expects")
NEEDS = "needs"
MEMBER = {MEASURES: "measurement", EXPECTS: "expectation"}
"""The argument of a family's test, by the kind of its subjects."""

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


@cache  # a run needs it twice: before it opens, and when it lists further possible measurements
def _of_text(text: str, shown: Path) -> tuple[MarkedTest, ...]:
    return tuple(_in_tree(ast.parse(text), shown))


def _in_tree(tree: ast.Module, shown: Path) -> Iterator[MarkedTest]:
    for_all = tuple(need for mark in _marks_of_file(tree) for need in _needs(mark))
    tuples = tuples_of(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            where = f"{shown.as_posix()}::{node.name}"
            own = (need for mark in node.decorator_list for need in _needs(mark))
            needs = tuple(dict.fromkeys((*for_all, *own)))
            arguments = [argument.arg for argument in node.args.args]
            ways = ways_of(arguments)
            for mark in node.decorator_list:
                for kind, name in _subjects(mark, tuples, arguments):
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


def tuples_of(tree: ast.Module) -> dict[str, tuple[str, ...]]:
    """Return the tuples of string literals that have a name at the top of the file."""
    found: dict[str, tuple[str, ...]] = {}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Tuple(elts=values)):
                texts = literals(values, {})
                if len(texts) == len(values):
                    found[name] = texts
    return found


def _subjects(
    mark: ast.expr, tuples: Mapping[str, Sequence[str]], arguments: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield kind and name of each subject of a mark. Raises ``BadInput`` for a wrong family."""
    kind = _name(mark)
    if isinstance(mark, ast.Call) and kind in KINDS:
        names = literals(mark.args, tuples)
        are_known = all(literals([one], tuples) for one in mark.args)
        if names and are_known and (what := wrong_family(kind, names, arguments)):
            raise BadInput(f"line {mark.lineno}: {what}")
        yield from ((kind, name) for name in names)


def wrong_family(kind: str, names: Sequence[str], arguments: Sequence[str]) -> str:
    """Return what is wrong with the names of a mark or the arguments of its test; else nothing."""
    member = MEMBER[kind]
    if len({*names}) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        return f"{kind} names {twice!r} twice"
    if len(names) > 1 and member not in arguments:
        return f"{kind} has {len(names)} names, so that the test needs the argument {member!r}"
    if len(names) == 1 and member in arguments:
        return f"the argument {member!r} is for a test whose mark {kind} has several names"
    return ""


def _needs(mark: ast.expr) -> tuple[str, ...]:
    """Return the needs that a mark names. Raises ``BadInput`` unless all are string literals."""
    if not isinstance(mark, ast.Call) or _name(mark) != NEEDS:
        return ()
    named = literals(mark.args, {})
    if len(named) < len(mark.args):
        what = f"line {mark.lineno}: needs takes string literals only, such as needs('gpus')"
        raise BadInput(what)
    return named


def literals(values: Sequence[ast.expr], tuples: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the string literals among these values, and those of the ``tuples`` unpacked there."""
    found: list[str] = []
    for value in values:
        match value:
            case ast.Constant(value=str(text)):
                found.append(text)
            case ast.Starred(value=ast.Name(id=name)):
                found += tuples.get(name, ())
    return tuple(found)


def _name(mark: ast.expr) -> str:
    """Return ``measures`` for ``pytest.mark.measures(...)``; empty if it is not a call."""
    match mark:
        case ast.Call(func=ast.Attribute(attr=name)):
            return name
    return ""

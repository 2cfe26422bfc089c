"""Read from the source of the tests what they ask for; no test is imported or collected.

A test names its subject with a mark, ``@pytest.mark.measures("NAME")`` or
``@pytest.mark.expects("NAME")``. Only a name that is a string literal is found here; pytest finds
others when it collects.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from railgauge.core.errors import BadInput
from railgauge.core.question import FABRIC, FACT, RATIO, RESULTS, TRAFFIC, TRANSPORT
from railgauge.planning.demand import GPU, LINK, RUN, SIZE

KINDS = ("measures", "expects")

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

    ``where`` is the test's id without parameters, ``ways`` are the ways in which it asks. ``kind``
    and ``name`` are empty if the test names none.
    """

    where: str
    kind: str
    name: str
    ways: tuple[str, ...] = ()


def ways_of(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the ways in which a test with these arguments asks for its subject."""
    per = next((name for name in (SIZE, LINK, GPU) if name in arguments), RUN)
    limits = (per,) if "check" in arguments else ()
    return (*limits, *(way for name, way in _ASKING.items() if name in arguments))


def asked(root: Path) -> tuple[MarkedTest, ...]:
    """Return the tests below ``root``/tests; empty if the folder does not exist.

    Raises ``BadInput`` for a file that is not Python.
    """
    files = sorted((root / "tests").rglob("test_*.py"))
    return tuple(one for path in files for one in _of_file(path, path.relative_to(root)))


def _of_file(path: Path, shown: Path) -> Iterator[MarkedTest]:
    try:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
    except (OSError, ValueError, SyntaxError) as error:
        raise BadInput(f"cannot be read as Python: {error}", where=str(path)) from error
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            where = f"{shown.as_posix()}::{node.name}"
            ways = ways_of([argument.arg for argument in node.args.args])
            for kind, name in filter(None, map(_mark, node.decorator_list)):
                yield MarkedTest(where, kind, name, ways)
            if not node.decorator_list and "pytestmark" not in text:
                yield MarkedTest(where, "", "")


def _mark(decorator: ast.expr) -> tuple[str, str] | None:
    match decorator:
        case ast.Call(func=ast.Attribute(attr=kind), args=[ast.Constant(value=str(name))]):
            return (kind, name) if kind in KINDS else None
    return None

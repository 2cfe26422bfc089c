"""What the tests of a folder are about, read from their source: no test is imported or collected.

A test says so with a mark, ``@pytest.mark.measures("NAME")`` or ``@pytest.mark.expects("NAME")``.
A mark whose name is not written out is not seen here; pytest sees it when it collects.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from railgauge.errors import BadInput

KINDS = ("measures", "expects")


@dataclass(frozen=True, slots=True)
class Asked:
    """One test, and the measurement or expectation (``kind``) of the platform file it names.

    ``where`` is the test's id without parameters. Both others are empty if it names none.
    """

    where: str
    kind: str
    name: str


def asked(root: Path) -> tuple[Asked, ...]:
    """What the tests below ``root``/tests are about; nothing where there is no such folder.

    Raises ``BadInput`` for a file that is not Python.
    """
    files = sorted((root / "tests").rglob("test_*.py"))
    return tuple(one for path in files for one in _of_file(path, path.relative_to(root)))


def _of_file(path: Path, shown: Path) -> Iterator[Asked]:
    try:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
    except (OSError, ValueError, SyntaxError) as error:
        raise BadInput(f"cannot be read as Python: {error}", where=str(path)) from error
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            where = f"{shown.as_posix()}::{node.name}"
            for kind, name in filter(None, map(_mark, node.decorator_list)):
                yield Asked(where, kind, name)
            if not node.decorator_list and "pytestmark" not in text:
                yield Asked(where, "", "")


def _mark(decorator: ast.expr) -> tuple[str, str] | None:
    match decorator:
        case ast.Call(func=ast.Attribute(attr=kind), args=[ast.Constant(value=str(name))]):
            return (kind, name) if kind in KINDS else None
    return None

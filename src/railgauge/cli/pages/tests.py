"""The page of the acceptance tests, made from their docstrings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from railgauge.planning.marks import NEEDS, literals, marked_tests, tuples_of

PARTS = ("Pass", "Fail", "Remedy")
# Arguments that multiply a test into items; all others are fixtures.
_EACH = ("node", "pair", "group", "pairing", "size", "gpu", "link", "nic", "adapter", "switch")

_HEAD = """\
# The acceptance tests

Each test states when it passes, when it fails, and what to do then. Its limit is in the platform
file (`railgauge docs limits`), under the measurement or expectation that is named with it. What a
test needs is hardware that must be declared; otherwise the test is not applicable.

Three outcomes mean the same for every test, and none of them is a pass. **Error**: there is no
value to judge, because the program is missing, stopped early, printed unreadable output, or did
something else than was asked; the item states which, and what to do. **Blocked**: a lower rung
failed on the same nodes, so nothing was measured. **Not run**: the run ended before it came to this
item.
"""


@dataclass(frozen=True)
class AcceptanceTest:
    """One test function: its file, the parts of its docstring by name, the hardware it needs."""

    path: Path
    function: ast.FunctionDef
    tuples: Mapping[str, Sequence[str]]
    needs: tuple[str, ...]

    @property
    def title(self) -> str:
        return self._doc.partition("\n")[0]

    @cached_property
    def _doc(self) -> str:
        return ast.get_docstring(self.function) or ""

    @cached_property
    def parts(self) -> dict[str, str]:
        """The sentence after each label: titles of the members of a family, then ``PARTS``."""
        found = re.findall(r"^(\w+): (.*(?:\n +.*)*)", self._doc, re.MULTILINE)
        return {label: " ".join(text.split()) for label, text in found}

    @property
    def subjects(self) -> list[str]:
        return [name for mark, names in self.marks if mark != NEEDS for name in names]

    @property
    def each(self) -> list[str]:
        """The arguments that multiply the test into items."""
        return [one.arg for one in self.function.args.args if one.arg in _EACH]

    @property
    def marks(self) -> Iterator[tuple[str, list[str]]]:
        """Name and arguments of each mark: ``("measures", ["gpu_write_bandwidth"])``."""
        for mark in self.function.decorator_list:
            if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Attribute):
                yield mark.func.attr, [*literals(mark.args, self.tuples)]


def acceptance_tests(root: Path) -> list[AcceptanceTest]:
    """Every test in ``root``/tests, in the order of the rungs and files."""
    needs = {test.where: test.needs for test in marked_tests(root)}
    return [
        AcceptanceTest(
            path, node, tuples_of(tree), needs[f"{path.relative_to(root).as_posix()}::{node.name}"]
        )
        for path in sorted((root / "tests").rglob("test_*.py"), key=_place)
        for tree in [ast.parse(path.read_text(encoding="utf-8"))]
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]


def _place(path: Path) -> tuple[str, str]:
    """Rung before name: the module's docstring begins with ``Rung 2:``."""
    return _about(path).partition(":")[0], path.name


def _about(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


def page(root: Path) -> str:
    """The page ``tests``: every test of a site."""
    return "\n".join((_HEAD, *_files(root)))


def _files(root: Path) -> Iterator[str]:
    path = None
    for test in acceptance_tests(root):
        if test.path != path:
            path = test.path
            yield f"## `{path.relative_to(root)}`\n\n{_about(path)}\n"
        yield from _shown(test)


def _shown(test: AcceptanceTest) -> Iterator[str]:
    judged = "; ".join(f"{name} `{', '.join(w)}`" for name, w in test.marks if name != NEEDS)
    yield f"### `{test.function.name}`\n\n{test.title}\n"
    needs = f"; needs {', '.join(test.needs)}" if test.needs else ""
    yield f"- {judged}; one item for each {', '.join(test.each)}{needs}"
    for label, text in test.parts.items():
        yield f"- **{label}:** {text}" if label in PARTS else f"- `{label}`: {text}"
    yield ""

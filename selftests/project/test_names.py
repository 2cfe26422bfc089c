"""No two public classes or type aliases of the packages share a name."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from testing.core_values import ROOT

_CAMEL = re.compile(r"[A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*")


def shared_names(source: Path) -> dict[str, list[str]]:
    """Names of classes, of classes in them, and of type aliases that occur twice, with the modules.

    Aliases below ``if TYPE_CHECKING:`` do not count: the lab's programs name the parts of their
    JSON there, for the type checker alone, and no other module can import them.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(source.rglob("*.py")):
        inner = path.relative_to(source).as_posix()
        for name in _names(ast.parse(path.read_text(encoding="utf-8")).body):
            found[name].append(inner)
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def _names(body: Iterable[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name
            yield from _names(node.body)
        elif alias := _alias(node):
            yield alias


def _alias(node: ast.stmt) -> str:
    """The name that a statement gives to a type; it is in capitals, and a constant in all caps."""
    target = None
    if isinstance(node, ast.AnnAssign) and "TypeAlias" in ast.unparse(node.annotation):
        target = node.target
    elif isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
    elif type(node).__name__ == "TypeAlias":  # Python 3.12: type Name = ...
        target = node.name  # type: ignore[attr-defined]
    return target.id if isinstance(target, ast.Name) and _CAMEL.fullmatch(target.id) else ""


def test_no_two_public_classes_or_aliases_share_a_name():
    """Passes if each name is unique.

    Otherwise rename the less used of the two with the words of its field; if both are the same
    alias, define it in the lower module alone.
    """
    assert shared_names(ROOT / "src") == {}


ALIAS = "Found = dict[str, int]\n"


@pytest.mark.parametrize(
    "text",
    [
        "class Found:\n    pass\n",
        "class Outer{}:\n    class Found:\n        pass\n",
        ALIAS,
        "Found: TypeAlias = dict[str, int]\n",
        "Found = A | B\n",
        'Found = TypeVar("Found")\n',
    ],
)
@pytest.mark.parametrize("folder", ["b", "tools/two"])
def test_a_name_in_two_modules_is_found(tmp_path, text, folder):
    for at, name in enumerate(["tools/one/a.py", f"{folder}/c.py"]):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text.replace("{}", str(at)))
    assert shared_names(tmp_path) == {"Found": sorted(["tools/one/a.py", f"{folder}/c.py"])}


def test_one_module_has_each_name_once(tmp_path):
    (tmp_path / "a.py").write_text(f"{ALIAS}class Found:\n    pass\n")
    assert shared_names(tmp_path) == {"Found": ["a.py", "a.py"]}


@pytest.mark.parametrize(
    "text",
    [
        "class _Own:\n    pass\n",
        "_Own = dict[str, int]\n",
        "LIMIT = 3\n",
        "limit = 3\n",
        "class _Own:\n    class Inner:\n        pass\n",
        f"if TYPE_CHECKING:\n    {ALIAS}",
    ],
)
def test_private_names_and_constants_may_repeat(tmp_path, text):
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(text)
    assert shared_names(tmp_path) == {}

"""No two public classes of the package share a name."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

from testing.core_values import ROOT


def shared_names(source: Path) -> dict[str, list[str]]:
    """Names that are defined twice, with the modules.

    The folders of two tools are strangers to each other: each may have a ``Row`` of its own.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(source.rglob("*.py")):
        inner = path.relative_to(source)
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(inner.as_posix())
    return {
        name: paths for name, paths in found.items() if len(paths) > 1 and not _are_strangers(paths)
    }


def _are_strangers(paths: list[str]) -> bool:
    tools = {_tool(path) for path in paths}
    return len(tools) == len(paths) and "" not in tools


def _tool(path: str) -> str:
    """The tool in whose folder a file is; empty for a file that others import too."""
    part, *inner = path.split("/")
    return inner[0] if part == "tools" and len(inner) > 1 else ""


def test_no_two_public_classes_share_a_name():
    """Passes if each name is unique. Otherwise rename the less used of the two classes."""
    assert shared_names(ROOT / "src" / "railgauge") == {}


def written(folder: Path, *names: str) -> dict[str, list[str]]:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("class Found:\n    pass\n\n\nclass _Own:\n    pass\n")
    return shared_names(folder)


def test_two_modules_with_one_name_are_found(tmp_path):
    assert written(tmp_path, "a.py", "b/c.py") == {"Found": ["a.py", "b/c.py"]}


def test_tools_do_not_meet_but_meet_the_rest(tmp_path):
    assert written(tmp_path, "tools/one/rows.py", "tools/two/rows.py") == {}
    assert written(tmp_path, "tools/shared.py") != {}


def test_one_tool_has_each_name_once(tmp_path):
    assert written(tmp_path, "tools/one/rows.py", "tools/one/tables.py") != {}

"""The one direction of imports, and violations of it in ``src``: of the product and of its lab."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

# Lowest first: a folder may import from those before it only.
ORDER = (
    "core", "subnet", "stacks", "launchers", "containers", "config", "transport", "facts",
    "leases", "tools", "planning", "judging", "describing", "diagnosis", "verdict", "trend", "run",
    "report", "bundle", "site", "labs", "acceptance", "plugin", "cli",
)  # fmt: skip
PRODUCT, LAB = "railgauge", "railgauge_lab"
# The only folder of the product that imports the lab; plugin and cli, which are above it, use it.
DOOR = "labs"
# No units and no parser: a mistake shared by the lab and the code under test would stay hidden.
LAB_MAY_IMPORT = ("railgauge.core.errors", "railgauge.core.model")
NETLAB = "netlab"
# Of the other lab: the SSH server that both run; it tests no part of the product.
NETLAB_MAY_IMPORT = (NETLAB, "sessions")

PURE = set(ORDER) - {
    "transport",
    "run",
    "report",
    "bundle",
    "site",
    DOOR,
    "acceptance",
    "plugin",
    "cli",
}
EFFECTS = {"pytest", "_pytest", "paramiko", "fabric", "asyncssh", "subprocess", "socket"}
TESTERS = {"pytest", "_pytest", "xdist"}
MAY_IMPORT_PYTEST = {"report", "site", "plugin"}
MAY_SAY_SIMULATED = tuple(
    f"{PRODUCT}.{part}" for part in ("judging.stamp", "plugin", "report", "cli")
)

Import = tuple[str, int, str]
"""Full name of the module that imports, line, and the full name of what it imports."""


def complaints(source: Path) -> list[str]:
    """Every violation in a source tree, which holds both packages, one line each."""
    found = list(_imports(source))
    lines = [line for module, number, name in found if (line := _wrong(module, name, number))]
    parts = {name.removesuffix(".py") for name in entries(source / PRODUCT)}
    unknown = sorted(parts - {*ORDER, "__init__"})
    lines += [f"{part}: has no place in the order" for part in unknown]
    return [*lines, *_simulated(source), *_circles(source, found)]


def _circles(source: Path, found: Iterable[Import]) -> Iterator[str]:
    """Files that import each other, also for types only; a folder's ``__init__`` is left out."""
    names = {_module(path.relative_to(source)): path for path in source.rglob("*.py")}
    files = {name for name, path in names.items() if path.stem != "__init__"}
    graph: dict[str, set[str]] = {name: set() for name in files}
    for module, _, name in found:
        target = name if name in names else name.rpartition(".")[0]
        if module in files and target in files and target != module:
            graph[module].add(target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        yield f"{' <- '.join(error.args[1])}: a circle"


def entries(package: Path) -> set[str]:
    """Files and folders with code; a folder that was moved away leaves compiled files."""
    return {path.relative_to(package).parts[0] for path in package.rglob("*.py")}


def _wrong(module: str, name: str, number: int) -> str:
    package, part = _part(module)
    top, target = _part(name)
    where = f"{module}:{number}"
    if package == LAB:
        return "" if _may_lab(part, name) else f"{where}: the lab imports {name}"
    if top == LAB:
        return "" if part == DOOR else f"{where}: knows of the lab"
    if top in TESTERS and part in set(ORDER) - MAY_IMPORT_PYTEST - PURE:
        return f"{where}: {part} imports {name}"
    if top != PRODUCT:
        return f"{where}: pure, but imports {name}" if part in PURE and top in EFFECTS else ""
    if target in (part, "__init__", "__version__"):
        return ""
    return "" if _level(target) < _level(part) else f"{where}: {part} imports {target}, not below"


def _part(name: str) -> tuple[str, str]:
    """The package that a full name is in, and the entry of its root."""
    package, _, inner = name.partition(".")
    return package, inner.partition(".")[0] or "__init__"


def _may_lab(part: str, name: str) -> bool:
    """Whether this entry of the lab's root may import what has the full name."""
    top, target = _part(name)
    if top == PRODUCT:
        return _is_in(name, LAB_MAY_IMPORT)
    if top == LAB:
        return target in NETLAB_MAY_IMPORT if part == NETLAB else target != NETLAB
    return True


def _is_in(module: str, parts: Iterable[str]) -> bool:
    return any(f"{module}.".startswith(f"{part}.") for part in parts)


def _level(part: str) -> int:
    return ORDER.index(part) if part in ORDER else -1


def _imports(source: Path) -> Iterator[Import]:
    for path in sorted(source.rglob("*.py")):
        inner = path.relative_to(source)
        for number, name in _of_file(inner, path.read_text(encoding="utf-8")):
            yield _module(inner), number, name


@cache
def _of_file(inner: Path, text: str) -> list[tuple[int, str]]:
    return [
        (node.lineno, name) for node in ast.walk(ast.parse(text)) for name in _names(node, inner)
    ]


def _module(inner: Path) -> str:
    return ".".join(inner.with_suffix("").parts).removesuffix(".__init__")


def _names(node: ast.AST, path: Path) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            above = path.with_suffix("").parts[: -node.level]
            base = ".".join([*above, *base.split(".")]).strip(".")
        return [f"{base}.{alias.name}" for alias in node.names]
    return _named_at_run_time(node)


def _named_at_run_time(node: ast.AST) -> list[str]:
    """Modules imported by name: strings that look like a module of one of the packages."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        words = node.value.split(".")
        is_module = words[0] == LAB or (words[0] == PRODUCT and len(words) > 1)
        if is_module and all(map(str.isidentifier, words)):
            return [node.value]
    return []


def _simulated(source: Path) -> Iterator[str]:
    """Strings and names in code (not docstrings) that refer to simulated evidence."""
    for path in sorted((source / PRODUCT).rglob("*.py")):
        module, text = _module(path.relative_to(source)), path.read_text(encoding="utf-8")
        if not _is_in(module, MAY_SAY_SIMULATED) and "simulated" in text.lower():
            for number in _said(text):
                yield f"{module}:{number}: knows of simulated evidence"


def _said(text: str) -> Iterator[int]:
    tree = ast.parse(text)
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        printed = getattr(node, "value", "") if isinstance(node, ast.Constant) else ""
        name = getattr(node, "id", getattr(node, "attr", ""))
        if id(node) not in docs and "simulated" in f"{printed}{name}".lower():
            yield node.lineno

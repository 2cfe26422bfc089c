"""The one direction of imports, and what a source tree does against it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

# Lowest first: a part may import from layers below its own, and from nowhere else.
LAYERS = (
    {"errors", "model"},
    {"nodeset", "chain"},
    {"units", "plain", "question", "redaction", "handout", "tag", "naming"},
    {"schema", "leases", "holder", "stacks", "launchers", "subnet"},
    {"hostfile", "thresholds", "facts"},
    {"pairing", "localise", "transport", "tools"},
    {"dispersion", "stamp"},
    {
        "plan",
        "evidence",
        "judge",
        "store",
        "traffic",
        "sessions",
        "linkcheck",
        "slotlimit",
        "results",
    },
    {"runner", "confirmation", "record", "forecast", "agreement", "expectation", "ladder"},
    {"diagnose", "assess", "demand"},
    {"asked", "unanswered"},
    {"survey", "nodelease", "verdict", "gates", "prepare", "trend", "derive", "soundness"},
    {"decision", "confirm"},
    {"bundle", "resume", "inputs"},
    {"report"},
    {"plugin", "cli"},
)
LAB = "lab"
LABS = {LAB, "netlab"}
LAB_MAY_IMPORT = {"errors", "model"}
FACES = {"plugin", "cli"}

PURE = {
    "errors", "model", "units", "thresholds", "pairing", "dispersion", "evidence", "judge",
    "record", "verdict", "facts", "localise", "stacks", "tools", "launchers", "traffic", "diagnose",
    "plain", "question", "redaction", "agreement", "expectation", "assess", "decision", "confirm",
    "confirmation", "trend",
    "derive", "demand", "ladder", "soundness", "unanswered", "forecast", "handout", "tag", "holder",
    "linkcheck", "slotlimit", "naming", "stamp", "nodeset", "chain", "results",
}  # fmt: skip
EFFECTS = {"pytest", "_pytest", "paramiko", "fabric", "asyncssh", "subprocess", "socket"}
MAY_SAY_SIMULATED = {"stamp", "plugin", "report", "cli", LAB}

Import = tuple[str, int, str]
"""Part that imports, line, and the dotted name that it imports."""


def complaints(package: Path) -> list[str]:
    """Everything in a source tree that is against the order; a line each."""
    found = list(_imports(package))
    lines = [line for part, number, name in found if (line := _wrong(part, name, number))]
    parts = {part for part, _, _ in found}
    known = {*(part for layer in LAYERS for part in layer), *LABS, "__init__"}
    lines += [f"{part}: is in no layer" for part in sorted(parts - known)]
    return lines + list(_simulated(package))


def _wrong(part: str, name: str, number: int) -> str:
    top, *inner = name.split(".")
    where = f"{part}:{number}"
    if top != "railgauge":
        return f"{where}: pure, but imports {name}" if part in PURE and top in EFFECTS else ""
    target = inner[0] if inner else "__init__"
    if target in (part, "__init__", "__version__"):
        return ""
    if part in LABS:
        return "" if target in LAB_MAY_IMPORT else f"{where}: the lab imports {target}"
    if target in LABS:
        return "" if part in FACES else f"{where}: knows of the lab"
    return "" if _level(target) < _level(part) else f"{where}: {part} imports {target}, not below"


def _level(part: str) -> int:
    return next((level for level, layer in enumerate(LAYERS) if part in layer), -1)


def _imports(package: Path) -> Iterator[Import]:
    for path in sorted(package.rglob("*.py")):
        inner = path.relative_to(package)
        for number, name in _of_file(inner, path.read_text(encoding="utf-8")):
            yield _part(inner), number, name


@cache
def _of_file(inner: Path, text: str) -> list[tuple[int, str]]:
    return [
        (node.lineno, name)
        for node in ast.walk(ast.parse(text))
        for name in _names(node, "railgauge" / inner)
    ]


def _part(inner: Path) -> str:
    return inner.parts[0].removesuffix(".py")


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
    """Modules that are imported by name: strings that read like one of the package's."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        words = node.value.split(".")
        if words[0] == "railgauge" and len(words) > 1 and all(map(str.isidentifier, words)):
            return [node.value]
    return []


def _simulated(package: Path) -> Iterator[str]:
    """Strings and names in code, not docstrings, that know evidence may be simulated."""
    for path in sorted(package.rglob("*.py")):
        part, text = _part(path.relative_to(package)), path.read_text(encoding="utf-8")
        if part not in MAY_SAY_SIMULATED and "simulated" in text.lower():
            for number in _said(text):
                yield f"{part}:{number}: knows of simulated evidence"


def _said(text: str) -> Iterator[int]:
    tree = ast.parse(text)
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        said = getattr(node, "value", "") if isinstance(node, ast.Constant) else ""
        name = getattr(node, "id", getattr(node, "attr", ""))
        if id(node) not in docs and "simulated" in f"{said}{name}".lower():
            yield node.lineno

"""What code uses of pytest and its plugins that their authors have not made public."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

_PRIVATE = re.compile(r"_[a-z]\w*")
_INNER = re.compile(r"_pytest(\..*)?|xdist\..*")


def private_uses(path: Path, package: Path) -> set[str]:
    """The private names that a file of a package uses, and what it imports from inside of others.

    A name that the file defines, or a module of the package that it imports, is none of others.
    """
    tree = _read(path)
    own = _defined(tree).union(*(_defined(_read(one)) for one in _modules(tree, package)))
    named = {one for node in ast.walk(tree) for one in _named(node) if _PRIVATE.fullmatch(one)}
    return (named - own) | {one for node in ast.walk(tree) for one in _imported(node)}


def _read(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _modules(tree: ast.AST, package: Path) -> Iterator[Path]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            path = package.parent.joinpath(*node.module.split(".")).with_suffix(".py")
            if path.is_relative_to(package) and path.is_file():
                yield path


def _named(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Attribute():
            yield node.attr
        case ast.keyword():
            yield node.arg or ""
        case ast.Constant(value=str()):
            yield str(node.value)


def _defined(tree: ast.AST) -> set[str]:
    """Names of functions, classes and variables, and of attributes that are set or annotated."""
    found = set[str]()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                found.add(node.name)
            case ast.Name(ctx=ast.Store()):
                found.add(node.id)
            case ast.Attribute(value=ast.Name(id="self"), ctx=ast.Store()):
                found.add(node.attr)
    return found


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom) and node.module and _INNER.fullmatch(node.module):
        yield from (f"{node.module}.{alias.name}" for alias in node.names)

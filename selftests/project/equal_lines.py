"""Finds places of a source tree that share a run of equal lines: code that should stand once.

Compared are lines of code without their indentation. Blank lines, comments, docstrings and imports
do not count: two modules may well import the same names. The head of a function is one line,
however many it is written on: two functions may well take the same arguments.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

MOST = 5  # equal consecutive lines that two places may share

Place = tuple[Path, int]
"""A file and the number of a line in it, from 1."""


def shared_lines(source: Path, most: int = MOST) -> list[str]:
    """``one.py:3 and other.py:7 share 9 lines: the first of them``, one for each run, sorted."""
    files = {path: _code(path.read_text(encoding="utf-8")) for path in sorted(source.rglob("*.py"))}
    places: dict[tuple[str, ...], list[tuple[Path, int]]] = defaultdict(list)
    for path, lines in files.items():
        for start in range(len(lines) - most):
            places[tuple(text for _, text in lines[start : start + most + 1])].append((path, start))
    return sorted(
        f"{one.relative_to(source)}:{files[one][i][0]} and {other.relative_to(source)}:"
        f"{files[other][j][0]} share {_length(files[one][i:], files[other][j:])} lines: "
        f"{files[one][i][1]}"
        for found in places.values()
        for (one, i), (other, j) in _pairs(found)
        if not (
            i and j and files[one][i - 1][1] == files[other][j - 1][1]
        )  # a line that occurred before
    )


def _pairs(found: list[tuple[Path, int]]) -> Iterator[tuple[tuple[Path, int], tuple[Path, int]]]:
    """The first place with each of the others."""
    return ((found[0], other) for other in found[1:])


def _length(one: list[tuple[int, str]], other: list[tuple[int, str]]) -> int:
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a[1] != b[1]), min(len(one), len(other)))


def _code(text: str) -> list[tuple[int, str]]:
    """The lines that are compared, each with its number."""
    tree = ast.parse(text)
    heads = _heads(tree)
    left_out = _docs_and_imports(tree) | _comments(text) | {n for head in heads for n in head[1:]}
    lines = [line.strip() for line in text.splitlines()]
    joined = {head[0]: "".join(lines[number - 1] for number in head) for head in heads}
    return [
        (number, joined.get(number, line))
        for number, line in enumerate(lines, 1)
        if line and number not in left_out
    ]


def _heads(tree: ast.AST) -> list[range]:
    """The lines of each function head that spans several lines."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in ast.walk(tree) if isinstance(node, functions)]
    return [range(n.lineno, n.body[0].lineno) for n in nodes if n.body[0].lineno > n.lineno + 1]


def _docs_and_imports(tree: ast.AST) -> set[int]:
    nodes = (node for node in ast.walk(tree) if _is_doc(node) or _is_import(node))
    return {line for node in nodes for line in range(node.lineno, (node.end_lineno or 0) + 1)}


def _is_doc(node: ast.AST) -> bool:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_text and isinstance(node.value.value, str)


def _is_import(node: ast.AST) -> bool:
    return isinstance(node, (ast.Import, ast.ImportFrom))


def _comments(text: str) -> set[int]:
    """Lines that hold only a comment."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return {
        token.start[0]
        for token in tokens
        if token.type == tokenize.COMMENT and token.line.lstrip().startswith("#")
    }

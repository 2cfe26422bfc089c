"""What the tests below ``tests/`` ask for, read from their source: nothing is imported or run.

A test says what it is about with one literal mark above it, and by its arguments how it asks.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from railgauge.demand import GPU, LINK, RUN, SIZE
from railgauge.errors import BadInput
from railgauge.question import FABRIC, FACT, RATIO, TRAFFIC, TRANSPORT

MARKS = ("measures", "expects")

# The argument of a test that asks, and the way in which it does; ``check`` asks per part.
_ASKING = {
    "expect": FACT,
    "check_traffic": TRAFFIC,
    "check_transport": TRANSPORT,
    "check_ratio": RATIO,
    "check_fabric": FABRIC,
}

Asks = Mapping[str, frozenset[str]]
"""Subject -> the ways in which some test asks for it."""


def ways_of(arguments: Sequence[str]) -> tuple[str, ...]:
    """The ways in which a test with these arguments asks for its subject."""
    per = next((name for name in (SIZE, LINK, GPU) if name in arguments), RUN)
    limits = (per,) if "check" in arguments else ()
    return (*limits, *(way for name, way in _ASKING.items() if name in arguments))


def asks(folder: Path) -> Asks:
    """What the tests of a folder ask for. Raises ``BadInput`` for a file that is no Python."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted(folder.rglob("test_*.py")):
        for subject, ways in _of_file(path):
            found[subject].update(ways)
    return {subject: frozenset(ways) for subject, ways in found.items()}


def _of_file(path: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError) as error:
        raise BadInput(f"is no Python that can be read: {error}", where=str(path)) from None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            arguments = [argument.arg for argument in node.args.args]
            yield from ((subject, ways_of(arguments)) for subject in _subjects(node))


def _subjects(function: ast.FunctionDef) -> Iterator[str]:
    """The argument of ``@pytest.mark.measures("NAME")`` and ``@pytest.mark.expects("NAME")``."""
    for mark in function.decorator_list:
        if (
            isinstance(mark, ast.Call)
            and isinstance(mark.func, ast.Attribute)
            and mark.func.attr in MARKS
            and len(mark.args) == 1
            and isinstance(mark.args[0], ast.Constant)
        ):
            yield str(mark.args[0].value)

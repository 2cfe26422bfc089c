"""Every recorded output has one reader, which says something about it, and says what it printed.

The tests of the single readers hold the meaning of each value. This one holds that no file and no
figure of the ground truths is left out, also of files that are added later.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import asdict, is_dataclass
from typing import Any

import pytest
from core_values import SHARED, TRANSCRIPTS
from corpus_owners import OF_FACTS, OF_TOOLS, Reader

from railgauge import tools
from railgauge.model import Parsed

INDEX = SHARED / "corpus" / "INDEX.tsv"


def indexed() -> dict[str, str]:
    """Path of each file of the corpus below ``shared``, to its ground truth."""
    if not INDEX.is_file():
        return {}
    with INDEX.open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t")
        return {f"corpus/{row['file']}": row["ground_truth"] or "" for row in rows}


TRUTHS = indexed()
FILES = sorted([*TRUTHS, *(f"transcripts/{path.name}" for path in TRANSCRIPTS.glob("*"))])


def owner(name: str) -> Reader:
    """The reader of the longest beginning that fits; ``LookupError`` where none does."""
    prefixes = [prefix for prefix in (*OF_TOOLS, *OF_FACTS) if name.startswith(prefix)]
    if not prefixes:
        raise LookupError(f"nobody reads {name}")
    longest = max(prefixes, key=len)
    return OF_FACTS.get(longest) or tools.tool(OF_TOOLS[longest]).parse


def read(name: str) -> Any:
    return owner(name)((SHARED / name).read_bytes().decode("utf-8", "replace"))


def is_silent(result: Any) -> bool:
    """Whether a reader gave neither a value nor a reason why there is none."""
    if isinstance(result, Parsed):
        return not result.samples and not result.problems
    content = asdict(result).values() if is_dataclass(result) else result
    return not any(True for value in content if value)


# Ground truths that are no single value of the output, with the reason.
DERIVED: dict[str, str] = {}

EVERY_FILE = pytest.mark.parametrize(
    "name",
    FILES
    or [
        pytest.param("", marks=pytest.mark.skip("the recorded outputs are not beside this project"))
    ],
)


@EVERY_FILE
def test_one_reader_says_something(name):
    assert not is_silent(read(name))


FIGURE = re.compile(r"(?<![\w.:])-?\d+\.\d+(?:e[+-]?\d+)?(?![\w]*[.:]\d)")
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def said(result: Any) -> Iterator[Any]:
    """Every text and number that a result holds."""
    if is_dataclass(result) and not isinstance(result, type):
        yield from said(asdict(result))
    elif isinstance(result, dict):
        for key, value in result.items():
            yield from said(key)
            yield from said(value)
    elif isinstance(result, (list, tuple, set, frozenset)):
        for value in result:
            yield from said(value)
    elif result is not None:
        yield result


def numbers(result: Any) -> set[float]:
    return {float(word) for value in said(result) for word in NUMBER.findall(str(value))}


def figures(truth: str) -> set[float]:
    return {float(word) for word in FIGURE.findall(truth)}


@EVERY_FILE
def test_figures_of_the_ground_truth_are_read(name):
    lacking = figures(TRUTHS.get(name, "")) - numbers(read(name))
    assert not lacking or name in DERIVED, lacking


def errors(truth: str) -> list[str]:
    return re.findall(r'error="([^"]+)"', truth)


@EVERY_FILE
def test_errors_of_the_ground_truth_are_named(name):
    result = read(name)
    texts = " ".join(map(str, said(result))).lower()
    for error in errors(TRUTHS.get(name, "")):
        assert error.lower() in texts
        assert not isinstance(result, Parsed) or result.errors

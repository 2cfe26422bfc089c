"""What holds for every reader of a foreign text, and the texts that a search begins with."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

from railgauge.core.model import Parsed, Sample
from railgauge.tools.text import clean
from testing.places import ROOT

KEPT = ROOT / "selftests" / "fuzz" / "kept"
MOST_SEED_CHARACTERS = 9_000
# On an idle machine any text takes a tenth of that.
MOST_S = 0.5
MOST_US_PER_CHAR = 40.0
MOST_PROBLEMS = 100
MOST_TEXT = 8_000

Read = Callable[[str], Any]


@dataclass(frozen=True)
class Target:
    """A reader of text; ``raises`` are its declared errors, ``more`` files of seeds.

    ``is_whole``: the text is what a node printed, not a part of which other digits were taken.
    """

    name: str
    read: Read
    raises: tuple[type[Exception], ...] = ()
    more: tuple[Path, ...] = ()
    is_whole: bool = False

    @property
    def seeds(self) -> tuple[str, ...]:
        return _texts(self.name, self.more)

    def check(self, text: str) -> None:
        """Fail if a property does not hold."""
        result = self._in_time(text)
        if isinstance(result, Exception):
            assert 0 < len(str(result)) < MOST_TEXT, "the message has no end"
            return
        if isinstance(result, Parsed):
            assert len(result.problems) <= MOST_PROBLEMS, "more problems than kinds"
            assert all(len(one.message) < MOST_TEXT for one in result.problems), "an endless one"
        found = [*numbers(result)]
        assert all(map(is_finite, found)), "a number that is not finite"
        if self.is_whole and _OTHER_DIGIT.search(text):
            three, seven = (self._in_time(_OTHER_DIGIT.sub(n, text)) for n in "\u0663\u0667")
            assert [*numbers(three)] == [*numbers(seven)], "a digit of another script is a number"
        if isinstance(result, Parsed):
            invented = not_of(text, result.samples)
            assert not invented, f"the text does not hold {invented[:3]}"

    def _in_time(self, text: str) -> Any:
        """The result, or the declared error. A busy machine, and an import, may disturb one try."""
        for _ in range(3):
            begun = time.process_time()
            try:
                result = self.read(text)
            except self.raises as error:
                result = error
            took_s = time.process_time() - begun
            if took_s < MOST_S + len(text) * MOST_US_PER_CHAR / 1e6:
                return result
        raise AssertionError(f"{took_s:.2f} s of CPU for {len(text)} characters")


@cache
def _texts(name: str, more: tuple[Path, ...]) -> tuple[str, ...]:
    paths = [*sorted((KEPT / name).glob("*")), *more]
    texts = [path.read_bytes().decode("utf-8", "replace") for path in paths]
    return tuple(text for text in texts if len(text) <= MOST_SEED_CHARACTERS) or ("",)


# --- numbers ---


def is_finite(number: float) -> bool:
    return isinstance(number, int) or math.isfinite(number)


def numbers(value: object) -> Iterator[float]:
    """All numbers in a result."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        yield value
    elif is_dataclass(value):
        for field in fields(value):
            yield from numbers(getattr(value, field.name))
    elif isinstance(value, Mapping):
        yield from numbers((*value, *value.values()))
    elif isinstance(value, (tuple, list, set, frozenset)):
        for one in value:
            yield from numbers(one)


# What a tool gives as the difference or the product of printed numbers.
_COMPUTED = frozenset({"missing_ranks", "compute_tflops", "model_tflops"})
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")
_TOKEN = re.compile(
    r"0[xX][0-9a-fA-F]{1,16}|[0-9]{1,40}(?:[.,][0-9]{1,40}){0,9}(?:[eE][+-]?[0-9]{1,4})?"
)
# Of a printed number: bits and bytes, 1024 for 1000, minutes and hours.
_FACTORS = tuple(a * 1.024**n for a in (1, 8, 1 / 8, 60, 3600) for n in range(5))


def not_of(text: str, samples: Iterable[Sample]) -> list[tuple[str, float]]:
    """The values that are no number of the text, in any unit, and no count of what is in it.

    Below 2 a value may be a count of one or a share.
    """
    most = len(text.split())
    left = [
        (one.metric, one.value)
        for one in samples
        if one.value > 1
        and one.metric not in _COMPUTED
        and not one.metric.startswith("derived_")
        and not (one.unit == "count" and one.value <= most)
    ]
    held = {*_held(text), *_held(clean(text))} if left else set()
    return [(metric, value) for metric, value in left if not _is_held(value, held)]


def _is_held(value: float, held: Set[str]) -> bool:
    return any(_digits(value * by) in held or _digits(value / by) in held for by in _FACTORS)


def _held(text: str) -> Iterator[str]:
    """The numbers of a text; a comma is in a large one, or between two of a row."""
    found = _TOKEN.findall(text)
    for token in (*found, *(part for one in found if "," in one for part in one.split(","))):
        try:
            is_hex = token[:2] in ("0x", "0X")
            yield _digits(int(token, 16) if is_hex else float(token.replace(",", "")))
        except ValueError:
            yield from (_digits(float(part)) for part in re.findall("[0-9]+", token))


def _digits(number: float) -> str:
    return f"{abs(number):.4e}"[:6]

"""Numbers of a command line, for ``type=`` of argparse: pytest's options and the commands share it.

Each raises ``ArgumentTypeError`` with one sentence: argparse shows no other text to the user.
"""

from __future__ import annotations

import math
from argparse import ArgumentTypeError
from collections.abc import Callable

from railgauge.core.errors import BadInput
from railgauge.core.units import parse_size


def count(word: str) -> int:
    """Return a whole number, 1 or more."""
    if not (word.isascii() and word.isdecimal() and int(word)):
        raise ArgumentTypeError(f"{word!r} is not a whole number, 1 or more")
    return int(word)


def size(word: str) -> int:
    """Return a size such as ``500GiB`` in bytes."""
    try:
        return parse_size(word)
    except BadInput as error:
        raise ArgumentTypeError(str(error)) from None


def number(least: float, most: float, unit: str) -> Callable[[str], float]:
    """Return a reader of numbers from ``least`` to ``most``, both included."""
    limits = f"{least:g} or more" if most == math.inf else f"from {least:g} to {most:g}"

    def read(word: str) -> float:
        value = _float(word)
        if not (math.isfinite(value) and least <= value <= most):
            raise ArgumentTypeError(f"{word!r} is not a number of {unit}, {limits}")
        return value

    return read


def share(word: str) -> float:
    """Return a share above 0, at most 1."""
    value = _float(word)
    if not 0 < value <= 1:
        raise ArgumentTypeError(f"{word!r} is not a share above 0 and at most 1, such as 0.95")
    return value


def _float(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        return math.nan

"""How values are written on pages: one precision, and ``µs``. Pure.

Records keep the original values; only text for people is rewritten.
"""

from __future__ import annotations

import re

_NUMBER = r"(?<![\w.])(\d+(?:\.\d+)?)"
_UNITS = r"([KMGT]i?B/s|[KMG]b/s|[GT]?FLOP/s|us|ms|ns|s|1/s|[KM]pps|GB|W)"
_VALUE = re.compile(rf"{_NUMBER} {_UNITS}(?![\w/])")
_DIGITS = 4


def shown(text: str) -> str:
    """Return text with the measured values in it at four significant digits, and ``us`` as µs."""
    return _VALUE.sub(_value, text)


def _value(match: re.Match[str]) -> str:
    return f"{digits(float(match[1]))} {spelled(match[2])}"


def spelled(unit: str) -> str:
    """Return a unit as pages spell it; tools and files write ``us``."""
    return "µs" if unit == "us" else unit


def digits(value: float) -> str:
    """Return a number with four significant digits: ``4.570``, ``391.9``, ``12345``."""
    if not value:
        return "0"
    text = f"{value:#.{_DIGITS}g}"
    return f"{value:.0f}" if "e+" in text else text.rstrip(".")

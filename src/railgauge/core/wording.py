"""How values are written on pages: one precision, ``µs``, and PCIe links in words. Pure.

Records keep what they were judged with; only what a person reads is rewritten.
"""

from __future__ import annotations

import re

_NUMBER = r"(?<![\w.])(\d+(?:\.\d+)?)"
_UNITS = r"([KMGT]i?B/s|[KMG]b/s|[GT]?FLOP/s|us|ms|ns|s|1/s|[KM]pps|GB|W)"
_VALUE = re.compile(rf"{_NUMBER} {_UNITS}(?![\w/])")
_DIGITS = 4
# GT/s of a lane -> the PCIe specification that has it.
_GENERATIONS = {2.5: "1.0", 5.0: "2.0", 8.0: "3.0", 16.0: "4.0", 32.0: "5.0", 64.0: "6.0"}
_LINK = re.compile(r"(\d+(?:\.\d+)?), (\d+)")
_MISSED_LINK = re.compile(
    rf"pcie_link is {_LINK.pattern}, should be (?:declared: )?{_LINK.pattern}"
)


def shown(text: str) -> str:
    """Return text with the measured values in it at four significant digits, and ``us`` as µs."""
    return _VALUE.sub(_value, in_words(text))


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


def in_words(text: str) -> str:
    """Return the text with a missed PCIe link as ``PCIe 5.0 x8, expected PCIe 5.0 x16``."""
    return _MISSED_LINK.sub(lambda m: f"{_pcie(m[1], m[2])}, expected {_pcie(m[3], m[4])}", text)


def of_metric(metric: str, text: str) -> str:
    """Return what was measured, or its limit, as a cell shows it."""
    if metric == "pcie_link":
        return _LINK.sub(lambda m: _pcie(m[1], m[2]), text)
    return shown(text)


def _pcie(gts: str, lanes: str) -> str:
    generation = _GENERATIONS.get(float(gts))
    return f"PCIe {generation} x{lanes}" if generation else f"PCIe {gts} GT/s x{lanes}"

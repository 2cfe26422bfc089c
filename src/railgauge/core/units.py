"""Conversion of units within one dimension, and message sizes.

Each unit has a factor to the base unit of its dimension: bytes per second, operations per second,
seconds, 1/s, bytes, or 1. ``k``, ``M``, ``G`` and ``T`` are decimal, ``Ki``, ``Mi`` and ``Gi`` are
binary::

    >>> convert(400.0, "Gb/s", "GB/s")
    50.0
"""

from __future__ import annotations

import re

from railgauge.core.errors import BadInput, UnitUnknown
from railgauge.core.limits import Sweep

_BITS_PER_BYTE = 8

_FACTORS: dict[str, dict[str, float]] = {
    "bandwidth": {
        "B/s": 1.0,
        "KB/s": 1e3,
        "MB/s": 1e6,
        "GB/s": 1e9,
        "TB/s": 1e12,
        "KiB/s": 2.0**10,
        "MiB/s": 2.0**20,
        "GiB/s": 2.0**30,
        "Mb/s": 1e6 / _BITS_PER_BYTE,
        "Gb/s": 1e9 / _BITS_PER_BYTE,
    },
    "time": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9},
    "computing rate": {"FLOP/s": 1.0, "GFLOP/s": 1e9, "TFLOP/s": 1e12},
    "rate": {"1/s": 1.0, "Kpps": 1e3, "Mpps": 1e6},
    "size": {"B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "MB": 1e6, "GB": 1e9},
    "number": {"1": 1.0, "count": 1.0},
}
_DIMENSION = {unit: name for name, units in _FACTORS.items() for unit in units}

KNOWN_UNITS = frozenset(_DIMENSION)


def convert(value: float, unit: str, to: str) -> float:
    """Return ``value``, given in ``unit``, in the unit ``to``.

    Raises ``UnitUnknown`` for an unknown unit and for units of different dimensions.
    """
    if unit == to and unit in _DIMENSION:
        return value
    kind = dimension(unit)
    if kind != dimension(to):
        raise UnitUnknown(
            f"cannot convert {unit} ({kind}) to {to} ({dimension(to)})",
            remedy="give the limit in a unit of the metric's dimension",
        )
    return value * _FACTORS[kind][unit] / _FACTORS[kind][to]


def dimension(unit: str) -> str:
    """Return ``bandwidth``, ``time``, ``rate``, ``size`` or ``number``. Raises ``UnitUnknown``."""
    try:
        return _DIMENSION[unit]
    except KeyError:
        raise UnitUnknown(
            f"unknown unit {unit!r}", remedy=f"known units: {', '.join(sorted(KNOWN_UNITS))}"
        ) from None


_SIZE = re.compile(r"([0-9]{1,18})\s*(B|KiB|MiB|GiB|K|M|G)?")
_SIZE_FACTORS = {
    "B": 1, "K": 2**10, "KiB": 2**10, "M": 2**20, "MiB": 2**20, "G": 2**30, "GiB": 2**30,
}  # fmt: skip


def parse_size(text: str) -> int:
    """Return a message size such as ``8MiB``, ``8M`` or ``8388608`` in bytes.

    Single letters are powers of two, as in perftest and nccl-tests.
    Raises ``BadInput`` for anything else.
    """
    match = _SIZE.fullmatch(text.strip())
    if not match:
        what = f"{text[:60]!r} is not a message size"
        raise BadInput(what, remedy="write 2B, 64KiB, 8MiB or 16GiB")
    return int(match[1]) * _SIZE_FACTORS[match[2] or "B"]


def format_size(size_bytes: int) -> str:
    """Return the shortest exact form of a message size: ``8388608`` becomes ``8MiB``."""
    for unit in ("GiB", "MiB", "KiB"):
        if size_bytes >= _SIZE_FACTORS[unit] and size_bytes % _SIZE_FACTORS[unit] == 0:
            return f"{size_bytes // _SIZE_FACTORS[unit]}{unit}"
    return f"{size_bytes}B"


def format_sweep(sweep: Sweep) -> str:
    """Return a sweep for display: ``1KiB to 1GiB, each x2``."""
    return f"{format_size(sweep.first)} to {format_size(sweep.last)}, each x{sweep.factor}"


def format_value(value: float, unit: str) -> str:
    """Return a value for display, such as ``391.9 Gb/s``; plain numbers have no unit."""
    text = digits(value)
    return text if unit in _FACTORS["number"] else f"{text} {spelled(unit)}"


def digits(value: float) -> str:
    """Return a number with at most four significant digits: ``4.57``, ``391.9``, ``12346``."""
    text = f"{value:.4g}"
    return f"{value:.0f}" if "e+" in text else text


def spelled(unit: str) -> str:
    """Return a unit as messages and pages spell it; tools and files write ``us``."""
    return "µs" if unit == "us" else unit


_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86400


def format_duration(seconds: float) -> str:
    """Return the time in minutes below three hours, in hours below three days, else in days."""
    if seconds < 3 * _HOUR_S:
        return f"{seconds / _MINUTE_S:.0f} min"
    return f"{seconds / _HOUR_S:.0f} h" if seconds < 3 * _DAY_S else f"{seconds / _DAY_S:.0f} days"

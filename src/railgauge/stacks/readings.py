"""Parsers for the values that vendors' tools print: numbers with units, switches, bus ids.

All return ``None`` for a text that is no value: ``N/A``, ``[Not Supported]``, ``Unknown Error``,
or prose.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

Raw = Mapping[str, str]
"""The fields of one GPU by name, as its tool prints them."""

_BUS_ID = re.compile(r"([0-9a-fA-F]{4,8}):([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.([0-7])")
_NUMBER = re.compile(r"\(?(-?\d{1,15}(?:\.\d{1,9})?)\s*([A-Za-z/%°]{0,8})\)?")
_ON = {"enabled", "on", "yes", "true"}
_OFF = {"disabled", "off", "no", "false"}
# nvidia-smi puts into brackets why it has no value: [N/A], [GPU requires reset].
_NO_VALUE = re.compile(
    r"\[.*\]|n/?a|none|not (?:supported|available|found)|unknown(?: error)?|err!|.* deprecated|",
    re.I,
)
_LONGEST = 200
_GENERATIONS_GTS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}


def value(text: str | None) -> str | None:
    """Return the text itself; ``None`` if it means that there is no value."""
    text = (text or "")[:_LONGEST].strip()
    return None if _NO_VALUE.fullmatch(text) else text


def number(text: str | None) -> float | None:
    """Return 700.0 for ``700.00 W`` and 300.0 for ``(300Mhz)``."""
    match = _NUMBER.fullmatch((text or "")[:_LONGEST].strip())
    return float(match[1]) if match else None


def whole(text: str | None) -> int | None:
    """Return 143771 for ``143771 MiB``; ``None`` for a number with a fraction."""
    found = number(text)
    return int(found) if found is not None and found.is_integer() else None


def switch(text: str | None) -> bool | None:
    """Return true for ``Enabled``, ``On`` or ``Yes``, false for ``Disabled``, ``Off`` or ``No``."""
    word = (text or "")[:_LONGEST].strip().lower()
    return True if word in _ON else False if word in _OFF else None


def width(text: str | None) -> int | None:
    """Return 16 for ``16x``, ``x16`` and ``16``."""
    return whole((text or "").strip().strip("x"))


def generation(text: str | None) -> int | None:
    """Return the PCIe generation of a transfer rate: 5 for ``32 GT/s``."""
    return _GENERATIONS_GTS.get(number(text) or 0.0)


def bus_id(text: str | None) -> str | None:
    """Return a PCI address in the kernel's notation: ``0000:8f:00.0`` for ``00000000:8F:00.0``."""
    match = _BUS_ID.fullmatch((text or "").strip())
    if not match:
        return None
    return f"{int(match[1], 16):04x}:{match[2]}:{match[3]}.{match[4]}".lower()


def mib(text: str | None) -> int | None:
    """Return a size in MiB. ``B`` and ``GB`` are converted; ``MB`` of AMD's tools means 2^20."""
    found = number(text)
    unit = _NUMBER.fullmatch((text or "").strip())
    if found is None or unit is None:
        return None
    factor = {"B": 2.0**-20, "KB": 2.0**-10, "KiB": 2.0**-10, "GB": 1024.0, "GiB": 1024.0}
    return int(found * factor.get(unit[2], 1.0))

"""Digits of other scripts, which ``\\d``, ``int()`` and ``float()`` take for numbers."""

from __future__ import annotations

import re

_OTHER_DIGIT = re.compile(r"(?![0-9])\d")


def of_ascii(text: str) -> str:
    """Return the text of a program with U+FFFD for digits of other scripts: no tool prints them."""
    return text if text.isascii() else _OTHER_DIGIT.sub("\N{REPLACEMENT CHARACTER}", text)

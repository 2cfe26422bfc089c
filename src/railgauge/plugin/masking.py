"""What pytest reports and prints, without secrets and without control characters of a node.

A node's text could otherwise move the cursor, rewrite lines above it, or set a terminal's title.
What a run stores is masked by its store.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

Mask = Callable[[str], str]
# What pytest itself writes: colours, and these between words and lines.
_COLOUR = re.compile(r"(\x1b\[[0-9;]{0,20}m)")
_OF_PYTEST, _OF_TEXT = "\n\r\t", "\n\t"


def mask_report(report: pytest.TestReport, masked: Mask) -> None:
    """Mask the message, the traceback and the captured output of a phase, before any reporter."""
    if isinstance(report.longrepr, tuple):  # of a skipped phase
        path, line, why = report.longrepr
        report.longrepr = (path, line, _harmless(masked(why)))
    else:
        told = report.longreprtext
        if told and _harmless(masked(told)) != told:
            report.longrepr = _harmless(masked(told))
    report.sections = [(name, _harmless(masked(text))) for name, text in report.sections]


def mask_terminal(config: pytest.Config, masked: Mask) -> None:
    """Mask what is printed from now on; does nothing in a worker, which has no terminal."""
    if out := config.pluginmanager.getplugin("terminalreporter"):
        out._tw._file = _MaskedFile(out._tw._file, masked)


class _MaskedFile:
    """The file of the terminal, with secrets masked in what is written to it."""

    def __init__(self, file: Any, masked: Mask) -> None:
        self._file = file
        self._masked = masked

    def write(self, text: str) -> int:
        parts = _COLOUR.split(self._masked(text))
        shown = "".join(p if n % 2 else _harmless(p, _OF_PYTEST) for n, p in enumerate(parts))
        return int(self._file.write(shown) or 0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def _harmless(text: str, kept: str = _OF_TEXT) -> str:
    """The text without characters that could control a terminal, except those that are kept."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in kept else "\N{REPLACEMENT CHARACTER}" for c in text)

"""Masks secrets and control characters of nodes in what pytest reports and prints.

The output of a node could otherwise move the cursor, rewrite lines above it, or set the title of
the terminal. What a run stores is masked by its store.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import pytest

from railgauge.core.masking import MASK_OF_PROCESS
from railgauge.run import streams

# What pytest itself writes: colours, and these between words and lines.
_COLOUR = re.compile(r"(\x1b\[[0-9;]{0,20}m)")
_OF_PYTEST, _OF_TEXT = "\n\r\t", "\n\t"


def mask_streams(words: Sequence[str]) -> None:
    """Mask what this process shows. Its variables and ``words``, its arguments, hold secrets."""
    MASK_OF_PROCESS.know(os.environ)
    MASK_OF_PROCESS.learn_words(words)
    streams.mask_streams(shown)


def mask_report(report: pytest.TestReport) -> None:
    """Mask the message, the traceback and the captured output of a phase, before any reporter."""
    masked = MASK_OF_PROCESS.text
    if isinstance(report.longrepr, tuple):  # of a skipped phase
        path, line, why = report.longrepr
        report.longrepr = (path, line, _harmless(masked(why)))
    else:
        text = report.longreprtext
        if text and _harmless(masked(text)) != text:
            report.longrepr = _harmless(masked(text))
    report.sections = [(name, _harmless(masked(out))) for name, out in report.sections]


def shown(text: str) -> str:
    """What pytest writes on the terminal: its colours stay, a node's text has no effect."""
    parts = _COLOUR.split(MASK_OF_PROCESS.text(text))
    return "".join(p if n % 2 else _harmless(p, _OF_PYTEST) for n, p in enumerate(parts))


def _harmless(text: str, kept: str = _OF_TEXT) -> str:
    """The text without characters that could control a terminal, except those that are kept."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in kept else "\N{REPLACEMENT CHARACTER}" for c in text)

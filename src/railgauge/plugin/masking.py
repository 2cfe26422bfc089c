"""Masks secrets in what pytest reports and prints. What a run stores is masked by its store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Mask = Callable[[str], str]


def mask_report(report: pytest.TestReport, masked: Mask) -> None:
    """Mask the message, the traceback and the captured output of a phase, before any reporter."""
    told = report.longreprtext
    if told and masked(told) != told:
        report.longrepr = masked(told)
    report.sections = [(name, masked(text)) for name, text in report.sections]


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
        return int(self._file.write(self._masked(text)) or 0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

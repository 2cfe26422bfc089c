"""Runs on a terminal: one line of them is written again, and pytest's own lines are whole."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from testing.acceptance import BARE_SMOKE, HOMELAB, make_project
from testing.small_terminal import OpenTerminal
from testing.waiting import wait_until

LIMIT_S = 120.0
ITEMS = 108
SHOWN = re.compile(r"^railgauge \d+:\d\d.*$", re.MULTILINE)
FILES = (
    "preflight/test_host",
    "preflight/test_nics",
    "preflight/test_versions",
    "network/test_rdma",
)


class TerminalRun:
    """A run of the homelab whose standard output and error are a terminal."""

    def __init__(self, folder: Path, columns: int, *options: str) -> None:
        self.terminal = OpenTerminal(columns, 24)
        project = make_project(folder)
        words = (*HOMELAB, *BARE_SMOKE, *options)
        self.process = project.start(self.terminal.path, *words, TERM="xterm")

    def ended(self) -> int:
        code = self.process.wait(LIMIT_S)
        self.terminal.shows_part("report: ", LIMIT_S)
        os.close(self.terminal.descriptor)
        return code


@pytest.fixture(params=[(), ("-n", "2")], ids=["alone", "workers"])
def options(request: pytest.FixtureRequest) -> Iterator[tuple[str, ...]]:
    return request.param


def test_dots_are_whole_and_the_line_below_them_is_gone_at_the_end(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    run = TerminalRun(tmp_path / "site", 60, *options)
    run.terminal.shows_part("/15 measured", LIMIT_S)
    assert len(SHOWN.findall(run.terminal.text)) == 1
    assert run.ended() == 0
    text = run.terminal.text
    assert not SHOWN.search(text)
    dots = re.findall(r"^(?:tests/\S+ )?(\.+)(?: +\[ *\d+%\])?$", text, re.MULTILINE)
    assert sum(map(len, dots)) == ITEMS
    assert text.count("[100%]") == 1
    if not options:
        assert all(text.count(f"\ntests/{file}.py .") == 1 for file in FILES)


def test_the_lines_of_items_are_whole(tmp_path: Path, options: tuple[str, ...]) -> None:
    run = TerminalRun(tmp_path / "site", 150, "-v", *options)
    run.terminal.shows_part("/15 measured", LIMIT_S)
    assert run.ended() == 0
    text = run.terminal.text
    assert not SHOWN.search(text)
    item = r"tests/\S+::\S+\]"
    alone, worker = rf"{item} PASSED +\[ *\d+%\]", rf"\[gw\d\] \[ *\d+%\] PASSED {item}"
    whole = re.findall(rf"^(?:{worker if options else alone}) *$", text, re.MULTILINE)
    assert len(whole) == text.count("PASSED") == ITEMS


def test_an_interrupt_leaves_a_clean_line(tmp_path: Path, options: tuple[str, ...]) -> None:
    run = TerminalRun(tmp_path / "site", 80, *options)
    run.terminal.shows_part("/15 measured", LIMIT_S)
    wait_until(lambda: SHOWN.search(run.terminal.text), LIMIT_S, "the line")
    os.kill(run.process.pid, signal.SIGINT)
    assert run.ended() == 2
    assert not SHOWN.search(run.terminal.text)
    assert "KeyboardInterrupt" in run.terminal.text

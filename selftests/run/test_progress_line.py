"""What a command shows of how far it is: nothing if it is quick, and never amid what it prints."""

from __future__ import annotations

import io
import os
import pty
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr

import pytest
from testing.waiting import wait_until

from railgauge.cli import main
from railgauge.core.progress import PROGRESS_OF_PROCESS, ProcessProgress
from railgauge.run import progress_line


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_line, "FIRST_S", 0.0)
    monkeypatch.setattr(progress_line, "_ELSEWHERE_S", 0.01)
    monkeypatch.setattr(progress_line, "_ON_A_TERMINAL_S", 0.01)


class Errors(io.StringIO):
    """Standard error that is no terminal, in the block of a command."""

    @contextmanager
    def of(self, command: str) -> Iterator[None]:
        with redirect_stderr(self), progress_line.shown(command):
            yield


@pytest.fixture
def errors() -> Errors:
    return Errors()


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A terminal as standard output and error; the number of its other end."""
    here, there = pty.openpty()
    with monkeypatch.context() as patch:
        for name in ("stdout", "stderr"):
            shown = os.fdopen(os.dup(there), "w", encoding="utf-8")
            patch.setattr(sys, name, shown)
        yield here
        sys.stdout.close()
        sys.stderr.close()
    os.close(there)
    os.close(here)


def test_counts_within_counts_are_shown_and_go_again() -> None:
    progress, seen = ProcessProgress(), []
    for _ in progress.counted("run", "ab"):
        for _ in progress.counted("item", "xyz"):
            seen.append(str(progress))
            if len(seen) == 2:
                break
    assert seen[:3] == [
        "run 1 of 2, item 1 of 3",
        "run 1 of 2, item 2 of 3",
        "run 2 of 2, item 1 of 3",
    ]
    assert str(progress) == ""


def test_a_quick_command_shows_nothing(errors: Errors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_line, "FIRST_S", 3600.0)
    with errors.of("railgauge prune"):
        pass
    assert errors.getvalue() == ""


def test_where_there_is_no_terminal_it_is_a_line_now_and_then(errors: Errors) -> None:
    with errors.of("railgauge prune"):
        for _ in PROGRESS_OF_PROCESS.counted("run", range(3)):
            pass
        for _ in PROGRESS_OF_PROCESS.counted("run", range(1)):
            wait_until(lambda: "run 1 of 1" in errors.getvalue(), 20, "a line")
    lines = errors.getvalue().splitlines()
    assert {line.split(",")[0] for line in lines} <= {
        "railgauge prune: 0 s", "railgauge prune: run 1 of 1", "railgauge prune: run 2 of 3",
        "railgauge prune: run 1 of 3", "railgauge prune: run 3 of 3",
    }  # fmt: skip


def test_on_a_terminal_the_line_is_gone_where_something_is_printed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with terminal(monkeypatch) as other_end:
        with progress_line.shown("railgauge prune"):
            seen = os.read(other_end, 1000)
            sys.stdout.write("a result\n")
            sys.stdout.flush()
            while b"a result" not in seen:
                seen += os.read(other_end, 1000)
        sys.stdout.write("the end\n")
        sys.stdout.flush()
        while b"the end" not in seen:
            seen += os.read(other_end, 1000)
    shown = [line.rpartition(b"\x1b[K")[2] for line in seen.split(b"\r\n") if line]
    assert shown == [b"a result", b"the end"]
    assert b"railgauge prune: 0 s" in seen


def test_while_somebody_is_asked_nothing_is_shown(errors: Errors) -> None:
    with progress_line.paused(), errors.of("railgauge outer"):
        wait_until(lambda: "outer" in errors.getvalue(), 20, "a line of a later block")
    with errors.of("railgauge bundle"), progress_line.paused():
        before = errors.getvalue()
        for _ in PROGRESS_OF_PROCESS.counted("run", "abc"):
            assert errors.getvalue() == before


def test_every_command_shows_it(errors: Errors, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is around the command, whatever that does; here it waits for its line."""
    from railgauge.cli import causes  # noqa: PLC0415

    def slow(_: object) -> int:
        wait_until(lambda: "railgauge causes: 0 s\n" in errors.getvalue(), 20, "the line")
        return 0

    monkeypatch.setattr(causes, "run", slow)
    with redirect_stderr(errors):
        assert main(["causes"]) == 0


def test_a_machine_without_a_thread_to_spare_does_the_work(
    errors: Errors, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(progress_line.Thread, "start", refused)
    with errors.of("railgauge prune"):
        pass
    assert errors.getvalue() == ""

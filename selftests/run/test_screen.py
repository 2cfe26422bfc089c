"""The progress line on a terminal, and on an output that is no terminal."""

from __future__ import annotations

import io
import os
import random
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import pytest
from testing.small_terminal import OpenTerminal, SmallTerminal
from testing.waiting import wait_until

from railgauge.cli import main
from railgauge.core.masking import MASK_OF_PROCESS
from railgauge.core.progress import PROGRESS_OF_PROCESS, ProcessProgress
from railgauge.run.progress import screen
from railgauge.run.progress.screen import Screen
from railgauge.run.progress.state import Moment
from railgauge.transport.waits import WAITS_OF_PROCESS, Wait

COLUMNS, ROWS = 40, 8
SECRET = "glpat-a1b2c3d4e5f6g7h8i9j0"


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "FIRST_S", 0.0)
    monkeypatch.setattr(screen, "_EVERY_S", 0.0)
    monkeypatch.setattr(screen, "_LOOK_S", 0.002)
    monkeypatch.setenv("TERM", "xterm")


def at_the_start(text: str) -> str:
    """The text as in the first second, however slow this machine is."""
    return re.sub(r"\b\d:\d\d\b", "0:00", text)


class Errors(io.StringIO):
    """Standard error that is no terminal, in the block of a command."""

    def getvalue(self) -> str:
        return at_the_start(super().getvalue())

    @contextmanager
    def of(self, command: str) -> Iterator[None]:
        with redirect_stderr(self), screen.shown(command):
            yield


@pytest.fixture
def errors() -> Errors:
    return Errors()


class Terminal(OpenTerminal):
    """A terminal as standard output and error of this process."""

    def __init__(self) -> None:
        super().__init__(COLUMNS, ROWS)
        ends = (self.descriptor, os.dup(self.descriptor))
        self.streams = [os.fdopen(end, "w", encoding="utf-8") for end in ends]

    @property
    def text(self) -> str:
        return at_the_start(super().text)

    @contextmanager
    def of(self, command: str) -> Iterator[None]:
        out, err = self.streams
        with redirect_stdout(out), redirect_stderr(err), screen.shown(command):
            yield


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal()
    yield made
    for stream in made.streams:
        stream.close()


def printed(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


# --- what it is about ---


def test_nested_counts_are_shown_and_end() -> None:
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


def test_a_step_has_no_number_and_ends_with_an_error() -> None:
    progress = ProcessProgress()
    with suppress(ZeroDivisionError), progress.during("plots"):
        assert str(progress) == "plots"
        raise ZeroDivisionError
    assert str(progress) == ""


# --- where there is no terminal ---


def test_a_process_without_progress_shows_nothing(
    errors: Errors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screen, "_EVERY_S", 3600.0)
    with errors.of("railgauge prune"):
        pass
    assert errors.getvalue() == ""


def test_progress_without_a_terminal_is_a_line_now_and_then(errors: Errors) -> None:
    with errors.of("railgauge prune"):
        for _ in PROGRESS_OF_PROCESS.counted("run", range(1)):
            wait_until(lambda: "run 1 of 1" in errors.getvalue(), 20, "a line")
    assert "railgauge prune 0:00: run 1 of 1" in errors.getvalue().splitlines()
    assert "\x1b" not in errors.getvalue()


def lines_within(seconds: int, waits: tuple[Wait, ...], monkeypatch: pytest.MonkeyPatch) -> int:
    """How many lines a file gets in so many seconds, each of which is looked at."""
    monkeypatch.setattr(screen, "_EVERY_S", 60.0)
    now_s, lines = [time.monotonic()], list[str]()

    def look() -> Moment:
        return Moment("railgauge", 0.0, now_s[0], waits=waits)

    shown = Screen(look, lines.append, io.StringIO())
    for _ in range(seconds):
        now_s[0] += 1
        shown._show()
    shown.end()
    return len(lines)


def test_a_line_is_printed_each_minute_and_each_ten_seconds_of_an_unusual_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_s = time.monotonic()
    lease = Wait("n1", "its lease", now_s)
    tool = Wait("n1", "gpu_burn", now_s, is_tool=True)
    assert lines_within(181, (), monkeypatch) == 3
    assert lines_within(61, (lease,), monkeypatch) == 6
    assert lines_within(61, (tool,), monkeypatch) == 6, "no measurement is known that it belongs to"


def test_a_connection_that_was_lost_is_reported_at_once(errors: Errors) -> None:
    WAITS_OF_PROCESS.news.append("n2: of an earlier command; its connection is lost")
    with errors.of("railgauge check"):
        WAITS_OF_PROCESS.news.append("n1: nothing has come; its connection is lost")
        wait_until(lambda: "its connection is lost\n" in errors.getvalue(), 20, "the line")
    assert errors.getvalue().count("is lost") == 1


def test_a_terminal_that_cannot_erase_gets_lines(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    with terminal.of("railgauge prune"):
        terminal.shows_part("railgauge prune 0:00\nrailgauge prune 0:00\n")


# --- on a terminal ---


def test_the_line_stands_below_other_output_and_is_erased(terminal: Terminal) -> None:
    with terminal.of("railgauge prune"):
        terminal.shows("railgauge prune 0:00")
        printed("a result\n")
        terminal.shows("a result\nrailgauge prune 0:00")
        printed("tests/a.py ..")
        terminal.shows("a result\ntests/a.py ..\nrailgauge prune 0:00")
        printed(".")
        terminal.shows("a result\ntests/a.py ...\nrailgauge prune 0:00")
        sys.stderr.write("\nan error\n")
        terminal.shows_part("...\nan error\nrailgauge")
    terminal.shows("a result\ntests/a.py ...\nan error\n")


def test_a_line_that_is_full_goes_on_in_the_next_row(terminal: Terminal) -> None:
    with terminal.of("railgauge prune"):
        printed("x" * COLUMNS)
        terminal.shows(f"{'x' * COLUMNS}\nrailgauge prune 0:00")
        printed("y" * (COLUMNS + 3))
        terminal.shows(f"{'x' * COLUMNS}\n{'y' * COLUMNS}\nyyy\nrailgauge prune 0:00")
    terminal.shows(f"{'x' * COLUMNS}\n{'y' * COLUMNS}\nyyy\n")


def test_text_that_is_typed_meanwhile_is_erased_with_the_line(terminal: Terminal) -> None:
    with terminal.of("railgauge prune"):
        terminal.shows("railgauge prune 0:00")
        os.write(terminal.descriptor, b"^C")  # as the kernel echoes it
        terminal.shows_part("^C")
        printed("a result\n")
        terminal.shows_part("a result\nrailgauge prune 0:00")
        assert "^C" not in terminal.text


def test_an_error_leaves_a_clean_line(terminal: Terminal) -> None:
    with suppress(KeyboardInterrupt), terminal.of("railgauge prune"):
        terminal.shows("railgauge prune 0:00")
        raise KeyboardInterrupt
    terminal.shows("")


def test_other_output_is_whole_while_the_line_is_redrawn(terminal: Terminal) -> None:
    """Pieces of any length, with and without an end of line, some of them at the last column."""
    drawn, expected = random.Random(5), SmallTerminal(COLUMNS, ROWS)
    with terminal.of("railgauge"):
        for _ in range(300):
            text = drawn.choice("abc") * drawn.choice((1, 2, 7, 39, 40, 41))
            text = drawn.choice((text, f"{text}\n", f"\x1b[32m{text}\x1b[0m", f"\r{text}"))
            with PROGRESS_OF_PROCESS.during("a step " * drawn.choice((1, 9))):
                printed(text)
                if drawn.random() < 0.3:
                    terminal.shows_part("railgauge 0:00")
            expected.feed(text.replace("\n", "\r\n"))
    wait_until(lambda: terminal.text.rstrip() == expected.text.rstrip(), 20, "the same text")


def test_the_line_has_no_secret(terminal: Terminal) -> None:
    with terminal.of("railgauge"), PROGRESS_OF_PROCESS.during(f"as {SECRET[:30]}"):
        terminal.shows_part("railgauge 0:00: as")
        printed(f"a {SECRET}\n")
        terminal.shows_part("a ")
        assert MASK_OF_PROCESS.text(SECRET) != SECRET
        assert SECRET not in terminal.text


def test_nothing_is_shown_while_a_user_is_asked(terminal: Terminal) -> None:
    with terminal.of("railgauge bundle"):
        terminal.shows("railgauge bundle 0:00")
        with screen.paused():
            terminal.shows("")
            printed("Passphrase: ")
            assert "railgauge" not in terminal.text
        terminal.shows_part("railgauge bundle")


# --- threads ---


def threads_named(name: str) -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name == name]


def test_the_thread_of_the_screen_takes_no_signal_that_ends_the_process(errors: Errors) -> None:
    """One that came to it while the main thread begins to wait for it would be lost."""
    with errors.of("railgauge lab"):
        (thread,) = threads_named("progress")
        status = Path(f"/proc/self/task/{thread.native_id}/status").read_text()
        blocked = int(status.partition("SigBlk:")[2].split()[0], 16)
    assert all(blocked & 1 << number - 1 for number in (signal.SIGINT, signal.SIGTERM))
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ()) & {signal.SIGINT, signal.SIGTERM}
    wait_until(lambda: not threads_named("progress"), 20, "the end of the thread")


def test_every_command_shows_its_progress(errors: Errors, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is around the command, whatever that does; here it waits for its line."""
    from railgauge.cli import causes  # noqa: PLC0415

    def slow(_: object) -> int:
        wait_until(lambda: "railgauge causes 0:00\n" in errors.getvalue(), 20, "the line")
        return 0

    monkeypatch.setattr(causes, "run", slow)
    with redirect_stderr(errors):
        assert main(["causes"]) == 0


def test_a_machine_without_a_thread_to_spare_does_the_work(
    errors: Errors, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(screen.Thread, "start", refused)
    with errors.of("railgauge prune"):
        pass
    assert errors.getvalue() == ""

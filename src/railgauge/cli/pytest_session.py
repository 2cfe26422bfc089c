"""Starts pytest for a command, and waits until it has ended by itself."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def ended(
    words: Sequence[str], folder: Path, *, quiet: bool, environment: Mapping[str, str] | None = None
) -> int:
    """Run pytest with these arguments in the folder, and return its exit code.

    A signal that would end this process ends the session, which cleans up its nodes first.
    """
    command = [sys.executable, "-m", "pytest", *words]
    stdout = subprocess.DEVNULL if quiet else None
    started: list[subprocess.Popen[bytes]] = []
    with _passed_on(started):
        # In a session of its own, so that Ctrl-C reaches it once: a second one ends its cleanup.
        started.append(
            subprocess.Popen(
                command, cwd=folder, env=environment, stdout=stdout, start_new_session=True
            )
        )
        return started[0].wait()


@contextmanager
def _passed_on(started: Sequence[subprocess.Popen[bytes]]) -> Iterator[None]:
    def end(_number: int, _frame: Any) -> None:
        if not started:
            raise KeyboardInterrupt
        started[0].send_signal(signal.SIGTERM)

    before = {number: signal.signal(number, end) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

"""Masks all output of this process, whether the suite, pytest, a plugin or Python prints it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from railgauge.core.masking import MASK_OF_PROCESS

Change = Callable[[str], str]


def mask_streams(change: Change = MASK_OF_PROCESS.text) -> None:
    """Mask what is written to standard output and error from now on, to the end of the process.

    The stream objects are not replaced: pytest and its plugins keep them, and restore them to
    ``sys`` when they stop capturing.
    """
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        _mask(stream, change)


@contextmanager
def masked_streams() -> Iterator[None]:
    """Mask what is written to standard output and error in the block."""
    streams = [stream for stream in (sys.stdout, sys.stderr) if _mask(stream, MASK_OF_PROCESS.text)]
    try:
        yield
    finally:
        for stream in streams:
            vars(stream).pop("write", None)


def _mask(stream: TextIO | None, change: Change) -> bool:
    """Mask a stream; return ``False`` if it was masked already or does not exist."""
    if stream is None or "write" in vars(stream):
        return False
    write = stream.write

    def masked(text: str) -> int:
        write(change(text))
        return len(text)

    vars(stream)["write"] = masked
    return True

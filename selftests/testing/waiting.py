"""Waiting for a state, and the few places where a test needs time to pass."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

_AGAIN_S = 0.02
Seen = TypeVar("Seen")


def wait_until(condition: Callable[[], Seen], within_s: float, what: str) -> Seen:
    """The result of ``condition`` as soon as it is true; it is called at least once.

    Raises ``AssertionError`` after ``within_s`` seconds, which says ``what`` was waited for and
    what ``condition`` returned last.
    """
    deadline = time.monotonic() + within_s
    while not (seen := condition()):
        assert time.monotonic() < deadline, f"waited {within_s:g} s for {what}; last seen: {seen!r}"
        time.sleep(_AGAIN_S)
    return seen


def stays(condition: Callable[[], object], for_s: float, what: str) -> None:
    """Assert that ``condition`` is true now and during the next ``for_s`` seconds."""
    deadline = time.monotonic() + for_s
    while time.monotonic() < deadline:
        assert (seen := condition()), f"it did not stay so: {what}; last seen: {seen!r}"
        time.sleep(_AGAIN_S)


def pass_time(seconds: float, why: str) -> None:
    """For tests that need something to last; ``why`` is for the reader."""
    assert why
    time.sleep(seconds)

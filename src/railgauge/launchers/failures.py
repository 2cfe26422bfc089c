"""What launchers and schedulers say when the ranks could not be started, or did not survive. Pure.

Texts from recorded failures and from the print statements of Open MPI, Hydra and Slurm.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LONGEST_MESSAGE = 200


@dataclass(frozen=True, slots=True)
class Failure:
    """One complaint: its kind, and the line that shows it."""

    kind: str
    message: str


# The cause comes before what it brings about: the first one is the one that people read.
_SIGNS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "job-time-limit",
        ("DUE TO TIME LIMIT", "time limit for job execution has been reached"),
    ),
)


def find_failures(text: str) -> Iterator[Failure]:
    """One failure a kind, the most telling first."""
    for kind, needles in _SIGNS:
        needle = next((needle for needle in needles if needle in text), None)
        if needle is not None:
            yield Failure(kind, _line_at(text, text.index(needle)))


def _line_at(text: str, position: int) -> str:
    start = text.rfind("\n", max(0, position - _LONGEST_MESSAGE), position) + 1
    start = max(start, position - _LONGEST_MESSAGE)
    line = text[start : start + 2 * _LONGEST_MESSAGE].partition("\n")[0]
    return " ".join(re.split(r"\s+", line.strip()))[:_LONGEST_MESSAGE]

"""Items for outputs that occur twice in one run. Pure.

An output may contain an identity that no other run of its tool prints (``tools.run_identity``). If
two measurements of a run have the same identity, one output was printed twice, whatever its times
and values are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from railgauge.core.errors import OtherThanAsked
from railgauge.core.question import OUTPUT
from railgauge.core.terms import Rung
from railgauge.judging.at_end import EndOfRunChecks

ITEMS = EndOfRunChecks(
    "output",
    "own_output",
    "No tool prints the output of one measurement again for another one.",
    Rung.NETWORK,
    OUTPUT,
)


@dataclass(frozen=True, slots=True)
class PrintedOutput:
    """A stored output: ``place`` is its file, ``shows`` the identity of its run."""

    place: str
    node: str
    shows: str


RepeatedOutput = tuple[PrintedOutput, ...]
"""Outputs that show the same run, in the order of their files; two or more."""


def repeated(printed: Iterable[PrintedOutput]) -> tuple[RepeatedOutput, ...]:
    """Return the outputs that show the same run, in time and memory linear in their number."""
    found: defaultdict[str, list[PrintedOutput]] = defaultdict(list)
    for one in printed:
        found[one.shows].append(one)
    return tuple(tuple(alike) for alike in found.values() if len(alike) > 1)


def errors(every: Sequence[RepeatedOutput]) -> dict[str, OtherThanAsked]:
    """Return the error of each node that printed an output which occurs more than once.

    It names the node's first such output and another place of it, and counts the others.
    """
    found: dict[str, list[str]] = {}
    for alike in every:
        first, second = alike[:2]
        more = f", and in {len(alike) - 2} more" if len(alike) > 2 else ""  # noqa: PLR2004
        for own in {one.node: one for one in reversed(alike)}.values():
            other = second if own is first else first
            what = f"{own.place} and {other.place}{more} hold the same output: {own.shows}"
            found.setdefault(own.node, []).append(what)
    return {node: _error(node, messages) for node, messages in found.items()}


def _error(node: str, messages: Sequence[str]) -> OtherThanAsked:
    more = f"; and {len(messages) - 1} more outputs" if len(messages) > 1 else ""
    return OtherThanAsked(f"{messages[0]}{more}", where=node, remedy=_REMEDY)


_REMEDY = (
    "look for a wrapper that stores an output and prints it again, and run the commands "
    "of both transcripts by hand on that node"
)

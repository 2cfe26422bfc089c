"""The items of outputs that a run holds twice. Pure.

A tool may show in its output what no other run of it shows (``tools.run_identity``). The same in
two measurements of a run is one output that was printed twice, whatever times and figures it has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from railgauge.core.errors import OtherThanAsked
from railgauge.core.question import OUTPUT
from railgauge.core.terms import Rung
from railgauge.judging.closing import ClosingItems

ITEMS = ClosingItems(
    "output",
    "own_output",
    "No tool prints the output of one measurement again for another one.",
    Rung.NETWORK,
    OUTPUT,
)


@dataclass(frozen=True, slots=True)
class PrintedOutput:
    """An output that was kept: ``place`` is its file, ``shows`` what identifies its run."""

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
    """Return the error of each node that printed an output which is there more than once.

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
    return {node: _error(node, told) for node, told in found.items()}


def _error(node: str, told: Sequence[str]) -> OtherThanAsked:
    more = f"; and {len(told) - 1} more outputs" if len(told) > 1 else ""
    return OtherThanAsked(f"{told[0]}{more}", where=node, remedy=_REMEDY)


_REMEDY = (
    "look for a wrapper that keeps what the tool printed and prints it again, and run the commands "
    "of both transcripts by hand on that node"
)

"""The items of outputs that a run holds twice. Pure.

A tool may show in its output what no other run of it shows (``tools.run_identity``). The same in
two measurements of a run is one output that was printed twice, whatever times and figures it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
    found: dict[str, RepeatedOutput] = {}
    for one in printed:
        found[one.shows] = (*found.get(one.shows, ()), one)
    return tuple(alike for alike in found.values() if len(alike) > 1)


def errors_at(node: str, every: Sequence[RepeatedOutput]) -> Iterator[OtherThanAsked]:
    """Yield the error of each output of the node that is there more than once."""
    for alike in every:
        if own := [one for one in alike if one.node == node]:
            other = next(one for one in alike if one is not own[0])
            more = f", and in {len(alike) - 2} more" if len(alike) > 2 else ""  # noqa: PLR2004
            what = f"{own[0].place} and {other.place}{more} hold the same output: {own[0].shows}"
            yield OtherThanAsked(what, where=node, remedy=_REMEDY)


_REMEDY = (
    "look for a wrapper that keeps what the tool printed and prints it again, and run the commands "
    "of both transcripts by hand on that node"
)

"""Check that a run did what it was asked to do, from what its tools report. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from railgauge.core.errors import OtherThanAsked
from railgauge.core.model import Parsed, Transcript
from railgauge.core.problems import Problem
from railgauge.core.terms import Severity
from railgauge.judging import stamp
from railgauge.judging.evidence import program
from railgauge.tools import tool
from railgauge.tools.output_checks import OutputCheck, SideOutput, ToolRequest


def agreed(
    asked: ToolRequest, transcripts: Sequence[Transcript], outputs: Sequence[Parsed]
) -> Parsed:
    """Return the reporting command's output, or all joined, if none contradicts the request.

    In the result, ``not_shown`` names the items that could not be compared, and ``problems`` also
    holds the warnings of the other commands. Raises ``OtherThanAsked``, or another error of a claim
    if all have another, which names the requested and the reported value of every item that
    disagrees.
    """
    is_timed = stamp.takes_time(asked.found.values())
    sides = tuple(
        SideOutput(
            transcript.node,
            transcript.role,
            output,
            transcript.argv,
            # An output that is judged by itself has a duration of 0.
            transcript.duration_s or None if is_timed else None,
        )
        for transcript, output in zip(transcripts, outputs, strict=True)
    )
    checks = tool(asked.measurement.tool).output_checks(asked, sides)
    if denied := [one for one in checks if not one.agrees and _is_binding(asked, one)]:
        kinds = {one.error for one in denied}
        error = OtherThanAsked if OtherThanAsked in kinds else denied[0].error
        raise error(
            "; ".join(map(str, denied)),
            where=f"{denied[0].node or transcripts[0].node}: {program(transcripts[0])}",
            remedy=next((one.remedy for one in denied if one.remedy), _BY_HAND),
        )
    missing = tuple(dict.fromkeys(check.item for check in checks if check.shown is None))
    join = tool(asked.measurement.tool).joined
    shown = join(asked, sides) if join else outputs[0]
    return replace(shown, not_shown=missing, problems=tuple(_of_all_sides(outputs)))


_BY_HAND = (
    "run the command of the transcript by hand on that node: a wrapper, an environment variable "
    "or another build makes it run a different test"
)


def _of_all_sides(outputs: Sequence[Parsed]) -> Iterator[Problem]:
    """The problems of the reporting command, then the warnings of the others."""
    yield from outputs[0].problems
    for output in outputs[1:]:
        yield from (one for one in output.problems if one.severity is Severity.WARNING)


# Operators may choose the number of iterations of their own runs; ``stability_doubt`` judges
# whether that number was enough.
ITERATIONS = "iterations"


def _is_binding(asked: ToolRequest, check: OutputCheck) -> bool:
    return asked.is_planned or check.item != ITERATIONS

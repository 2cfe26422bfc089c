"""Whether a run did what it was asked to do, by what its tools say of themselves. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from railgauge.core.errors import OtherThanAsked
from railgauge.core.model import Parsed, Transcript
from railgauge.core.problems import Problem, Severity
from railgauge.judging.evidence import program
from railgauge.tools import tool
from railgauge.tools.claims import Asked, Claim, Heard


def held(asked: Asked, said: Sequence[Transcript], outputs: Sequence[Parsed]) -> Parsed:
    """The reporting command's output, ``outputs[0]``, if no output denies what was asked for.

    Its ``not_shown`` then names the items that could not be compared, and among its ``problems``
    are the warnings of the other commands. Raises ``OtherThanAsked``,
    which names both sides of everything that disagrees.
    """
    heard = tuple(
        Heard(transcript.node, transcript.role, output)
        for transcript, output in zip(said, outputs, strict=True)
    )
    claims = tool(asked.measurement.tool).claims(asked, heard)
    if denied := [one for one in claims if not one.agrees and _is_binding(asked, one)]:
        raise OtherThanAsked(
            "; ".join(map(str, denied)),
            where=f"{denied[0].node or said[0].node}: {program(said[0])}",
            remedy=next((one.remedy for one in denied if one.remedy), _BY_HAND),
        )
    missing = tuple(dict.fromkeys(claim.item for claim in claims if claim.said is None))
    return replace(outputs[0], not_shown=missing, problems=tuple(_of_all_sides(outputs)))


_BY_HAND = (
    "run the command of the transcript by hand on that node: a wrapper, a variable of its "
    "environment or another build makes another test of it"
)


def _of_all_sides(outputs: Sequence[Parsed]) -> Iterator[Problem]:
    """What the reporting command complains of, and what the others warn of."""
    yield from outputs[0].problems
    for output in outputs[1:]:
        yield from (one for one in output.problems if one.severity is Severity.WARNING)


# How often is the operator's to choose; what it leaves open is judged (``stability_doubt``).
ITERATIONS = "iterations"


def _is_binding(asked: Asked, claim: Claim) -> bool:
    return asked.is_planned or claim.item != ITERATIONS

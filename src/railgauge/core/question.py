"""What an item asks of the evidence: everything needed to judge it again, and nothing measured.

A run keeps the questions of each item beside its answers, so that the same transcripts can be
judged again by the same or by other limits.
"""

from __future__ import annotations

from dataclasses import dataclass

from railgauge.core.errors import RailgaugeError
from railgauge.core.model import Case, Transcript

READ, LIMITS, TRAFFIC, TRANSPORT, RATIO, FACT, FABRIC = (
    "read",
    "limits",
    "traffic",
    "transport",
    "ratio",
    "fact",
    "fabric",
)


@dataclass(frozen=True, slots=True)
class FactAt:
    """A fact of one node: where it stands, and what it is compared with.

    ``paths`` are those of ``facts.require`` (several make a list, ``gpus.#`` counts).
    ``declared`` is a path into the hardware section of the platform file, ``same_as`` one into the
    same node's facts: what ``as_declared`` compares with. ``absent`` is what stands for a device
    that the node does not have at all.
    """

    node: str
    paths: tuple[str, ...]
    declared: str = ""
    same_as: str = ""
    absent: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """One thing that is asked: of a case that was measured, or of a fact.

    ``limits`` asks for the metrics asserted at ``size_bytes``, or for the link or GPU
    ``placement``, or for the run; ``ratio`` for ``metric`` of ``case`` over that of ``other``;
    ``fabric`` for the cables of the switch ``placement``, and what grew since ``other``.
    """

    kind: str
    case: Case | None = None
    size_bytes: int | None = None
    placement: str | None = None
    other: Case | None = None
    metric: str = ""
    fact: FactAt | None = None


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What came of a case: the transcripts of each repeat, or the error that left none.

    An output that is not ``is_planned`` was made by somebody else, who may have chosen another
    number of rows and iterations than the platform file.
    """

    runs: tuple[tuple[Transcript, ...], ...]
    error: RailgaugeError | None = None
    is_planned: bool = True

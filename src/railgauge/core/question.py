"""What an item asserts about its evidence: with the evidence, this is all that judging needs.

A run records the questions of each item with its results, so that the same transcripts can be
judged again by the same or by other limits.
"""

from __future__ import annotations

from dataclasses import dataclass

from railgauge.core.errors import RailgaugeError
from railgauge.core.model import Case, Transcript

READ, LIMITS, TRAFFIC, TRANSPORT, RATIO = ("read", "limits", "traffic", "transport", "ratio")
FACT, FABRIC, RESULTS, CORRECT = ("fact", "fabric", "results", "correct")
PEERS, KERNEL, TELEMETRY, GROWTH = ("peers", "kernel", "telemetry", "growth")
OUTPUT = "output"


@dataclass(frozen=True, slots=True)
class FactAt:
    """A fact of one node: where it is found, and what it is compared with.

    ``paths`` are paths of ``facts.require`` (several give a list, ``gpus.#`` gives a count).
    ``as_declared`` compares the fact with ``declared``, a path into the hardware section of the
    platform file, or with ``same_as``, a path into the same node's facts. ``absent`` is the value
    for a device that the node does not have.
    """

    node: str
    paths: tuple[str, ...]
    declared: str = ""
    same_as: str = ""
    absent: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """One assertion: about a case that was measured, or about a fact.

    By ``kind``: ``limits`` is about the metrics asserted at ``size_bytes``, of the link or GPU
    ``placement``, or of the run; ``ratio`` about ``metric`` of ``case`` divided by that of
    ``other``; ``fabric`` about the cables of the switch ``placement``, and the error counters that
    grew since ``other``; ``results`` about the named tests of a diagnostic; ``correct`` about the
    results of a collective, at any speed; ``peers`` about the node ``placement`` among the other
    nodes, in all that the run has measured; ``kernel`` about what the kernel of the node
    ``placement`` logged during the run, which ``case`` has read; ``telemetry`` about what the GPUs
    of the node ``placement`` did while they were measured; ``growth`` about the error
    counters of the node ``placement``, which ``case`` has read before and after the run.
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
    """The result of a case: the transcripts of each repeat, or the error that prevented them.

    ``is_planned`` is false for an output that was not made by a run of the suite: its number of
    rows and iterations may differ from the platform file's.
    """

    runs: tuple[tuple[Transcript, ...], ...]
    error: RailgaugeError | None = None
    is_planned: bool = True

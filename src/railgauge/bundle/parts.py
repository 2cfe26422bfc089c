"""The runs of which a run was merged, as values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from railgauge.facts import NodeAnswer
from railgauge.judging.record import ItemRecord
from railgauge.run.resume import Invocation
from railgauge.verdict.decision import RunPlan
from railgauge.verdict.merged import PartRun


class PartContents(Protocol):
    """The files of one of the runs."""

    @property
    def found(self) -> Mapping[str, NodeAnswer]: ...

    def plan(self) -> RunPlan: ...

    def records(self) -> dict[str, ItemRecord]: ...

    def invocation(self) -> Invocation | None: ...


def part_run(part: PartContents) -> PartRun:
    """A run that was or is to be merged, as values."""
    asked = part.invocation()
    no_gates = asked.no_gates if asked else False
    return PartRun(part.plan(), part.records(), no_gates, part.found)

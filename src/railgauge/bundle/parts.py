"""The runs that a run was made of, as values: those that were merged, or that it carries on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from railgauge.config.thresholds import Platform
from railgauge.core.model import Case, Cluster
from railgauge.core.question import CaseResult
from railgauge.diagnosis import RunResults
from railgauge.facts import NodeAnswer
from railgauge.facts.boot import KernelMark, Reboot
from railgauge.judging import record
from railgauge.judging.record import ItemRecord
from railgauge.run.resume import CLUSTER, Invocation
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


class EarlierContents(Protocol):
    """The files of a run that carries others on, or of one that is carried on."""

    @property
    def parts(self) -> Sequence[EarlierContents]: ...

    @property
    def earlier(self) -> Mapping[str, EarlierContents]: ...

    @property
    def found(self) -> Mapping[str, NodeAnswer]: ...

    def __contains__(self, name: str) -> bool: ...

    def records(self) -> dict[str, ItemRecord]: ...

    def cluster(self) -> Cluster: ...

    def reboots(self) -> tuple[Reboot, ...]: ...

    def marks(self) -> tuple[KernelMark, ...]: ...

    def starts(self, case: Case) -> tuple[str, ...]: ...

    def kept(self, case: Case) -> CaseResult | None: ...


def earlier_results(contents: EarlierContents, platform: Platform) -> dict[str, RunResults]:
    """What was kept of the runs that a run carries on; of a merged run those of all its parts."""
    found = {n: run for p in contents.parts for n, run in earlier_results(p, platform).items()}
    own = contents.earlier.items()
    return found | {name: _kept_apart(one, platform) for name, one in own if CLUSTER in one}


def _kept_apart(one: EarlierContents, platform: Platform) -> RunResults:
    return RunResults(
        one.records() if record.FILE in one else {},
        one.found,
        platform,
        one.cluster(),
        one.reboots(),
        starts=one.starts,
        kept=one.kept,
        marks=one.marks(),
    )

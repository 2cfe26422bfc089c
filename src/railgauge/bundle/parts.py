"""The runs of which a run was merged, as values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from railgauge.config.thresholds import Platform
from railgauge.judging.record import ItemRecord
from railgauge.verdict import closing, merged
from railgauge.verdict.merged import PartRun

if TYPE_CHECKING:
    from railgauge.bundle.contents import Contents


def part_run(part: Contents) -> PartRun:
    """A run that was or is to be merged, as values."""
    asked = part.invocation()
    no_gates = asked.no_gates if asked else False
    return PartRun(part.plan(), part.records(), no_gates, part.found)


def read_in_parts(parts: Sequence[Contents], platform: Platform) -> dict[str, ItemRecord]:
    """The closing items of a merged run that were read from the nodes."""
    runs = [part_run(part) for part in parts]
    read = [
        closing.read_items(part.results(run.records, platform))
        for part, run in zip(parts, runs, strict=True)
    ]
    return merged.read_in_parts(runs, read)

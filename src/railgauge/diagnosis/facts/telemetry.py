"""Causes that the GPUs' telemetry shows: what throttled while it was measured, at its GPU."""

from __future__ import annotations

from collections.abc import Iterator

from railgauge.core.errors import TelemetryUnread
from railgauge.core.model import Judgement
from railgauge.diagnosis.model import CauseRule, Context, Finding, Where, missed
from railgauge.judging.telemetry import SUBJECT


def throttled(context: Context) -> Iterator[Finding]:
    """One finding for each GPU that missed a limit on its clock, heat, power or throttling."""
    for record in context.about(SUBJECT):
        found: dict[str, list[Judgement]] = {}
        for judged in missed(record):
            found.setdefault(judged.points_at[0][1] if judged.points_at else "", []).append(judged)
        for gpu, limits in found.items():
            says = "; ".join(judged.reason for judged in limits)
            yield Finding("gpu-throttled", Where(record.nodes[0], gpu), says, (record,))


def unread(context: Context) -> Iterator[Finding]:
    """One finding for each node whose GPUs, or some of their measurements, were not sampled."""
    for record in context.about(SUBJECT):
        if record.error_kind == TelemetryUnread.kind:
            says = record.reason.removeprefix(f"{record.nodes[0]}: ")
            yield Finding("telemetry-unread", Where(record.nodes[0]), says, (record,))


RULES: tuple[CauseRule, ...] = (throttled, unread)

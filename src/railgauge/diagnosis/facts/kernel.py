"""Causes that the nodes' kernels logged during the run, at the GPU, NIC or address of the line."""

from __future__ import annotations

from collections.abc import Iterator

from railgauge.core.errors import KernelLogUnread
from railgauge.core.model import Judgement
from railgauge.diagnosis.catalogue import CATALOGUE
from railgauge.diagnosis.model import CauseRule, Context, Finding, Where, missed
from railgauge.judging.kernel_log import SUBJECT
from railgauge.judging.record import ItemRecord

_MOST = 3


def logged(context: Context) -> Iterator[Finding]:
    """One finding for each cause and device that failed lines of a node's log name."""
    for record in context.about(SUBJECT):
        found: dict[tuple[str, str], list[Judgement]] = {}
        for judged in missed(record):
            if judged.metric in CATALOGUE:
                device = judged.points_at[0][1] if judged.points_at else ""
                found.setdefault((judged.metric, device), []).append(judged)
        for (cause, device), lines in found.items():
            yield Finding(cause, Where(record.nodes[0], device), _says(lines), (record,))


def _says(lines: list[Judgement]) -> str:
    more = f"; and {len(lines) - _MOST} more kinds of lines" if len(lines) > _MOST else ""
    return "; ".join(judged.reason for judged in lines[:_MOST]) + more


def unread(context: Context) -> Iterator[Finding]:
    """One finding for each node whose log, or a part of it, could not be read."""
    for record in context.about(SUBJECT):
        if record.error_kind == KernelLogUnread.kind:
            yield Finding("kernel-log-unread", Where(record.nodes[0]), _why(record), (record,))


def _why(record: ItemRecord) -> str:
    return record.reason.removeprefix(f"{record.nodes[0]}: ")


RULES: tuple[CauseRule, ...] = (logged, unread)

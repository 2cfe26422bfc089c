"""What a certificate is made of: the record of a run, and what proves that it is this one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from railgauge.config.thresholds import Platform
from railgauge.core.model import Cluster
from railgauge.facts import FactsByNode
from railgauge.judging.record import ItemRecord
from railgauge.verdict.counts import RunVerdict
from railgauge.verdict.decision import RunPlan


@dataclass(frozen=True, slots=True)
class CertifiedRun:
    """A run that reached its verdict.

    ``found`` is what the survey found. ``hashes`` are (what, SHA-256) of its input and evidence,
    and ``seals`` a line for each signature of its bundle, or why there is none.
    """

    verdict: RunVerdict
    plan: RunPlan
    records: Mapping[str, ItemRecord]
    platform: Platform
    cluster: Cluster
    found: FactsByNode
    hashes: tuple[tuple[str, str], ...]
    seals: tuple[str, ...]

    @property
    def documents(self) -> Mapping[str, str]:
        """The documents that a basis may name: number -> what it is."""
        try:
            data: Any = json.loads(self.platform.text)
        except ValueError:
            return {}
        listed = data.get("documents") if isinstance(data, dict) else None
        known = listed if isinstance(listed, dict) else {}
        return {str(k): " ".join(v) if isinstance(v, list) else str(v) for k, v in known.items()}


def moment(text: str) -> str:
    """Return a time with its zone: ``2026-11-24 15:04:05 UTC+01:00``."""
    read = _time(text)
    if read is None:
        return "not recorded"
    offset = read.utcoffset() or timedelta()
    zone = "UTC" if not offset else f"UTC{read:%z}"[:6] + ":" + f"{read:%z}"[3:]
    return f"{read:%Y-%m-%d %H:%M:%S} {zone}"


def duration(began: str, ended: str) -> str:
    """Return the time between two moments in words: ``1 h 04 min``."""
    first, last = _time(began), _time(ended)
    if first is None or last is None or last < first:
        return "not recorded"
    seconds = round((last - first).total_seconds())
    hours, minutes = divmod(seconds // 60, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {seconds % 60:02} s" if minutes else f"{seconds} s"


def _time(text: str) -> datetime | None:
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return None
    return read if read.tzinfo else read.replace(tzinfo=timezone.utc)

"""Causes that facts, counters, logs, telemetry and errors show by themselves. Pure.

Each rule reads the items that no other cause explains yet, and gives a finding for each cause and
place. Rules run in the order of ``FACTS``, the lowest rung first.
"""

from __future__ import annotations

from railgauge.diagnosis.facts import (
    collectives,
    congestion,
    control_host,
    devices,
    differences,
    doubles,
    growth,
    health,
    host,
    kernel,
    steal,
    storage,
    subnet,
    telemetry,
    training,
    unmeasured,
    unresolved,
)
from railgauge.diagnosis.model import CauseRule

FACTS: tuple[CauseRule, ...] = (
    *unmeasured.FIRST,
    *unresolved.RULES,
    *kernel.RULES,
    *telemetry.RULES,
    *growth.RULES,
    *subnet.RULES,
    *doubles.RULES,
    *host.RULES,
    *growth.UNREAD,
    *differences.RULES,
    *health.RULES,
    *storage.RULES,
    *control_host.RULES,
    *steal.RULES,
    *collectives.FACTS,
    *devices.RULES,
    *training.RULES,
)
"""What shows a cause by itself."""
PAYLOAD: tuple[CauseRule, ...] = (*collectives.PAYLOAD, congestion.slowed_pairs)
"""Which way the payload of collectives went, which a slow part may explain."""
LAST: tuple[CauseRule, ...] = unmeasured.LAST
"""Tools that fail, where nothing else explains it."""

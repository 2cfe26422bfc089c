"""The catalogue of causes: the meaning, the remedy and the basis of each.

``effects`` says what each of them can make go wrong. A file holds the causes of one subject; the
pages list the causes in the order of the subjects here, and of the causes in their file.
"""

from __future__ import annotations

from collections.abc import Mapping

from railgauge.diagnosis.catalogue import (
    access,
    collectives,
    differences,
    gpus,
    growth,
    identity,
    kernel,
    leftover,
    links,
    parts,
    settings,
    speed,
    telemetry,
    tools,
)
from railgauge.diagnosis.catalogue.kind import Kind

__all__ = ["CATALOGUE", "SUBJECTS", "Kind"]

SUBJECTS: tuple[Mapping[str, Kind], ...] = (
    access.KINDS,
    identity.KINDS,
    tools.KINDS,
    parts.KINDS,
    links.KINDS,
    gpus.KINDS,
    settings.KINDS,
    differences.KINDS,
    collectives.KINDS,
    speed.KINDS,
    kernel.KINDS,
    telemetry.KINDS,
    growth.KINDS,
    leftover.KINDS,
)
CATALOGUE: Mapping[str, Kind] = {name: kind for each in SUBJECTS for name, kind in each.items()}

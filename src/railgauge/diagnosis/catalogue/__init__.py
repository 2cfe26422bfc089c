"""The catalogue of causes: the meaning, the remedy, the basis and the effects of each.

The pages list the causes in the order of the files here, and of the causes in their file.
"""

from __future__ import annotations

from collections.abc import Mapping

from railgauge.diagnosis.catalogue import logged, nodes, parts, settings, speed
from railgauge.diagnosis.catalogue.kind import Kind

__all__ = ["CATALOGUE", "SUBJECTS", "Kind"]

SUBJECTS: tuple[Mapping[str, Kind], ...] = (
    nodes.KINDS,
    parts.KINDS,
    settings.KINDS,
    speed.KINDS,
    logged.KINDS,
)
CATALOGUE: Mapping[str, Kind] = {name: kind for each in SUBJECTS for name, kind in each.items()}

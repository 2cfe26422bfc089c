"""``--shard I/N``: the part of the level that a run measures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from railgauge.core.errors import BadInput
from railgauge.core.model import Cluster
from railgauge.planning import part
from railgauge.planning.part import Part
from railgauge.planning.plan import Level


def asked(config: pytest.Config, cluster: Cluster, whole: Level) -> Part | None:
    """The part that the options ask for; ``None`` for the whole level. Raises ``BadInput``."""
    named = config.getoption("--shard")
    if not named:
        return None
    if config.getoption("--soak"):
        raise BadInput("cannot be combined with --soak", where="--shard")
    found = part.shard(named, cluster)
    uses = part.used(part.of_level(found, whole))
    if not uses:
        raise BadInput(
            f"has nothing to measure: this plan has fewer parts than {found.of}",
            where=f"--shard {named}",
            remedy="use fewer shards; railgauge plan --shard I/N shows what each one has",
        )
    return replace(found, uses=uses)

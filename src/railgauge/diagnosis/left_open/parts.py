"""The declared parts of a node, by kind, under the names that items have for them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from railgauge.config.thresholds.model import Platform
from railgauge.planning import required

GPU, NIC, PAIRING, LINK = "gpu", "nic", "pairing", "link"
_ENDS = re.compile(r"[>:]|(?<=\d)-(?=[a-z])")


def declared_parts(platform: Platform) -> dict[str, tuple[str, ...]]:
    """Return the names of all declared parts of a node, by kind."""
    count = platform.gpus.count if platform.gpus else 0
    return {
        GPU: tuple(map(required.gpu_label, range(count))),
        NIC: tuple(nic.name for nic in platform.fabric_nics),
        PAIRING: tuple(map(str, platform.pairings("gpu"))) if count else (),
        LINK: tuple(required.links(platform)),
    }


def parts_of(part: str) -> Iterable[str]:
    """Return a part and its ends: ``gpu0-mlx5_0``, ``gpu0`` and ``mlx5_0``."""
    return {part, *_ENDS.split(part)}

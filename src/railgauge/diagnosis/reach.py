"""Decide which items a cause can explain: on rungs above it, on its node, through its device."""

from __future__ import annotations

import re

from railgauge.core.errors import LaunchFailed
from railgauge.core.model import Outcome
from railgauge.core.naming import unfolded
from railgauge.diagnosis.catalogue import CATALOGUE
from railgauge.diagnosis.model import CauseClaim
from railgauge.judging.record import ItemRecord


def explains(claim: CauseClaim, record: ItemRecord) -> bool:
    """Whether the claim's cause can make this item fail or end in an error."""
    kind = CATALOGUE[claim.cause]
    if record.rung not in kind.reach or not _is_there(claim, record):
        return False
    if kind.silences and record.outcome is Outcome.FAILED:
        return False
    # A slow part does not prevent the start of a rank.
    if not kind.silences and record.error_kind == LaunchFailed.kind:
        return False
    lowest = min(shown.rung for shown in claim.evidence)
    return record.rung >= lowest and (
        not kind.through or _goes_through(claim.where.device, _part(claim, record))
    )


def _is_there(claim: CauseClaim, record: ItemRecord) -> bool:
    where = claim.where
    if where.peer:
        return {where.node, where.peer} <= set(record.nodes)
    return not where.node or bool(nodes_of(where.node).intersection(record.nodes))


def _part(claim: CauseClaim, record: ItemRecord) -> str:
    """The item's part on the claim's node; for a path between two nodes the item's pairing."""
    where = claim.where
    return record.pairing if where.peer else record.part_at(where.node)


def nodes_of(text: str) -> set[str]:
    """The names of the nodes in ``a``, ``a|b`` (undecided) or a folded ``mx[01-04]``."""
    return set(unfolded(text))


def _goes_through(device: str, pairing: str) -> bool:
    """Whether an item uses the device: it names no device of its kind, or it names this one."""
    own, named = devices_of(device), devices_of(pairing)
    kinds = {part[:3] == "gpu" for part in own}
    rivals = {part for part in named if (part[:3] == "gpu") in kinds}
    return not own or not rivals or bool(own & rivals)


def devices_of(text: str) -> set[str]:
    """The NICs and GPUs in ``gpu3-mlx5_0``, ``gpu0>gpu1`` or ``mlx5_0,mlx5_1``."""
    return {part for part in re.split(r"[>,]|(?<=\d)-(?=[a-z])", text) if part}

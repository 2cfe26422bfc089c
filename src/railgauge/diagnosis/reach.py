"""Which trouble a cause can account for: the rungs above it, on its node, through its device."""

from __future__ import annotations

import re

from railgauge.core.errors import LaunchFailed
from railgauge.core.model import Outcome
from railgauge.core.naming import unfolded
from railgauge.diagnosis.catalogue import CATALOGUE
from railgauge.diagnosis.model import CauseClaim
from railgauge.judging.record import ItemRecord


def explains(claim: CauseClaim, record: ItemRecord) -> bool:
    """Whether the claim's cause can make this item go wrong."""
    kind = CATALOGUE[claim.cause]
    if record.rung not in kind.reach or not _is_there(claim, record):
        return False
    if kind.silences and record.outcome is Outcome.FAILED:
        return False
    # Slow parts do not keep ranks from being started.
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
    """What of the item lies on the claim's node; between two nodes all of it."""
    where = claim.where
    return record.pairing if where.peer else record.part_at(where.node)


def nodes_of(text: str) -> set[str]:
    """The nodes of ``a``, ``a|b`` (undecided) or a folded ``mx[01-04]``."""
    return set(unfolded(text))


def _goes_through(device: str, pairing: str) -> bool:
    """An item that names no device takes all of them; one that names some must share one."""
    own, named = _devices(device), _devices(pairing)
    kinds = {part[:3] == "gpu" for part in own}
    rivals = {part for part in named if (part[:3] == "gpu") in kinds}
    return not own or not rivals or bool(own & rivals)


def _devices(text: str) -> set[str]:
    return {part for part in re.split(r"[>,]|(?<=\d)-(?=[a-z])", text) if part}

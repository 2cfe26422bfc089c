"""One root cause is one entry: claims that one remedy mends are made into one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from railgauge.core import naming
from railgauge.diagnosis.catalogue import CATALOGUE
from railgauge.diagnosis.model import OPEN, CauseClaim


def folded(claims: Iterable[CauseClaim]) -> list[CauseClaim]:
    """Claims of one cause on one part once, and settings that are wrong on several nodes once."""
    return _together(_together(claims, _same_part), _same_setting)


def _same_part(claim: CauseClaim) -> tuple[object, ...]:
    return (claim.cause, claim.where, claim.confidence)


def _same_setting(claim: CauseClaim) -> tuple[object, ...]:
    """What is open names suspects, not nodes whose setting is wrong: it stays as it is."""
    decided = claim.confidence != OPEN and not claim.where.peer
    folds = CATALOGUE[claim.cause].folds and decided
    where: object = claim.where.device if folds else claim.where
    return (claim.cause, where, claim.confidence)


def _together(claims: Iterable[CauseClaim], key: object) -> list[CauseClaim]:
    groups: dict[tuple[object, ...], list[CauseClaim]] = {}
    for claim in claims:
        groups.setdefault(key(claim), []).append(claim)  # type: ignore[operator]
    return [_merged(group) for group in groups.values()]


def _merged(group: Sequence[CauseClaim]) -> CauseClaim:
    first = group[0]
    if len(group) == 1:
        return first
    nodes = dict.fromkeys(claim.where.node for claim in group)
    says = dict.fromkeys(claim.says for claim in group)
    return replace(
        first,
        where=replace(
            first.where, node=naming.folded(nodes) if len(nodes) > 1 else first.where.node
        ),
        says="; ".join(list(says)[:_MOST])
        + (f"; and {len(says) - _MOST} more" if len(says) > _MOST else ""),
        would_decide="; ".join(dict.fromkeys(c.would_decide for c in group if c.would_decide)),
        evidence=tuple(dict.fromkeys(record for claim in group for record in claim.evidence)),
    )


_MOST = 3

"""Merge claims that have one root cause and one remedy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from railgauge.core import naming
from railgauge.diagnosis.catalogue import CATALOGUE
from railgauge.diagnosis.catalogue.effect import Harm
from railgauge.diagnosis.facts.common_errors import asked_on, errors_of, said
from railgauge.diagnosis.model import OPEN, CauseClaim, RunResults
from railgauge.diagnosis.reach import nodes_of

_Key = tuple[object, ...]


def folded(results: RunResults, claims: Iterable[CauseClaim]) -> list[CauseClaim]:
    """Return the claims with those of one cause and part merged, and those of one fault.

    A setting that is wrong on several nodes, and a tool that ends with the same error on them,
    becomes one claim with all of them.
    """

    def same_fault(claim: CauseClaim) -> _Key:
        return _same_fault(results, claim)

    merged = _together(results, _together(results, claims, _same_part), same_fault)
    return [_everywhere(results, claim) for claim in merged]


def _same_part(claim: CauseClaim) -> _Key:
    return (claim.cause, claim.where, claim.confidence)


def _same_fault(results: RunResults, claim: CauseClaim) -> _Key:
    """The key that claims of one wrong setting share, or of one error of a tool.

    An undecided claim names suspects, not nodes with a fault, so it is not merged.
    """
    is_decided = claim.confidence != OPEN and not claim.where.peer
    errors = errors_of(claim, results.platform) if is_decided and _is_of_tools(claim) else ()
    folds = is_decided and CATALOGUE[claim.cause].folds
    where: object = claim.where.device if folds or errors else claim.where
    return (claim.cause, where, claim.confidence, () if folds else errors)


def _is_of_tools(claim: CauseClaim) -> bool:
    """Whether the claim tells nothing of a part, each of which is repaired by itself."""
    return CATALOGUE[claim.cause].effect.harm is Harm.UNMEASURED


def _everywhere(results: RunResults, claim: CauseClaim) -> CauseClaim:
    """The claim, in words everywhere if each node shows it that ran what shows it."""
    by_tools = _is_of_tools(claim) and claim.confidence != OPEN and not claim.where.peer
    nodes = nodes_of(claim.where.node)
    if len(nodes) == 1 or not by_tools or not errors_of(claim, results.platform):
        return claim
    is_all = nodes >= asked_on(results, claim)
    return replace(claim, says=f"everywhere: {claim.says}") if is_all else claim


def _together(
    results: RunResults, claims: Iterable[CauseClaim], key: Callable[[CauseClaim], _Key]
) -> list[CauseClaim]:
    groups: dict[_Key, list[CauseClaim]] = {}
    for claim in claims:
        groups.setdefault(key(claim), []).append(claim)
    return [_merged(results, group) for group in groups.values()]


def _merged(results: RunResults, group: Sequence[CauseClaim]) -> CauseClaim:
    first = group[0]
    if len(group) == 1:
        return first
    nodes = dict.fromkeys(claim.where.node for claim in group)
    node = naming.folded(nodes) if len(nodes) > 1 else first.where.node
    return replace(
        first,
        where=replace(first.where, node=node),
        says=_says(results, group),
        would_decide="; ".join(dict.fromkeys(c.would_decide for c in group if c.would_decide)),
        evidence=tuple(dict.fromkeys(record for claim in group for record in claim.evidence)),
    )


def _says(results: RunResults, group: Sequence[CauseClaim]) -> str:
    """What all of them say; the error without its node if it is the same on several nodes."""
    says = list(dict.fromkeys(claim.says for claim in group))
    errors = {errors_of(claim, results.platform) for claim in group}
    is_one = len(errors) == 1 and any(errors)
    if len(says) > 1 and is_one and len({claim.where.node for claim in group}) > 1:
        return said(group[0].evidence, results.platform)
    rest = len(says) - _MOST
    return "; ".join([*says[:_MOST], *([f"and {rest} more"] if rest > 0 else [])])


_MOST = 3

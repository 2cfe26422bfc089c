"""Find the slow one of several suspects by measuring what the level did not. Pure.

- Three nodes, of which one was slow with the two others: those two are measured with each other. If
  they are fast, the first is slow.
- Several paths of a node between a GPU and a NIC, of which a collective says that one is slow: each
  is measured by itself.

Example: ``n1`` is slow with ``n2`` and with ``n3``, and ``n4`` did not answer. ``n2`` reaches its
limit with ``n3``, so ``n1`` is slow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from railgauge.config.thresholds.model import Platform
from railgauge.core.model import Outcome
from railgauge.core.naming import listed
from railgauge.core.question import LIMITS, Question
from railgauge.core.terms import Rung
from railgauge.diagnosis.catalogue import CATALOGUE
from railgauge.diagnosis.model import LIKELY, OPEN, Cause, Confirmation
from railgauge.diagnosis.reach import nodes_of
from railgauge.judging.confirmation import Confirmed, Remeasurement
from railgauge.judging.record import ItemRecord

_MOST_PATHS = 6  # more would be most of the measurements that a run adds
_MOST_NODES = 3
_FEW = 2  # suspects that other rules tell apart
_PATHS = "slow-pcie-path"
_GOOD = (Outcome.PASSED, Outcome.MARGINAL)


def suspects(cause: Cause) -> tuple[str, ...]:
    """The nodes, or the paths of one node, of an undecided cause; empty if they are too many."""
    if cause.confidence != OPEN or cause.where.peer or not cause.cause.startswith("slow-"):
        return ()
    nodes = sorted(nodes_of(cause.where.node))
    paths = cause.where.device.split(",")
    is_paths = cause.cause == _PATHS and len(nodes) == 1
    found, most = (paths, _MOST_PATHS) if is_paths else (nodes, _MOST_NODES)
    return tuple(found) if _FEW < len(found) <= most else ()


def unmet(cause: Cause, met: Mapping[str, set[str]]) -> Iterator[tuple[str, str]]:
    """The pairs of suspected nodes that were not measured with each other."""
    for one, other in combinations(suspects(cause), 2):
        if cause.cause != _PATHS and other not in met[one]:
            yield one, other


def on_paths(
    cause: Cause, records: Mapping[str, ItemRecord], platform: Platform, partner: str
) -> Iterator[Remeasurement]:
    """One measurement for each suspected path, with a good node."""
    node, where = cause.where.node, cause.where
    question = _on_gpus(records, node)
    for pairing in platform.pairings("gpu") if question and cause.cause == _PATHS else ():
        if str(pairing) in suspects(cause) and question and (case := question.case):
            nodes = tuple(name if name == node else partner for name in case.nodes)
            asked = replace(question, case=replace(case, nodes=nodes, pairing=pairing))
            yield Remeasurement(cause.cause, node, where.device, "", (node,), asked)


def _on_gpus(records: Mapping[str, ItemRecord], node: str) -> Question | None:
    """The question of an item in GPU memory that the node passed."""
    fit = (r for r in records.values() if r.rung == Rung.GPUDIRECT and r.outcome in _GOOD)
    asked = (q for r in fit if r.nodes.count(node) == 1 for q in r.questions)
    return next((q for q in asked if q.kind == LIMITS and q.case and q.case.pairing), None)


# --- the result ---


def decided(cause: Cause, results: Sequence[Confirmed]) -> Cause | None:
    """The cause at what is left of its suspects; ``None`` if the results do not tell."""
    among = suspects(cause)
    covered = [(result, _covers(cause, result)) for result in results]
    if not among or any(r.error or not set(names) <= set(among) for r, names in covered):
        return None
    fast = {name for result, names in covered if not result.missed for name in names}
    left = [name for name in among if name not in fast]
    is_paths = cause.cause == _PATHS
    if not left or (len(results) < len(among) if is_paths else len(left) > 1):
        return None
    if any(result.missed and not set(names) & set(left) for result, names in covered):
        return None
    where = cause.where
    place = replace(where, device=",".join(left)) if is_paths else replace(where, node=left[0])
    together = f"{listed(sorted(fast))} are fine with each other"
    said = "only it misses its limit" if is_paths else together
    seen = tuple(_line(result, names) for result, names in covered)
    return replace(
        cause,
        where=place,
        says=f"{cause.headline}; measured again, {said}",
        confidence=LIKELY,
        would_decide="",
        confirmation=Confirmation("confirmed", seen),
        remedy=CATALOGUE[cause.cause].remedy,
    )


def _covers(cause: Cause, result: Confirmed) -> tuple[str, ...]:
    """The suspects that take part in a measurement."""
    case = result.asked.question.case
    if cause.cause == _PATHS:
        return (str(case.pairing),) if case else ()
    return result.asked.suspects


def _line(result: Confirmed, names: Sequence[str]) -> str:
    case = result.asked.question.case
    judged = min(result.judgements, key=lambda j: j.margin or 0.0)
    word = "slow" if result.missed else "within its limit"
    at = f"{':'.join(case.nodes)} {case.pairing or ''}" if case else listed(names)
    name = case.measurement if case else ""
    return f"{name} {at}: {judged.metric} {judged.measured} ({judged.limit}): {word}"

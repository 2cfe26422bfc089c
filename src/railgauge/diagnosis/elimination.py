"""Find the slow one of several suspects by measuring what the level did not. Pure.

- Three nodes, of which one was slow with the two others: those two are measured with each other. If
  they are fast, the first is slow.
- Several GPUs of a node, or paths between a GPU and a NIC, of which a collective says that one is
  slow: each is measured by itself. Several slow paths of one NIC are the NIC if host memory over
  it, which was fine before, is slow now. One slow path may be its GPU, which is slow at times: it
  is undecided until the GPU was measured over another NIC.

Example: ``n1`` is slow with ``n2`` and with ``n3``, and ``n4`` did not answer. ``n2`` reaches its
limit with ``n3``, so ``n1`` is slow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from statistics import median

from railgauge.config.thresholds.model import Platform
from railgauge.core.model import Pairing
from railgauge.core.naming import listed
from railgauge.core.question import LIMITS, Question
from railgauge.core.terms import Rung
from railgauge.diagnosis.catalogue import CATALOGUE
from railgauge.diagnosis.gpu_or_path import at_the_nic, at_the_node, is_host_memory
from railgauge.diagnosis.model import GOOD, LIKELY, OPEN, Cause, Confirmation, Where
from railgauge.diagnosis.reach import nodes_of
from railgauge.judging.confirmation import Confirmed, Remeasurement
from railgauge.judging.record import ItemRecord

_MOST_PARTS = 8
_MOST_NODES = 3
_FEW = 2  # nodes that other rules tell apart
_PCIE = "slow-pcie-path"
_PART = {_PCIE: re.compile(r"gpu\d+-.+"), "slow-gpu": re.compile(r"gpu\d+")}
_BEHIND = 0.985  # of what the other suspects reach; healthy like parts differ by up to 1.04 %
_NEAR = "near"
_NODE = "slow-node"


def suspects(cause: Cause) -> tuple[str, ...]:
    """The nodes, or the GPUs or paths of one node, of an undecided cause; empty if too many."""
    if cause.confidence != OPEN or cause.where.peer or not cause.cause.startswith("slow-"):
        return ()
    if parts := _parts(cause):
        return parts
    nodes = tuple(sorted(nodes_of(cause.where.node)))
    return nodes if _FEW < len(nodes) <= _MOST_NODES else ()


def _parts(cause: Cause) -> tuple[str, ...]:
    """The suspected GPUs, or paths, of one node."""
    parts, pattern = tuple(cause.where.device.split(",")), _PART.get(cause.cause)
    is_one = len(nodes_of(cause.where.node)) == 1 and 1 < len(parts) <= _MOST_PARTS
    return parts if is_one and pattern and all(map(pattern.fullmatch, parts)) else ()


def unmet(cause: Cause, met: Mapping[str, set[str]]) -> Iterator[tuple[str, str]]:
    """The pairs of suspected nodes that were not measured with each other."""
    for one, other in combinations(() if _parts(cause) else suspects(cause), 2):
        if other not in met[one]:
            yield one, other


def on_parts(
    cause: Cause, records: Mapping[str, ItemRecord], platform: Platform, partner: str
) -> Iterator[Remeasurement]:
    """One measurement for each suspected GPU or path, with a good node; near paths first."""
    node, where = cause.where.node, cause.where
    question = _on_gpus(records, node)
    if not question or not question.case:
        return
    near_first = sorted(platform.pairings("gpu"), key=lambda path: path.distance != _NEAR)
    by_part = {_name(cause, pairing): pairing for pairing in reversed(near_first)}
    for part in _parts(cause):
        if pairing := by_part.get(part):
            nodes = tuple(name if name == node else partner for name in question.case.nodes)
            asked = replace(question, case=replace(question.case, nodes=nodes, pairing=pairing))
            yield Remeasurement(cause.cause, node, where.device, "", (node,), asked)


def nics_of_paths(cause: Cause) -> tuple[str, ...]:
    """The NICs of several suspected paths; empty for other suspects."""
    paths = _parts(cause) if cause.cause == _PCIE else ()
    return tuple(dict.fromkeys(path.partition("-")[2] for path in paths))


def _name(cause: Cause, pairing: Pairing) -> str:
    """The part of a pairing that a cause is about: its GPU, or the path."""
    return f"gpu{pairing.gpu}" if cause.cause == "slow-gpu" else str(pairing)


def _on_gpus(records: Mapping[str, ItemRecord], node: str) -> Question | None:
    """The question of an item in GPU memory that the node passed."""
    fit = (r for r in records.values() if r.rung == Rung.GPUDIRECT and r.outcome in GOOD)
    asked = (q for r in fit if r.nodes.count(node) == 1 for q in r.questions)
    return next((q for q in asked if q.kind == LIMITS and q.case and q.case.pairing), None)


# --- the result ---


def decided(cause: Cause, results: Sequence[Confirmed]) -> Cause | None:
    """The cause at what is left of its suspects; ``None`` if the results do not tell."""
    if not _parts(cause):
        return _node_left(cause, results)
    host = [result for result in results if is_host_memory(result)]
    of_gpus = [result for result in results if result not in host]
    left = _among_parts(cause, of_gpus)
    if left and left.cause == _NODE:  # no part is slow now, but a NIC may be
        return _of_slow_nics(cause, host) or left
    return _or_its_gpu(_of_nics(cause, left, host), of_gpus) if left else None


def _or_its_gpu(cause: Cause, results: Sequence[Confirmed]) -> Cause:
    """The cause; undecided if it is one path that misses its limit, as its GPU may at times.

    What cleared the GPU before tells nothing of a GPU that is slow at times.
    """
    path = cause.where.device
    gpu = path.partition("-")[0]
    slow = {_path(result) for result in results if result.missed}
    is_told = any(_path(r).startswith(f"{gpu}-") for r in results if _path(r) != path)
    if cause.cause != _PCIE or cause.confidence == OPEN or path not in slow or is_told:
        return cause
    where = replace(cause.where, device=f"{gpu},{path}")
    return replace(
        cause, where=where, confidence=OPEN, would_decide=f"measure {gpu} over another NIC"
    )


def _path(result: Confirmed) -> str:
    case = result.asked.question.case
    return str(case.pairing) if case else ""


def _node_left(cause: Cause, results: Sequence[Confirmed]) -> Cause | None:
    found, covered = suspects(cause), _covered(cause, results)
    if not found or not covered:
        return None
    fast = {name for result, names in covered if not result.missed for name in names}
    left = [name for name in found if name not in fast]
    if len(left) != 1 or any(r.missed and not set(names) & set(left) for r, names in covered):
        return None
    says = f"{cause.headline}; measured again, {listed(sorted(fast))} are fine with each other"
    where, again = replace(cause.where, node=left[0]), _again(covered)
    decided = replace(cause, where=where, says=says, confirmation=again)
    return decided if "," in where.device else _named(decided, again)


_Covered = Sequence[tuple[Confirmed, tuple[str, ...]]]


def _covered(cause: Cause, results: Sequence[Confirmed]) -> _Covered:
    """Each result with the suspects in it; empty if one has an error, or is about other parts."""
    found, covered = set(suspects(cause)), [(one, _covers(cause, one)) for one in results]
    is_sound = all(not one.error and set(names) <= found for one, names in covered)
    return covered if is_sound else ()


def _again(covered: _Covered) -> Confirmation:
    return Confirmation("confirmed", tuple(_line(result, names) for result, names in covered))


def _among_parts(cause: Cause, results: Sequence[Confirmed]) -> Cause | None:
    """The parts that miss their limit or are behind the others; all must have been measured."""
    found, covered = suspects(cause), _covered(cause, results)
    if {name for _, names in covered for name in names} != set(found):
        return None
    usual = median(_value(result) for result, _ in covered)
    slow = {n for r, names in covered if r.missed or _value(r) < _BEHIND * usual for n in names}
    left = [name for name in found if name in slow]
    if not left:
        return _of_no_part(cause, found, _again(covered))
    what = "misses its limit" if any(r.missed for r, _ in covered) else "is behind the others"
    says = f"{cause.headline}; measured again, only {listed(left)} {what}"
    where, again = replace(cause.where, device=",".join(left)), _again(covered)
    narrowed = replace(cause, where=where, says=says, confirmation=again)
    if len(left) > 1 and cause.cause == "slow-gpu":  # one is; others may have a slow path to a NIC
        return replace(narrowed, would_decide=f"measure {listed(left)} over other NICs")
    return _named(narrowed, again)


def _of_no_part(cause: Cause, found: Sequence[str], again: Confirmation) -> Cause:
    """The node, undecided: what was fine in the run may have become slow before the collective."""
    node, kind = cause.where.node, CATALOGUE[_NODE]
    rest = "GPUs" if cause.cause == "slow-gpu" else "paths"
    return replace(
        cause,
        cause=_NODE,
        where=Where(node),
        says=f"{cause.headline}; measured again, each of {listed(found)} is fine by itself",
        would_decide=f"measure the other {rest} of {node} again, and the links between its GPUs",
        remedy=kind.remedy,
        basis=kind.basis,
        confirmation=again,
    )


def _of_nics(before: Cause, left: Cause, host: Sequence[Confirmed]) -> Cause:
    """The NIC, or the node, in place of all suspected paths of one NIC or of several.

    Host memory over a NIC, which was fine before, tells: a part that has become slow since is none
    of the paths.
    """
    paths = _parts(replace(left, confidence=OPEN))
    nics = nics_of_paths(replace(left, confidence=OPEN))
    theirs = {path for path in _parts(before) if path.partition("-")[2] in nics}
    if not nics or theirs != set(paths):
        return left
    mine = _by_nic(before, nics, host)
    slow = [nic for nic, results in mine.items() if any(result.missed for result in results)]
    if len(slow) == len(nics) and (found := _of_slow_nics(before, host)):
        return found
    unknown = slow or [nic for nic, results in mine.items() if not results and len(nics) == 1]
    decide = f"measure host memory over {listed(unknown)} of {before.where.node} again"
    return replace(left, confidence=OPEN, would_decide=decide) if unknown else left


def _by_nic(
    cause: Cause, nics: Sequence[str], host: Sequence[Confirmed]
) -> dict[str, list[Confirmed]]:
    """What was measured again of host memory over each NIC."""
    return {nic: [r for r in host if nic in _covers(cause, r) and not r.error] for nic in nics}


def _of_slow_nics(before: Cause, host: Sequence[Confirmed]) -> Cause | None:
    """The NIC of the suspected paths over which host memory is slow now, or the node of several."""
    mine = _by_nic(before, nics_of_paths(before), host)
    slow = [nic for nic, results in mine.items() if any(result.missed for result in results)]
    if len(slow) > 1:
        return at_the_node(before, [result for nic in slow for result in mine[nic]])
    return at_the_nic(before, slow[0], mine[slow[0]]) if slow else None


def _named(cause: Cause, again: Confirmation) -> Cause:
    remedy = CATALOGUE[cause.cause].remedy
    return replace(cause, confidence=LIKELY, would_decide="", confirmation=again, remedy=remedy)


def _value(result: Confirmed) -> float:
    return min((j.worst for j in result.judgements if j.worst is not None), default=0.0)


def _covers(cause: Cause, result: Confirmed) -> tuple[str, ...]:
    """The suspects that take part in a measurement."""
    case = result.asked.question.case
    if _parts(cause):
        return (_name(cause, case.pairing),) if case and case.pairing else ()
    return result.asked.suspects


def _line(result: Confirmed, names: Sequence[str]) -> str:
    case = result.asked.question.case
    judged = min(result.judgements, key=lambda j: j.margin or 0.0)
    word = "slow" if result.missed else "within its limit"
    at = f"{':'.join(case.nodes)} {case.pairing or ''}" if case else listed(names)
    name = case.measurement if case else ""
    return f"{name} {at}: {judged.metric} {judged.measured} ({judged.limit}): {word}"

"""Collectives that are slow on a node whose NICs are fine: not all of the node is slow. Pure.

What is fine is taken into account, and what was not measured is named, with the measurement that
would decide. A node whose NICs lag behind other nodes' by as much as its collectives do is slow as
a whole, although its NICs are within their limits.

Example: the collective inside ``mx02`` reaches 39 of 65 GB/s. RDMA over both NICs of ``mx02``, with
host memory and with GPUs 3 and 4, is fine. One of the other GPUs may be slow: the level nightly
measures each with a NIC.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from statistics import median

from ClusterShell.RangeSet import RangeSet

from railgauge.config.thresholds.model import LEVELS
from railgauge.core.naming import listed
from railgauge.core.terms import Rung
from railgauge.diagnosis.model import (
    AGAIN,
    GOOD,
    LIKELY,
    OPEN,
    Cause,
    CauseClaim,
    RunResults,
    Scene,
    Where,
)
from railgauge.diagnosis.over_paths import has_rate
from railgauge.diagnosis.pattern import has_value, worst_of
from railgauge.diagnosis.shares import Shares
from railgauge.judging.record import ItemRecord
from railgauge.planning import plan

_GPU = re.compile(r"gpu(\d+)")
_PATHS = (Rung.NETWORK, Rung.GPUDIRECT)
_PARTS = (*_PATHS, Rung.INTRANODE)
_HALF = 0.5


def slow_inside(scene: Scene, node: str, slow: Sequence[ItemRecord]) -> CauseClaim:
    """The claim for collectives inside ``node`` that are slow although no part of it is."""
    says = f"{worst_of(slow)}, inside the node"
    fine = _fine(scene, node)
    gpus = unmeasured_gpus(scene, node)
    if not fine and gpus:
        decide = _decides(scene, node, gpus) or "measure its NICs and GPUs one by one"
        says += f"; nothing else of the node was measured, and {_not_measured(node, gpus)}"
        return CauseClaim("slow-node", Where(node), says, tuple(slow), OPEN, decide)
    if not fine or _lags(scene, node, slow, fine):
        return CauseClaim("slow-node", Where(node), says, tuple(slow), LIKELY)
    says += f"; {_held(fine)} of the node reach their limits"
    if gpus:
        says += f"; {_not_measured(node, gpus)}"
        where = Where(node, ",".join(f"gpu{gpu}" for gpu in gpus))
        decide = _decides(scene, node, gpus) or f"measure {_named(gpus)} of {node} one by one"
        return CauseClaim("slow-gpu", where, says, tuple(slow), OPEN, decide)
    if not any(">" in record.pairing for record in fine):
        says += "; the links between its GPUs were not measured by themselves"
        decide = f"measure the links between the GPUs of {node} (TransferBench, nvbandwidth)"
        return CauseClaim("slow-gpu-link", Where(node), says, tuple(slow), OPEN, decide)
    if held := _other_collectives(scene, node):
        says += f"; so do {held}: what is slow may come and go"
    else:
        says += ", and one may have slowed down since it was measured"
    return CauseClaim("slow-node", Where(node), says, tuple(slow), OPEN, AGAIN.format(node))


def narrowed(scene: Scene, claim: CauseClaim) -> CauseClaim:
    """The claim, or one for paths from GPUs to NICs where only these were not measured.

    It is about a node that is slow in all its pairs of a collective.
    """
    node = claim.where.node
    fine = _fine(scene, node)
    paths = _unmeasured_paths(scene, node)
    if claim.cause != "slow-node" or claim.confidence == OPEN or not fine or not paths:
        return claim
    if _lags(scene, node, claim.evidence, fine):
        return claim
    says = (
        f"{claim.says}; {_held(fine)} of the node reach their limits; "
        f"not measured: {listed(paths)} of {node}"
    )
    decide = _decides(scene, node, {int(gpu) for path in paths for gpu in _GPU.findall(path)})
    where = Where(node, ",".join(paths))
    return CauseClaim("slow-pcie-path", where, says, claim.evidence, OPEN, decide)


def doubted(scene: Scene, claim: CauseClaim) -> CauseClaim:
    """The claim; undecided if it is about a path over which something else was clearly faster.

    A slow path between two nodes is slow over all NICs.
    """
    if not claim.where.peer or claim.confidence == OPEN:
        return claim
    faster, decide = _faster(scene.results, claim.where, claim.evidence)
    if not faster:
        return claim
    says = f"{claim.says}; {faster}"
    return replace(claim, says=says, confidence=OPEN, would_decide=decide)


def doubted_path(results: RunResults, cause: Cause) -> Cause:
    """The cause of collectives; undecided if it is a path that was clearly faster over its NICs."""
    shown = [results.records[item] for item in cause.evidence if item in results.records]
    if any(record.rung < Rung.COLLECTIVE for record in shown):
        return cause
    faster, decide = _faster(results, cause.where, shown)
    if not faster:
        return cause
    says = f"{cause.says}; {faster}"
    return replace(cause, says=says, confidence=OPEN, would_decide=decide)


def _faster(results: RunResults, path: Where, slow: Sequence[ItemRecord]) -> tuple[str, str]:
    """What was faster over the path, in words, and what would decide; empty if nothing was."""
    ends, shares = {path.node, path.peer}, Shares(results.records.values())
    below = [r for r in _here(results, path.node, _PATHS) if set(r.nodes) == ends]
    # Both ends may be part of all pairs that passed.
    reached, lost = (shares.levels(some, ends) or shares.levels(some, ()) for some in (below, slow))
    if not (reached and lost) or max(reached) <= 1 - _HALF * (1 - min(lost)):
        return "", ""
    subjects = listed(list(dict.fromkeys(record.subject for record in below)))
    share = f"{100 * max(reached):.0f} %"
    says = f"{subjects} between the two reached up to {share} of what other pairs reach"
    return says, AGAIN.format(f"{path.node} and {path.peer}")


def unmeasured_gpus(scene: Scene, node: str) -> list[int]:
    """The declared GPUs of the node that no item measured by themselves, over a NIC or a link."""
    declared = scene.results.platform.gpus
    seen = {
        int(gpu)
        for record in _here(scene.results, node, _PARTS)
        for gpu in _GPU.findall(record.part_at(node))
    }
    return [gpu for gpu in range(declared.count if declared else 0) if gpu not in seen]


def _unmeasured_paths(scene: Scene, node: str) -> list[str]:
    """The near paths of the node that no item measured, if any path from a GPU was."""
    platform = scene.results.platform
    measured = {record.part_at(node) for record in _here(scene.results, node, (Rung.GPUDIRECT,))}
    near = [str(path) for path in platform.pairings("gpu") if path.distance == "near"]
    return [path for path in near if path not in measured] if measured else []


def _here(results: RunResults, node: str, rungs: Iterable[Rung]) -> Iterator[ItemRecord]:
    """The items of the node that a value was measured for, whether or not it met its limit."""
    for record in results.records.values():
        if record.rung in rungs and node in record.nodes and has_value(record):
            yield record


def _fine(scene: Scene, node: str) -> list[ItemRecord]:
    """The fine items over single NICs, GPUs and links of the node."""
    here = _here(scene.results, node, _PARTS)
    return [record for record in here if record.outcome in GOOD and record.pairing]


def _other_collectives(scene: Scene, node: str) -> str:
    """The collectives inside the node that reach their limits, and what other nodes reach."""
    shares = Shares(scene.results.records.values())
    fine = [
        record
        for record in _here(scene.results, node, (Rung.INTRANODE,))
        if record.outcome in GOOD and not record.pairing and has_rate(record)
        if not shares.is_behind(record, {node})
    ]
    return _held(fine) if fine else ""


def _lags(scene: Scene, node: str, slow: Sequence[ItemRecord], fine: Sequence[ItemRecord]) -> bool:
    """Whether the fine items lag behind other nodes' at least half as much as the slow ones do."""
    shares = Shares(scene.results.records.values())
    lost, kept = shares.levels(slow, {node}), shares.levels(fine, {node})
    return bool(lost and kept) and 1 - median(kept) >= _HALF * (1 - min(lost))


def _held(fine: Sequence[ItemRecord]) -> str:
    return listed(list(dict.fromkeys(record.subject for record in fine)))


def _not_measured(node: str, gpus: Sequence[int]) -> str:
    verb, alone = ("were", "themselves") if len(gpus) > 1 else ("was", "itself")
    return f"{_named(gpus)} of {node} {verb} not measured by {alone}"


def _named(gpus: Iterable[int]) -> str:
    ranges = str(RangeSet.fromlist([str(gpu) for gpu in gpus])).replace(",", ", ")
    return f"{'GPUs' if set(ranges) & set(',-') else 'GPU'} {ranges}"


def _decides(scene: Scene, node: str, gpus: Iterable[int]) -> str:
    """The first level that measures these GPUs one by one, and its measurement; empty if none."""
    platform, wanted = scene.results.platform, set(gpus)
    for level in LEVELS:
        for name, measurement in platform.measurements.items():
            paths = plan.paths(platform, measurement, level)
            if wanted <= {path.gpu for path in paths if path}:
                return f"measure {name} with {_named(wanted)} of {node}: --level {level}"
    return ""

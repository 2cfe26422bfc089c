"""Rungs 1 and 2: find the part that all slow measurements between nodes share.

Items that a lower cause explains, and pairs that could not be measured, are left out.

Example: ``mx02`` is slow over ``mlx5_1`` with ``mx01`` and with ``mx03``, and fast over its other
NICs; ``mx01`` and ``mx03`` are fast with each other over ``mlx5_1``. The cause is ``slow-nic`` at
``mx02, mlx5_1``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from railgauge.config.thresholds.model import Platform
from railgauge.core import naming
from railgauge.core.terms import Flow, Rung
from railgauge.diagnosis.each_way import EachWay
from railgauge.diagnosis.localise import (
    SENDING,
    Part,
    PathResult,
    Undecided,
    blame_paths,
    parted,
    plain,
    ways,
)
from railgauge.diagnosis.localise.directions import WAYS
from railgauge.diagnosis.locating import lies_on, located
from railgauge.diagnosis.model import LIKELY, OPEN, CauseClaim, Scene, Where, missed
from railgauge.diagnosis.nested import doubted_whole
from railgauge.diagnosis.over_paths import (
    Measurements,
    flow_of,
    has_rate,
    is_path,
    path_result,
)
from railgauge.diagnosis.pattern import has_value, worst_of
from railgauge.diagnosis.reach import explains, goes_through
from railgauge.diagnosis.shares import Shares, behind_the_best, slower_than_their_part
from railgauge.judging.record import ItemRecord

DIRECTION = "slow-direction"
_KIND = {
    "node": "slow-node",
    "nic": "slow-nic",
    "gpu": "slow-gpu",
    "path": "slow-pcie-path",
    "pair": "slow-path",
}


def over_paths(scene: Scene) -> Iterator[CauseClaim]:
    """Slow pairs of nodes over NICs and GPUs, host memory first, since both use the same NICs."""
    for rungs in ((Rung.NETWORK,), (Rung.NETWORK, Rung.GPUDIRECT)):
        slow = [r for r in scene.open if r.rung in rungs and is_path(r) and missed(r)]
        if slow:
            claims = list(_over_paths(scene, slow, rungs))
            yield from claims
            scene = scene.without(record for claim in claims for record in claim.evidence)
            platform = scene.results.platform
            scene = scene.without(
                r for r in scene.open if any(_same_flow(c, r, platform) for c in claims)
            )


def _same_flow(claim: CauseClaim, record: ItemRecord, platform: Platform) -> bool:
    """Whether a slow direction, found over a NIC, explains an item of one of its slow pairs."""
    pairs = {frozenset(shown.nodes) for shown in claim.evidence}
    is_here = claim.cause == DIRECTION and frozenset(record.nodes) in pairs
    return is_here and explains(claim, record, platform)


def _over_paths(
    scene: Scene, slow: Sequence[ItemRecord], rungs: Sequence[int]
) -> Iterator[CauseClaim]:
    # Counters show which way the payload went, not how fast it was.
    paths = [r for r in scene.measured(rungs) if is_path(r) and not missed(r) and has_value(r)]
    needed = _needed(slow)
    flows = scene.results.platform.measurements
    each_way = EachWay.of(paths, flows)
    slowest = each_way.slowest(slow)
    fine = [
        record
        for record in paths
        if not _falls_short(record, needed)
        and not each_way.hides(record, slowest)
        and (has_rate(record) or not any(map(has_rate, slow)))
    ]
    found = located(slow, fine, paths, flows)
    left = _left(found.parts, slow, fine, flows)
    open_ = [one for some in found.undecided for one in _undecided(some, left, flows)]
    whole = [part for part in found.parts if part.kind != "pair"]
    if not whole:
        claims = [*_claims(found.parts, slow, fine, flows)]
    else:
        own = _own(whole, slow, Shares(paths), flows)
        inside = _inside(whole, slow, fine, flows)
        claims = [_claim(part, own[part], fine) for part in whole if own[part]]
        claims += [claim for claim in inside if not _is_undecided(claim, open_)]
        claims = [doubted_whole(claim, claims) for claim in claims]
    yield from (_with_two_ways(claim, Shares(paths), flows) for claim in claims)
    yield from open_


def _left(
    parts: Iterable[Part],
    slow: Sequence[ItemRecord],
    fine: Sequence[ItemRecord],
    flows: Measurements,
) -> list[ItemRecord]:
    """The slow items that no decided part explains: not on one, or clearly slower than its others.

    Only a path between two nodes is as slow over each NIC; other parts are told apart later.
    """
    shares = Shares(fine)
    on = [(part, _on(part, slow, flows)) for part in parts]
    behind = [
        record
        for part, records in on
        if part.peer and not part.device
        for record in behind_the_best(shares, records, {part.node, part.peer})
    ]
    explained = {record.id for _, records in on for record in records}
    return [r for r in slow if r.id not in explained or r in behind]


def _is_undecided(claim: CauseClaim, open_: Iterable[CauseClaim]) -> bool:
    """Whether a path between two nodes rests on items for which one of its ends fits as well.

    What is undecided by itself is named once.
    """
    shown = {record.id for other in open_ for record in other.evidence}
    is_doubtful = bool(claim.where.peer) or claim.confidence == OPEN
    return is_doubtful and all(record.id in shown for record in claim.evidence)


def _claims(
    parts: Iterable[Part],
    slow: Sequence[ItemRecord],
    fine: Sequence[ItemRecord],
    flows: Measurements,
) -> Iterator[CauseClaim]:
    for part in parts:
        if records := _on(part, slow, flows):
            yield _claim(part, records, fine)


def _on(part: Part, slow: Iterable[ItemRecord], flows: Measurements) -> list[ItemRecord]:
    return [record for record in slow if lies_on(part, record, flows)]


def _claim(part: Part, records: Sequence[ItemRecord], fine: Sequence[ItemRecord]) -> CauseClaim:
    return CauseClaim(
        DIRECTION if part.way else _KIND[part.kind],
        Where(part.node, part.device, part.peer),
        _story(part, records, fine),
        tuple(records),
        LIKELY,
    )


def _with_two_ways(claim: CauseClaim, shares: Shares, flows: Measurements) -> CauseClaim:
    """The claim; undecided if it is about a path that lost far more in one direction.

    A path carries about as much both ways, so two faults of its ends may have met.
    """
    reached: dict[str, float] = {}
    for record in claim.evidence if claim.where.peer else ():
        if sender := _sender(record, flows):
            reached[sender] = max(_reached(shares, [record]), reached.get(sender, 0.0))
    if len(reached) < len(WAYS):
        return claim
    (slower, least), (faster, most) = sorted(reached.items(), key=lambda one: one[1])
    if 1 - most >= _HALF * (1 - least):
        return claim
    says = (
        f"{claim.says}; {slower} sends {100 * least:.0f} % of what other pairs reach and {faster} "
        f"{100 * most:.0f} %, so that two faults may meet here"
    )
    decide = f"measure {slower} and {faster} with nodes that are known to be good"
    return replace(claim, says=says, confidence=OPEN, would_decide=decide)


_HALF = 0.5


def _own(
    parts: Sequence[Part], slow: Sequence[ItemRecord], shares: Shares, flows: Measurements
) -> dict[Part, Sequence[ItemRecord]]:
    """By part its items, but for those that a slower part on their way explains better.

    They lost more than twice of what the part costs elsewhere; a sum of both directions shows half
    of what one of them lost.
    """
    on = {part: _on(part, slow, flows) for part in parts}
    best = {part: _reached(shares, records) for part, records in on.items()}
    found: dict[Part, Sequence[ItemRecord]] = {}
    for part, records in on.items():
        slower = {r.id for other in parts if best[other] < best[part] for r in on[other]}
        least = (1 - 2 * (1 - best[part])) * _LIKE
        own = [r for r in records if r.id not in slower or _reached(shares, [r]) >= least]
        found[part] = own or records
    return found


def _reached(shares: Shares, records: Iterable[ItemRecord]) -> float:
    """The best share of a healthy value; 1.0 if nothing shows what is healthy."""
    return max(shares.levels(records, ()), default=1.0)


_LIKE = 0.985  # healthy like parts differ by up to 1.04 % in document 002


def _inside(
    whole: Sequence[Part],
    slow: Sequence[ItemRecord],
    fine: Sequence[ItemRecord],
    flows: Measurements,
) -> Iterator[CauseClaim]:
    """Slow connections, and slow parts inside the parts that are slow as a ``whole``.

    A slow item that its slow parts explain counts as fine for them, and tells nothing about the
    other node of its pair.
    """
    nodes, shares = {part.node for part in whole}, Shares(fine)
    behind = [record for record in fine if shares.is_behind(record, nodes)]
    on = [_on(part, (*slow, *behind), flows) for part in whole]
    slower = slower_than_their_part(shares, on, nodes)
    explained = {r.id: r for records in on for r in records if r.id not in slower and missed(r)}
    left = [record for record in slow if record.id not in explained]
    alone = [
        _of_one(path_result(record, flows, slow=False), node, record.id)
        for record in explained.values()
        for node in sorted(nodes.intersection(record.nodes))
    ]
    wrong = {record.id for record in left}
    results = [*(path_result(r, flows, slow=r.id in wrong) for r in (*fine, *left)), *alone]
    fresh = [part for part in _located(results) if part not in whole]
    for claim in _claims(fresh, left, fine, flows):
        told = [slower[record.id] for record in claim.evidence if record.id in slower]
        ends = {claim.where.node, claim.where.peer}
        at = [part for part in whole if part.node in ends] or whole
        around = naming.listed(list(map(str, at)))
        says = f"{worst_of(claim.evidence)}; {told[0].against(around)}" if told else claim.says
        back = [r for r in (*explained.values(), *fine) if _is_way_back(claim, r, flows)]
        yield _one_sided(replace(claim, says=says)) if back else replace(claim, says=says)
    for open_ in () if fresh else blame_paths(_both_ways(results)).undecided:
        # The other end of the slower items may have no other partner, so that it may be slow too.
        if not any(_NO_NODE in name for name in open_.among):
            yield from _undecided(open_, left, flows)


def _is_way_back(claim: CauseClaim, record: ItemRecord, flows: Measurements) -> bool:
    """Whether all evidence for a path moved its payload one way, and this item the other way."""
    if not claim.where.peer or set(record.nodes) != {claim.where.node, claim.where.peer}:
        return False
    if not (has_rate(record) and goes_through(claim.where.device, record.pairing)):
        return False
    gone = {_sender(shown, flows) for shown in claim.evidence}
    return len(gone) == 1 and "" not in gone and _sender(record, flows) not in (*gone, "")


def _sender(record: ItemRecord, flows: Measurements) -> str:
    """The node that sends the payload; empty if both do."""
    flow = flow_of(record, flows)
    if flow not in (Flow.FORWARD, Flow.BACKWARD):
        return ""
    return record.nodes[0 if flow is Flow.FORWARD else -1]


def _one_sided(claim: CauseClaim) -> CauseClaim:
    """The claim for a path, undecided: one end may be slower in that direction."""
    ends = naming.listed([claim.where.node, claim.where.peer])
    says = f"{claim.says}; in one direction only, so that one of {ends} may be slower in it"
    decide = f"measure {ends} in both directions with nodes that are known to be good"
    return replace(claim, says=says, confidence=OPEN, would_decide=decide)


def _both_ways(results: Iterable[PathResult]) -> Iterator[PathResult]:
    """The results as if their directions were not known."""
    return (replace(result, flow=Flow.UNTOLD) for result in results)


def _located(results: Sequence[PathResult]) -> Sequence[Part]:
    """The slow parts: directions of nodes if there are any, else nodes and paths."""
    parts = blame_paths(results).parts
    if any(part.way for part in parts):
        return parts
    return blame_paths(_both_ways(results)).parts


_NO_NODE = "partner in"  # no name of a node has a space


def _of_one(result: PathResult, node: str, name: str) -> PathResult:
    """The result as one of ``node`` with a partner that nothing else is known of."""
    one, other = (node if end == node else f"{_NO_NODE} {name}" for end in result.nodes)
    return replace(result, nodes=(one, other))


_What = tuple[str, str, "int | None"]  # subject, metric, message size


def _needed(slow: Iterable[ItemRecord]) -> dict[_What, float]:
    """The highest floor that was missed, by measurement, metric and size.

    A far path has a lower floor than a near path.
    """
    found: dict[_What, float] = {}
    for record in slow:
        for judged in missed(record):
            if judged.floor is not None:
                what = (record.subject, judged.metric, judged.size_bytes)
                found[what] = max(judged.floor, found.get(what, judged.floor))
    return found


def _falls_short(record: ItemRecord, needed: Mapping[_What, float]) -> bool:
    """Whether a passed item is below a floor that slow items missed, so that it clears no part."""
    return any(
        judged.worst is not None
        and judged.worst < needed.get((record.subject, judged.metric, judged.size_bytes), 0.0)
        for judged in record.judgements
    )


def _story(part: Part, slow: Sequence[ItemRecord], fine: Iterable[ItemRecord]) -> str:
    """In words: how slow, over how many pairs, and what is fine with others."""
    ends = {part.node, part.peer} - {""}
    others = sorted({n for r in slow for n in r.nodes} - ends)
    pairs = {frozenset(record.nodes) for record in slow}
    healthy = {frozenset(record.nodes) for record in fine if not ends <= set(record.nodes)}
    said = f"{worst_of(slow)}; slow in {'all ' if len(pairs) > 1 else ''}{len(pairs)} of its pairs"
    if part.kind == "pair":
        said = f"{worst_of(slow)}; both nodes reach their limits with others"
    elif others and healthy:
        said += f" ({', '.join(others)}), which are fine with others"
    if part.way:
        said = f"{_one_way(part)}: {said}"
    return f"{said}; {part.note}" if part.note else said


def _one_way(part: Part) -> str:
    """Such as: mx02 receives slowly over mlx5_1, and sends at its limit."""
    slow, fine = ("sends", "receives") if part.way == SENDING else ("receives", "sends")
    over = f" over {part.device}" if part.device else ""
    return f"{part.node} {slow} slowly{over}, and {fine} at its limit"


def _undecided(
    open_: Undecided, left: Sequence[ItemRecord], flows: Measurements
) -> Iterator[CauseClaim]:
    """An open claim for slow results that several parts could explain; it names all of them."""
    records = [r for r in left if any(_fits(name, r, flows) for name in open_.among)]
    if not records:
        return
    among = [plain(name).partition(" ") for name in open_.among if ":" not in name]
    devices = dict.fromkeys(part for _, _, device in among for part in _parts_on(device))
    if len(devices) == 1:  # a node is a suspect for what is slow over this device
        over = [r for r in records if goes_through(min(devices), r.pairing)]
        records = over or records
    yield CauseClaim(
        DIRECTION if open_.one_way else _suspect(devices),
        Where(naming.among(node for node, _, _ in among), ",".join(devices)),
        f"{worst_of(records)}; the evidence fits each of {naming.listed(open_.among)}",
        tuple(records),
        OPEN,
        open_.would_decide,
    )


def _parts_on(device: str) -> tuple[str, ...]:
    """The parts of a suspected device: a path from a GPU is slow if the GPU is."""
    gpu, _, nic = device.partition("-")
    return (gpu, device) if gpu.startswith("gpu") and nic else (device,) if device else ()


def _fits(name: str, record: ItemRecord, flows: Measurements) -> bool:
    """Whether a suspect takes part: ``mx02``, ``mx02 mlx5_0 sending``, ``mx01:mx02 mlx5_0``."""
    suspect, way = parted(name)
    place, _, device = suspect.partition(" ")
    nodes = place.split(":")
    if not set(nodes) <= set(record.nodes):
        return False
    one, other = record.nodes
    goes = not way or way in ways((one, other), place, flow_of(record, flows))
    return goes and (not device or any(goes_through(device, record.part_at(n)) for n in nodes))


def _suspect(devices: Iterable[str]) -> str:
    """The cause for the smallest suspect: a GPU before a NIC before the node."""
    kinds = {"slow-gpu" if name.startswith("gpu") else "slow-nic" for name in devices}
    return next(iter(sorted(kinds)), "slow-node")


RULES: tuple[Callable[[Scene], Iterator[CauseClaim]], ...] = (over_paths,)

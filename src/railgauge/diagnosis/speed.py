"""Rungs 1 to 3: find the part that all slow measurements share.

Items that a lower cause explains, and pairs that could not be measured, are left out.

Example: ``mx02`` is slow over ``mlx5_1`` with ``mx01`` and with ``mx03``, and fast over its other
NICs; ``mx01`` and ``mx03`` are fast with each other over ``mlx5_1``. The cause is ``slow-nic`` at
``mx02, mlx5_1``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from railgauge.config.thresholds.model import Platform
from railgauge.core import naming
from railgauge.core.model import Outcome
from railgauge.core.terms import Flow, Rung
from railgauge.diagnosis.each_way import EachWay
from railgauge.diagnosis.inside import slow_inside
from railgauge.diagnosis.localise import (
    SENDING,
    LinkBlame,
    Part,
    PathResult,
    Undecided,
    blame_links,
    blame_paths,
    parted,
    plain,
    ways,
)
from railgauge.diagnosis.locating import lies_on, located
from railgauge.diagnosis.model import LIKELY, OPEN, CauseClaim, Scene, Where, missed
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

_LINK = re.compile(r"gpu(?P<one>\d+)>gpu(?P<other>\d+)")
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
    paths = [r for r in _measured(scene, rungs) if is_path(r) and not missed(r) and has_value(r)]
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
        yield from _claims(found.parts, slow, fine, flows)
    else:
        own = _own(whole, slow, Shares(paths), flows)
        yield from (_claim(part, own[part], fine) for part in whole if own[part])
        inside = _inside(whole, slow, fine, flows)
        yield from (claim for claim in inside if not _is_undecided(claim, open_))
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
    """Whether a path between two nodes rests on items for which one of its ends fits as well."""
    shown = {record.id for other in open_ for record in other.evidence}
    return bool(claim.where.peer) and all(record.id in shown for record in claim.evidence)


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
        around = naming.listed([str(part) for part in whole if part.node in ends])
        says = f"{worst_of(claim.evidence)}; {told[0].against(around)}" if told else claim.says
        yield replace(claim, says=says)


def _located(results: Sequence[PathResult]) -> Sequence[Part]:
    """The slow parts: directions of nodes if there are any, else nodes and paths."""
    parts = blame_paths(results).parts
    if any(part.way for part in parts):
        return parts
    return blame_paths(replace(result, flow=Flow.UNTOLD) for result in results).parts


def _of_one(result: PathResult, node: str, name: str) -> PathResult:
    """The result as one of ``node`` with a partner that nothing else is known of."""
    one, other = (node if end == node else f"partner in {name}" for end in result.nodes)
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


def _measured(scene: Scene, rungs: Sequence[int]) -> Iterator[ItemRecord]:
    for record in scene.results.records.values():
        if record.rung in rungs and record.outcome in (Outcome.PASSED, Outcome.MARGINAL):
            yield record


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


def links(scene: Scene) -> Iterator[CauseClaim]:
    """Slow GPU-to-GPU links inside a node: single links, all links of a GPU, or all links."""
    slow = [r for r in scene.open if r.rung == Rung.INTRANODE and missed(r) and _link(r)]
    for node in dict.fromkeys(record.nodes[0] for record in slow):
        here = [record for record in slow if record.nodes[0] == node]
        yield from _links_of(scene, node, here)


def _links_of(scene: Scene, node: str, slow: Sequence[ItemRecord]) -> Iterator[CauseClaim]:
    matrix = {
        link: False
        for record in _measured(scene, (Rung.INTRANODE,))
        if record.nodes == (node,) and (link := _link(record))
    }
    matrix |= {link: True for record in slow if (link := _link(record))}
    found, others = blame_links(matrix), "links are fine"
    if found.node:
        says = f"every link between its GPUs is slow: {worst_of(slow)}"
        yield CauseClaim("slow-node", Where(node), says, tuple(slow), LIKELY)
        left = _slower_than(scene, node, slow)
        wrong = {_link(record) for record in left}
        matrix, slow = {link: link in wrong for link in matrix}, left
        found, others = blame_links(matrix), f"links are no slower than {node} as a whole"
    yield from _parts_of(found, node, slow, f"{len(matrix) - len(slow)} of {len(matrix)} {others}")


def _slower_than(scene: Scene, node: str, slow: Sequence[ItemRecord]) -> list[ItemRecord]:
    """The items that are slower than ``node``, which is slow in all of them, explains."""
    fine = Shares(_measured(scene, (Rung.INTRANODE,)))
    return [one.record for one in slower_than_their_part(fine, [slow], {node}).values()]


def _parts_of(
    found: LinkBlame, node: str, slow: Sequence[ItemRecord], others: str
) -> Iterator[CauseClaim]:
    """One claim for each slow GPU and each slow link of a node; ``others`` is about the rest."""
    for gpu in found.gpus:
        of_gpu = [record for record in slow if gpu in (_link(record) or ())]
        says = f"all links of gpu{gpu} are slow: {worst_of(of_gpu)}"
        yield CauseClaim("slow-gpu", Where(node, f"gpu{gpu}"), says, tuple(of_gpu), LIKELY)
    for link in found.links:
        of_link = [record for record in slow if _link(record) == link]
        says = f"{worst_of(of_link)}; {others}"
        device = f"gpu{link[0]}>gpu{link[1]}"
        yield CauseClaim("slow-gpu-link", Where(node, device), says, tuple(of_link), LIKELY)


def _link(record: ItemRecord) -> tuple[int, int] | None:
    match = _LINK.fullmatch(record.pairing)
    return (int(match["one"]), int(match["other"])) if match else None


def single_gpus(scene: Scene) -> Iterator[CauseClaim]:
    """GPUs that are slow alone: between GPU and host, or in their total send bandwidth."""
    slow = [
        r for r in scene.open if r.rung == Rung.INTRANODE and missed(r) and r.pairing[:3] == "gpu"
    ]
    for node in dict.fromkeys(record.nodes[0] for record in slow):
        here = [record for record in slow if record.nodes[0] == node]
        gpus = dict.fromkeys(record.pairing for record in here)
        declared = scene.results.platform.gpus
        if declared is not None and len(gpus) == declared.count:
            says = f"all its GPUs are slow: {worst_of(here)}"
            yield CauseClaim("slow-node", Where(node), says, tuple(here), LIKELY)
            here = _slower_than(scene, node, here)
        for gpu in dict.fromkeys(record.pairing for record in here):
            records = tuple(record for record in here if record.pairing == gpu)
            yield CauseClaim("slow-gpu", Where(node, gpu), worst_of(records), records, LIKELY)


def in_node(scene: Scene) -> Iterator[CauseClaim]:
    """Collectives inside a node that are slow although its links are fine."""
    slow = [r for r in scene.open if r.rung == Rung.INTRANODE and missed(r)]
    for node in dict.fromkeys(record.nodes[0] for record in slow):
        yield slow_inside(scene, node, [record for record in slow if record.nodes[0] == node])


RULES: tuple[Callable[[Scene], Iterator[CauseClaim]], ...] = (
    over_paths,
    links,
    single_gpus,
    in_node,
)

"""Rung 3: find the slow GPUs and links inside a node.

Example: all links of gpu3 of ``mx02`` are slow, and the links between its other GPUs are fine. The
cause is ``slow-gpu`` at ``mx02, gpu3``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from railgauge.core.terms import Rung
from railgauge.diagnosis.inside import slow_inside
from railgauge.diagnosis.localise import LinkBlame, blame_links
from railgauge.diagnosis.model import LIKELY, OPEN, CauseClaim, Scene, Where, missed
from railgauge.diagnosis.pattern import worst_of
from railgauge.diagnosis.shares import Shares, What, slower_than_their_part, what
from railgauge.judging.record import ItemRecord

_LIKE = 0.985  # of the slowest link within its limit; healthy like parts differ by up to 1.04 %
_LINK = re.compile(r"gpu(?P<one>\d+)>gpu(?P<other>\d+)")


def links(scene: Scene) -> Iterator[CauseClaim]:
    """Slow GPU-to-GPU links inside a node: single links, all links of a GPU, or all links."""
    slow = [r for r in scene.open if r.rung == Rung.INTRANODE and missed(r) and _link(r)]
    for node in dict.fromkeys(record.nodes[0] for record in slow):
        here = [record for record in slow if record.nodes[0] == node]
        yield from _links_of(scene, node, here)


def _links_of(scene: Scene, node: str, slow: Sequence[ItemRecord]) -> Iterator[CauseClaim]:
    matrix = {
        link: False
        for record in scene.measured((Rung.INTRANODE,))
        if record.nodes == (node,) and (link := _link(record))
    }
    matrix |= {link: True for record in slow if (link := _link(record))}
    found, others = blame_links(matrix), "links are fine"
    lags = not found.node and _all_lag(scene, node, slow)
    most = not (found.node or found.gpus) and 2 * len(slow) > len(matrix)
    if found.node or lags or most:
        kept = f"; {len(slow)} of {len(matrix)} miss their limits" if most else ""
        kept = "; those within their limits are behind other nodes' as well" if lags else kept
        says = f"every link between its GPUs is slow: {worst_of(slow)}{kept}"
        yield CauseClaim("slow-node", Where(node), says, tuple(slow), LIKELY)
        left = _slower_than(scene, node, slow)
        wrong = {_link(record) for record in left}
        matrix, slow = {link: link in wrong for link in matrix}, left
        found, others = blame_links(matrix), f"links are no slower than {node} as a whole"
    elif _is_like_the_others(scene, node, slow):
        says = f"{worst_of(slow)}; the other links of {node} are hardly faster"
        decide = f"measure the links of nodes that are known to be good, and of {node} again"
        yield CauseClaim("slow-node", Where(node), says, tuple(slow), OPEN, decide)
        return
    yield from _parts_of(found, node, slow, f"{len(matrix) - len(slow)} of {len(matrix)} {others}")


def _all_lag(scene: Scene, node: str, slow: Sequence[ItemRecord]) -> bool:
    """Whether the links within their limits are behind those of other nodes.

    And several links miss theirs, or one that is no slower than these.
    """
    fine, shares = _fine_links(scene, node), Shares(scene.measured((Rung.INTRANODE,)))
    are_like = len(slow) > 1 or _is_like_the_others(scene, node, slow)
    return are_like and bool(fine) and all(shares.is_behind(r, {node}) for r in fine)


def _is_like_the_others(scene: Scene, node: str, slow: Sequence[ItemRecord]) -> bool:
    """Whether these links are as fast as the slowest of the node that reach their limits."""
    least: dict[What, float] = {}
    for about, value in _values(_fine_links(scene, node)):
        least[about] = min(value, least.get(about, value))
    pairs = [(value, least[about]) for about, value in _values(slow) if about in least]
    return bool(pairs) and all(value >= _LIKE * other for value, other in pairs)


def _values(records: Iterable[ItemRecord]) -> Iterator[tuple[What, float]]:
    for record in records:
        for judged in record.judgements:
            if judged.worst is not None and (about := what(record, judged)) is not None:
                yield about, judged.worst


def _fine_links(scene: Scene, node: str) -> list[ItemRecord]:
    return [r for r in scene.measured((Rung.INTRANODE,)) if r.nodes == (node,) and _link(r)]


def _slower_than(scene: Scene, node: str, slow: Sequence[ItemRecord]) -> list[ItemRecord]:
    """The items that are slower than ``node``, which is slow in all of them, explains."""
    fine = Shares(scene.measured((Rung.INTRANODE,)))
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


RULES: tuple[Callable[[Scene], Iterator[CauseClaim]], ...] = (links, single_gpus, in_node)

"""Find the GPU, or the single link, that explains the slow links inside one node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from railgauge.diagnosis.localise.nodes import Undecided, listed
from railgauge.diagnosis.localise.pairwise import OpenGroup, diagnose_pairs

Link = tuple[int, int]


@dataclass(frozen=True, slots=True)
class LinkBlame:
    """The blame for the slow links of a node.

    ``node``: every link is slow. ``gpus``: all links of these GPUs, out and in, are slow.
    ``links``: single slow links. ``note`` names suspects that the evidence cannot tell apart.
    """

    node: bool
    gpus: tuple[int, ...]
    links: tuple[Link, ...]
    undecided: tuple[Undecided, ...] = ()
    note: str = ""


def blame_links(slow: Mapping[Link, bool]) -> LinkBlame:
    """Explain slow directed links ``(from, to)`` between the GPUs of one node.

    A fast link clears both its GPUs, so a GPU that is slow in one direction only is not a slow GPU.
    Two assumptions: the links of a node do not all have faults of their own; and a healthy GPU has
    a fast link, or at most one neighbour with a faulty link to it.
    """
    if slow and all(slow.values()):
        return LinkBlame(node=True, gpus=(), links=(), note=_alike(slow))
    found = diagnose_pairs(slow)
    return LinkBlame(False, found.slow, found.pairs, tuple(map(_undecided, found.open)))


def _alike(links: Iterable[Link]) -> str:
    """The note on GPUs that are on all links, which explain them as well as the node does."""
    common = sorted(set.intersection(*map(set, links)))
    if not common:
        return ""
    gpus = listed(_named(common))
    return f"every measured link is one of {gpus}: the fault may be there or in the node"


def _undecided(group: OpenGroup[int]) -> Undecided:
    links = sorted({(min(link), max(link)) for link in group.between})
    among = (*_named(group.members), *(f"gpu{one}-gpu{other}" for one, other in links))
    good = sorted({other for _, other in group.missing})
    return Undecided(
        among,
        f"measure {listed(_named(group.members))} with {listed(_named(good))} (found good)",
    )


def _named(gpus: Iterable[int]) -> list[str]:
    return [f"gpu{gpu}" for gpu in gpus]

"""Which GPU, or which single link, explains the slow links inside one node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from railgauge.diagnosis.localise.nodes import Undecided, listed
from railgauge.diagnosis.localise.pairwise import OpenGroup, diagnose_pairs

Link = tuple[int, int]


@dataclass(frozen=True, slots=True)
class LinkBlame:
    """``node``: every link is slow. ``gpus``: all links of these, out and in. ``links``: the rest.

    ``note`` says what the evidence cannot tell apart.
    """

    node: bool
    gpus: tuple[int, ...]
    links: tuple[Link, ...]
    undecided: tuple[Undecided, ...] = ()
    note: str = ""


def blame_links(slow: Mapping[Link, bool]) -> LinkBlame:
    """Explain slow directed links ``(from, to)`` between the GPUs of one node.

    A fast link clears both its GPUs, so a GPU that is slow one way only is no slow GPU.
    It is assumed that the links of a node are not all faulty by themselves, and that a GPU which
    is fine has a fast link, or at most one neighbour to which the link is faulty.
    """
    if slow and all(slow.values()):
        return LinkBlame(node=True, gpus=(), links=(), note=_alike(slow))
    found = diagnose_pairs(slow)
    return LinkBlame(False, found.slow, found.pairs, tuple(map(_undecided, found.open)))


def _alike(links: Iterable[Link]) -> str:
    """What is on all links is as good an explanation as the node."""
    common = sorted(set.intersection(*map(set, links)))
    if not common:
        return ""
    return f"every measured link is one of {listed(_named(common))}: it may be that, or the node"


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

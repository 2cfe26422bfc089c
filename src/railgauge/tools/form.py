"""The parts of the cluster that decide a value of a tool: the *form* of the value. Pure.

Each tool declares the form of its values in its own module (``form``), so that the diagnosis knows
no tool by name. A form has *stages*, one after the other, whose losses add up. A stage has parallel
*chains*, of which the slowest counts. The parts of a chain are in series, so that their losses add
up as well.

Example: ``ib_write_bw`` from ``mx01`` to ``mx02`` over ``mlx5_0`` has one stage with three chains:
what ``mx01`` sends (the node, its NIC, the direction in which the NIC sends), what ``mx02``
receives, and the path between the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from railgauge.config.thresholds.model import Measurement, Platform
from railgauge.core.model import Case, Pairing
from railgauge.core.terms import Flow, Scope, Term

GPU, TO = "gpu", ">"
_DISTANCES = ("PIX", "PXB", "PHB", "NODE", "SYS")
_PAIR = 2


class KindOfPart(Term):
    """The kind of a part.

    ``KNOWN`` and ``ERRATIC`` are causes that other evidence than measured values shows; no tool
    declares them. An erratic one, such as errors of a link, costs each execution a different
    amount.
    """

    NODE = "node"
    NIC = "nic"
    SEND = "send"
    RECEIVE = "receive"
    GPU = "gpu"
    PCIE = "pcie"
    PATH = "path"
    LINK = "link"
    KNOWN = "known"
    ERRATIC = "erratic"


@dataclass(frozen=True, slots=True, order=True)
class ClusterPart:
    """A part that may be slow: a node, a device of it, or what connects two of them.

    ``SEND`` and ``RECEIVE`` are one direction of a NIC, or of all NICs. ``PCIE`` is the path from a
    GPU to a NIC, ``LINK`` from a GPU to the GPU ``to`` of its node, ``PATH`` from a node to its
    ``peer``, over one ``nic`` (``mlx5_0:mlx5_1`` if the peer's is another one) or over all.
    """

    kind: KindOfPart
    node: str
    nic: str = ""
    gpu: int = -1
    to: int = -1
    peer: str = ""

    @property
    def is_known(self) -> bool:
        """Whether it is a cause that other evidence than measured values shows."""
        return self.kind in (KindOfPart.KNOWN, KindOfPart.ERRATIC)

    @property
    def is_direction(self) -> bool:
        """Whether it is one direction of a NIC, or of all NICs of a node."""
        return self.kind in (KindOfPart.SEND, KindOfPart.RECEIVE)

    @property
    def nodes(self) -> tuple[str, ...]:
        return (self.node, self.peer) if self.peer else (self.node,)

    @property
    def device(self) -> str:
        """The name that items have for it; empty for a node and a path."""
        gpu = f"{GPU}{self.gpu}" if self.gpu >= 0 else ""
        if self.to >= 0:
            return f"{gpu}{TO}{GPU}{self.to}"
        return f"{gpu}-{self.nic}" if gpu and self.nic else gpu or self.nic


Chain = tuple[ClusterPart, ...]
Stage = tuple[Chain, ...]


@dataclass(frozen=True, slots=True)
class FigureForm:
    """How the losses of parts add up to the loss of a value.

    ``mean``: the value is the mean of that many first stages, which are not in series: two
    directions, or all links of a node. ``upto``: the value loses at most what its parts lose,
    because it depends on other things as well. ``maybe`` are parts that may or may not take part.
    ``apart``: by how much healthy chains of a stage differ, as a share.
    """

    stages: tuple[Stage, ...]
    mean: int = 0
    upto: bool = False
    maybe: frozenset[ClusterPart] = frozenset()
    apart: float = 0.0


@dataclass(frozen=True, slots=True)
class Layout:
    """The parts of each node, as the platform file declares them.

    ``near`` are the NICs nearest to each GPU, over which collectives move its payload.
    ``has_ways``: the path from a GPU to a NIC is measured by itself, so that it is a part.
    """

    nics: tuple[str, ...] = ()
    gpus: tuple[int, ...] = ()
    near: tuple[tuple[str, ...], ...] = ()
    has_ways: bool = False

    @classmethod
    def of(cls, platform: Platform) -> Layout:
        nics = tuple(nic.name for nic in platform.fabric_nics)
        gpus = tuple(range(platform.gpus.count)) if platform.gpus else ()
        near = tuple(_nearest(platform, gpu, nics) for gpu in gpus)
        has_ways = any(
            one.memory == GPU and one.scope == Scope.PATH for one in platform.measurements.values()
        )
        return cls(nics, gpus, near, has_ways)

    def links(self, gpus: Iterable[int]) -> list[tuple[int, int]]:
        some = tuple(gpus)
        return [(one, other) for one in some for other in some if one != other]


def _nearest(platform: Platform, gpu: int, nics: Sequence[str]) -> tuple[str, ...]:
    far = {nic: _DISTANCES.index(platform.affinity[gpu].get(nic, _DISTANCES[-1])) for nic in nics}
    least = min(far.values(), default=0)
    return tuple(nic for nic in nics if far[nic] == least)


@dataclass(frozen=True, slots=True)
class ToolFigure:
    """One figure of a measurement: the metric, and the link or GPU that it is about, if any."""

    case: Case
    measurement: Measurement
    layout: Layout
    metric: str = ""
    placement: str = ""

    @property
    def node(self) -> str:
        return self.case.nodes[0]

    @property
    def gpu(self) -> int:
        """The GPU that it is about, or the first one of the link."""
        return int(self.placement.partition(TO)[0].removeprefix(GPU))


# --- between two nodes ---


def of_path(figure: ToolFigure, flow: Flow) -> FigureForm | None:
    """A test between two nodes over one NIC of each: the slowest of two ends and their path."""
    case = figure.case
    if case.pairing is None or len(case.nodes) != _PAIR:
        return None
    one, other = case.nodes
    path = _path(figure, one, other, case.pairing)
    if flow is Flow.BOTH:
        there = (_end(figure, one, KindOfPart.SEND), _end(figure, other, KindOfPart.RECEIVE))
        back = (_end(figure, other, KindOfPart.SEND), _end(figure, one, KindOfPart.RECEIVE))
        return FigureForm((there, back, (path,)), mean=2)
    if flow is Flow.UNSET:
        return FigureForm(((_end(figure, one), _end(figure, other), path),))
    first, second = KindOfPart.SEND, KindOfPart.RECEIVE
    if flow is Flow.BACKWARD:
        first, second = second, first
    return FigureForm(((_end(figure, one, first), _end(figure, other, second), path),))


def _path(figure: ToolFigure, one: str, other: str, pairing: Pairing) -> Chain:
    """The path of two nodes, and the one over these NICs, which may take other switches."""
    (first, own), (second, its) = sorted(
        zip((one, other), (e.nic for e in pairing.ends), strict=True)
    )
    whole = ClusterPart(KindOfPart.PATH, first, peer=second)
    if len(figure.layout.nics) == 1:
        return (whole,)
    return whole, replace(whole, nic=own if own == its else f"{own}:{its}")


def _end(figure: ToolFigure, node: str, way: KindOfPart | None = None) -> Chain:
    own = figure.case.path_at(node)
    assert own is not None
    parts = [ClusterPart(KindOfPart.NODE, node)]
    if len(figure.layout.nics) > 1:  # a single NIC cannot be distinguished from its node
        parts.append(ClusterPart(KindOfPart.NIC, node, own.nic))
    if way is not None:
        parts += _directions(figure.layout, node, own.nic, way)
    if own.gpu is not None:
        parts.append(ClusterPart(KindOfPart.GPU, node, gpu=own.gpu))
        parts.append(ClusterPart(KindOfPart.PCIE, node, own.nic, own.gpu))
    return tuple(parts)


def _directions(layout: Layout, node: str, nic: str, way: KindOfPart) -> Chain:
    """One direction of the NIC, and that of all NICs of the node."""
    own = ClusterPart(way, node, nic)
    return (own,) if len(layout.nics) == 1 else (ClusterPart(way, node), own)


def of_ring(figure: ToolFigure, gpus: Sequence[int] = (), *, upto: bool = False) -> FigureForm:
    """A collective over several nodes: all wait for the slowest GPU, hop, NIC and link.

    ``gpus`` are those that take part on each node; without any, payload is in host memory. The
    payload goes over the NICs nearest to them. A library chooses links and channels itself, so a
    link may take part or not.
    """
    layout, nodes = figure.layout, figure.case.nodes
    ends = zip(nodes, (*nodes[1:], nodes[0]), strict=True)
    hops = dict.fromkeys(
        _path(figure, a, b, Pairing(nic)) for a, b in ends for nic in layout.nics or ("",)
    )
    links = tuple(
        ClusterPart(KindOfPart.LINK, node, gpu=a, to=b)
        for node in nodes
        for a, b in layout.links(gpus)
    )
    ranks = tuple(chain for node in nodes for chain in _ranks(node, gpus))
    over = tuple(chain for node in nodes for chain in _over_nics(layout, node, gpus))
    stages = (ranks, tuple(hops), over, tuple((link,) for link in links))
    return FigureForm(tuple(filter(None, stages)), upto=upto, maybe=frozenset(links))


def _ranks(node: str, gpus: Sequence[int]) -> tuple[Chain, ...]:
    own = ClusterPart(KindOfPart.NODE, node)
    return tuple((own, ClusterPart(KindOfPart.GPU, node, gpu=gpu)) for gpu in gpus) or ((own,),)


def _over_nics(layout: Layout, node: str, gpus: Sequence[int]) -> Iterable[Chain]:
    for nic in layout.nics:
        users = [gpu for gpu in gpus if nic in layout.near[gpu]]
        if gpus and not users:
            continue
        for way in (KindOfPart.SEND, KindOfPart.RECEIVE):
            chain = _directions(layout, node, nic, way)
            if len(layout.nics) > 1:
                chain = (ClusterPart(KindOfPart.NIC, node, nic), *chain)
            if layout.has_ways and users:
                yield from ((*chain, ClusterPart(KindOfPart.PCIE, node, nic, gpu)) for gpu in users)
            else:
                yield chain


# --- inside a node ---


def of_placement(figure: ToolFigure) -> FigureForm | None:
    """A figure of one link or of one GPU by itself; ``None`` for one of the whole run."""
    if not figure.placement.startswith(GPU):
        return None
    return of_link(figure) if TO in figure.placement else _of_gpu(figure)


def _of_gpu(figure: ToolFigure) -> FigureForm:
    return FigureForm((_ranks(figure.node, (figure.gpu,)),))


def of_link(figure: ToolFigure) -> FigureForm:
    """A copy over one link. Copy engines move the data, so that a slow GPU may slow it or not."""
    to = int(figure.placement.partition(TO)[2].removeprefix(GPU))
    link = ClusterPart(KindOfPart.LINK, figure.node, gpu=figure.gpu, to=to)
    gpus = tuple(ClusterPart(KindOfPart.GPU, figure.node, gpu=gpu) for gpu in (figure.gpu, to))
    chain = (ClusterPart(KindOfPart.NODE, figure.node), link, *gpus)
    return FigureForm(((chain,),), maybe=frozenset(gpus))


def of_slowest_link(figure: ToolFigure, apart: float) -> FigureForm:
    """The slowest of the links from one GPU; healthy ones differ by ``apart``."""
    links = [(a, b) for a, b in figure.layout.links(figure.layout.gpus) if a == figure.gpu]
    return FigureForm((_each_link(figure.node, links),), apart=apart)


def of_slowest_nic(figure: ToolFigure) -> FigureForm:
    """The slowest of the node's NICs, each measured by itself."""
    own = ClusterPart(KindOfPart.NODE, figure.node)
    nics = (ClusterPart(KindOfPart.NIC, figure.node, nic) for nic in figure.layout.nics)
    return FigureForm((tuple((own, nic) for nic in nics),))


def of_all_links(figure: ToolFigure) -> FigureForm:
    """The mean of all links of a node."""
    links = _each_link(figure.node, figure.layout.links(figure.layout.gpus))
    return FigureForm(tuple((link,) for link in links), mean=len(links))


def _each_link(node: str, links: Iterable[tuple[int, int]]) -> Stage:
    own = ClusterPart(KindOfPart.NODE, node)
    return tuple((own, ClusterPart(KindOfPart.LINK, node, gpu=a, to=b)) for a, b in links) or (
        (own,),
    )


def inside_node(
    figure: ToolFigure, gpus: Sequence[int], links: Sequence[tuple[int, int]], *, upto: bool = False
) -> FigureForm:
    """A collective inside a node: all wait for the slowest GPU, and for the slowest link."""
    over = tuple((ClusterPart(KindOfPart.LINK, figure.node, gpu=a, to=b),) for a, b in links)
    return FigureForm(tuple(filter(None, (_ranks(figure.node, gpus), over))), upto=upto)

"""Find faulty parts of nodes, and faulty connections, from pair results over GPU/NIC paths."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from railgauge.diagnosis.localise import directions
from railgauge.diagnosis.localise.across import Ends
from railgauge.diagnosis.localise.directions import (
    WAYS,
    FlowResult,
    gathered,
    is_one_way,
    named,
    parted,
    plain,
)
from railgauge.diagnosis.localise.nodes import Undecided, undecided, unordered
from railgauge.diagnosis.localise.pairwise import OpenGroup, PairDiagnosis, diagnose_pairs
from railgauge.diagnosis.localise.parts import (
    HOST,
    Part,
    Path,
    PathResult,
    Paths,
    explain,
    gpu_name,
    path_name,
)


@dataclass(frozen=True, slots=True)
class Located:
    """The faulty parts, and the suspects that stay undecided."""

    parts: tuple[Part, ...]
    undecided: tuple[Undecided, ...]


Said = Mapping[Path, Mapping[tuple[str, str], set[bool]]]


def blame_paths(results: Iterable[PathResult]) -> Located:
    """Explain pair results over paths: first the pairs of each path, then the parts of each node.

    A path on which the partners prove a node slow or fine counts as slow or fine inside that node
    (see ``parts``). The parts found there then explain open pairs of other paths. Results between
    two rails count for both ends (see ``across``). The two directions of a node whose results
    disagree by direction count separately (see ``directions``).
    """
    results = tuple(results)
    ends = Ends.of(results)
    said = _by_path(result for result in results if result.peer is None)
    first = {path: diagnose_pairs(_slow(pairs)) for path, pairs in said.items()}
    nics = {nic for _, nic in said} | {path[1] for _, path in ends.known.values()}
    nodes = tuple(_by_node(said, first, ends))
    found = [explain(paths, nics) for paths in nodes]
    parts = tuple(part for some, _ in found for part in some)
    again = {
        path: diagnose_pairs(_slow(pairs), _known(parts, path)) for path, pairs in said.items()
    }
    return Located(
        (*parts, *_pairs(said, first), *ends.pairs()),
        (*(item for _, some in found for item in some), *_open(nodes, again), *ends.open(parts)),
    )


def _by_path(results: Iterable[PathResult]) -> Said:
    taken: dict[Path, list[PathResult]] = defaultdict(list)
    for result in results:
        taken[result.path].append(result)
    return {
        path: gathered(FlowResult(r.nodes, r.slow, r.flow) for r in taken[path])
        for path in sorted(taken, key=_order)
    }


def _order(path: Path) -> tuple[int, str]:
    return (-1 if path[0] is None else path[0], path[1])


def _slow(pairs: Mapping[tuple[str, str], set[bool]]) -> dict[tuple[str, str], bool]:
    return {pair: True in said for pair, said in pairs.items()}


class _Heaps:
    """The paths on which each node, or one direction of it, is slow, fine and tested."""

    def __init__(self) -> None:
        self._of: dict[str, tuple[set[Path], set[Path], set[Path]]] = defaultdict(
            lambda: (set(), set(), set())
        )

    def add(self, found: PairDiagnosis[str], tested: Mapping[str, tuple[str, Path]]) -> None:
        """Sort the members of a diagnosis; ``tested`` holds the node and path of each."""
        for heap, members in enumerate((found.slow, found.cleared, tested)):
            for member in members:
                node, path = tested[member]
                self._of[_same_way(node, member)][heap].add(path)

    def nodes(self) -> Iterator[Paths]:
        for name in sorted({plain(member) for member in self._of}):
            yield from self._of_node(name)

    def _of_node(self, name: str) -> Iterator[Paths]:
        """The node's own paths, then those that are slow in one direction only.

        On a path with one good direction the node itself is fine. On a path that is slow in both
        directions, it is not slow in one only.
        """
        each = [self._of[named(name, way)] for way in WAYS]
        slow, fine, tested = self._of[name]
        fine = fine.union(*(one[1] for one in each)) - slow
        tested = tested.union(*(one[2] for one in each))
        yield Paths(name, frozenset(slow), frozenset(fine), frozenset(tested))
        for way, (lame, good, tried) in zip(WAYS, each, strict=True):
            rest = (fine | slow) - (tried - good) - lame
            yield Paths(name, frozenset(lame), frozenset(rest), frozenset(tested), way)


def _same_way(node: str, member: str) -> str:
    way = parted(member)[1]
    return named(node, way) if way else node


def _by_node(
    said: Said, diagnosed: Mapping[Path, PairDiagnosis[str]], ends: Ends
) -> Iterator[Paths]:
    heaps = _Heaps()
    for path, found in diagnosed.items():
        heaps.add(found, {name: (plain(name), path) for pair in said[path] for name in pair})
    heaps.add(ends.diagnosed(), ends.known)
    yield from heaps.nodes()


def _known(parts: Iterable[Part], path: Path) -> set[str]:
    """The members that these parts make slow: a node with its directions, or one of these."""
    taken = [part for part in parts if part.covers(path)]
    both = {part.node for part in taken if not part.way}
    one_way = {named(part.node, part.way) for part in taken if part.way}
    return both | one_way | {named(node, way) for node in both for way in WAYS}


# --- merge equal findings on several paths ---


def _pairs(said: Said, diagnosed: Mapping[Path, PairDiagnosis[str]]) -> Iterator[Part]:
    """The faulty pairs, with the device that they are slow over.

    A path counts as seen for a pair only if both nodes are fine on it.
    """
    slow: dict[tuple[str, str], set[Path]] = defaultdict(set)
    seen: dict[tuple[str, str], set[Path]] = defaultdict(set)
    for path, found in diagnosed.items():
        fine = frozenset(found.cleared)
        for pair in unordered(found.pairs):
            slow[pair].add(path)
        for pair in unordered(pair for pair in said[path] if fine.issuperset(pair)):
            seen[pair].add(path)
    for pair, paths in sorted(slow.items()):
        for device in _summed_up(paths, seen[pair], {nic for _, nic in said}):
            yield Part("pair", pair[0], device, pair[1])


def _open(
    nodes: Iterable[Paths], diagnosed: Mapping[Path, PairDiagnosis[str]]
) -> Iterator[Undecided]:
    tested = {paths.node: paths.tested for paths in nodes}
    groups: dict[OpenGroup[str], set[Path]] = defaultdict(set)
    for path, found in diagnosed.items():
        for group in found.open:
            groups[group].add(path)
    for group, paths in groups.items():
        everywhere = frozenset().union(*(tested[plain(name)] for name in group.members))
        cleared = frozenset.intersection(*(frozenset(diagnosed[path].cleared) for path in paths))
        item = directions.undecided(group, cleared) if is_one_way(group) else undecided(group)
        for device in _summed_up(paths, everywhere, {nic for _, nic in diagnosed}):
            yield _over(device, item)


def _over(device: str, item: Undecided) -> Undecided:
    if not device:
        return item
    parted_names = map(parted, item.among)
    among = tuple(" ".join(filter(None, (name, device, way))) for name, way in parted_names)
    return replace(item, among=among, would_decide=f"{item.would_decide}, with {device}")


def _summed_up(
    paths: Collection[Path], tested: Collection[Path], nics: Collection[str]
) -> Iterator[str]:
    """The devices that cover these paths: an empty text for all, a NIC, a GPU, single paths.

    All paths to host memory are all paths.

    They are "all" only if they include every tested path and every NIC of the cluster.
    """
    if len(paths) == len(tested) and len({nic for _, nic in paths}) == len(nics):
        yield ""
        return
    through: dict[str, set[Path]] = defaultdict(set)
    for path in sorted(tested, key=_order):
        through[path[1]].add(path)
    for path in sorted(tested, key=_order):
        through[gpu_name(path[0])].add(path)
    left = set(paths)
    for device, those in through.items():
        if len(those) > 1 and those <= set(paths) and those & left:
            left -= those
            yield "" if device == HOST else device
    yield from (path_name(path) for path in sorted(left, key=_order))

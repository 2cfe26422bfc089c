"""From pair results over several GPU/NIC paths to parts of nodes, and cables between nodes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from railgauge.diagnosis.localise.across import Ends
from railgauge.diagnosis.localise.nodes import Undecided, gather, undecided, unordered
from railgauge.diagnosis.localise.pairwise import OpenGroup, PairDiagnosis, diagnose_pairs
from railgauge.diagnosis.localise.parts import (
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
    """Faulty parts, and what is undecided."""

    parts: tuple[Part, ...]
    undecided: tuple[Undecided, ...]


Said = Mapping[Path, Mapping[tuple[str, str], set[bool]]]


def blame_paths(results: Iterable[PathResult]) -> Located:
    """Explain pair results over paths: over the pairs of each path first, then inside each node.

    A node that is proven slow, or fine, on a path by its partners there counts as such inside
    the node (see ``parts``). What is found there explains open pairs of other paths in turn.
    Results from one NIC to another say the same of both ends (see ``across``).
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
    return {path: gather(taken[path]) for path in sorted(taken, key=_order)}


def _order(path: Path) -> tuple[int, str]:
    return (-1 if path[0] is None else path[0], path[1])


def _slow(pairs: Mapping[tuple[str, str], set[bool]]) -> dict[tuple[str, str], bool]:
    return {pair: True in said for pair, said in pairs.items()}


def _by_node(
    said: Said, diagnosed: Mapping[Path, PairDiagnosis[str]], ends: Ends
) -> Iterator[Paths]:
    heaps: dict[str, tuple[set[Path], set[Path], set[Path]]] = defaultdict(
        lambda: (set(), set(), set())
    )
    for path, found in diagnosed.items():
        everyone = {name for pair in said[path] for name in pair}
        for heap, names in enumerate((found.slow, found.cleared, everyone)):
            for name in names:
                heaps[name][heap].add(path)
    linked = ends.diagnosed()
    for heap, names in enumerate((linked.slow, linked.cleared, ends.known)):
        for node, path in map(ends.known.__getitem__, names):
            heaps[node][heap].add(path)
    for node in sorted(heaps):
        slow, fine, tested = map(frozenset, heaps[node])
        yield Paths(node, slow, fine - slow, tested)


def _known(parts: Iterable[Part], path: Path) -> set[str]:
    return {part.node for part in parts if part.covers(path)}


# --- one answer for what is alike on several paths ---


def _pairs(said: Said, diagnosed: Mapping[Path, PairDiagnosis[str]]) -> Iterator[Part]:
    """Only where both nodes are fine can a pair be seen to be slow by itself, or not to be."""
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
        everywhere = frozenset().union(*(tested[name] for name in group.members))
        for device in _summed_up(paths, everywhere, {nic for _, nic in diagnosed}):
            yield _over(device, undecided(group))


def _over(device: str, item: Undecided) -> Undecided:
    if not device:
        return item
    among = tuple(f"{name} {device}" for name in item.among)
    return Undecided(among, f"{item.would_decide}, with {device}", item.measure)


def _summed_up(
    paths: Collection[Path], tested: Collection[Path], nics: Collection[str]
) -> Iterator[str]:
    """The devices that these paths come down to: nothing for all, a NIC, a GPU, single paths.

    All that was ``tested`` is everything only if no NIC of the cluster is missing from it.
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
            yield device
    yield from (path_name(path) for path in sorted(left, key=_order))

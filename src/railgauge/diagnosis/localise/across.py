"""Locate faults from results between two rails: at either end, or between the rails.

An end is a node with one of its NICs and GPUs. Results between rails and results on one rail both
connect two ends, so they are read together, for the paths that some result between rails uses.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from railgauge.diagnosis.localise.directions import (
    FlowResult,
    gathered,
    is_one_way,
    parted,
    plain,
)
from railgauge.diagnosis.localise.nodes import Undecided, undecided
from railgauge.diagnosis.localise.pairwise import OpenGroup, PairDiagnosis, diagnose_pairs
from railgauge.diagnosis.localise.parts import Part, Path, PathResult, path_name

_Edge = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Ends:
    """The ends of all results that matter between rails.

    ``known`` is the node and path of each end, by its name (``mx01 gpu3-mlx5_0``); an end whose
    results disagree by direction has a name for each (``mx01 gpu3-mlx5_0 sending``). ``said`` holds
    for each two ends whether they were slow; it has both values if results contradict each other.
    ``between`` names those on different rails.
    """

    known: Mapping[str, tuple[str, Path]]
    said: Mapping[_Edge, set[bool]]
    between: frozenset[_Edge]

    @classmethod
    def of(cls, results: Sequence[PathResult]) -> Ends:
        """The ends of these results; empty if nothing was measured between rails."""
        crossing = [result for result in results if result.peer is not None]
        used = {path for result in crossing for path in (result.path, result.peer)}
        taken = [r for r in results if r.peer is not None or r.path in used]
        said = gathered(FlowResult(_edge(r), r.slow, r.flow) for r in taken)
        ends = {_name(end): end for result in taken for end in _ends(result)}
        return cls(
            known={name: ends[plain(name)] for edge in said for name in edge},
            said=said,
            between=frozenset(map(_edge, crossing)),
        )

    def diagnosed(self, parts: Iterable[Part] = ()) -> PairDiagnosis[str]:
        """The diagnosis of the ends. An end on one of ``parts``, faulty elsewhere, is slow."""
        slow = {edge: True in values for edge, values in self.said.items()}
        return diagnose_pairs(slow, self._covered(parts))

    def _covered(self, parts: Iterable[Part]) -> Collection[str]:
        found = tuple(parts)
        return {
            name
            for name, (node, path) in self.known.items()
            if any(_explains(part, node, path, parted(name)[1]) for part in found)
        }

    def pairs(self) -> Iterator[Part]:
        """The faults between rails: slow pairs of ends that are both fine with others."""
        slow = (edge for edge in self.diagnosed().pairs if edge in self.between)
        for one, other in sorted({(min(edge), max(edge)) for edge in slow}):
            (node, path), (peer, its) = self.known[one], self.known[other]
            yield Part("pair", node, f"{path_name(path)}:{path_name(its)}", peer)

    def open(self, parts: Iterable[Part]) -> Iterator[Undecided]:
        """The undecided groups that rest only on results between rails."""
        for group in self.diagnosed(parts).open:
            if group.between and self.between.issuperset(map(_plain, group.between)):
                yield _undecided(group)


def _undecided(group: OpenGroup[str]) -> Undecided:
    """The open group without ``measure``, since ends and not nodes have to be measured."""
    item = undecided(group)
    return Undecided(item.among, item.would_decide, one_way=is_one_way(group))


def _explains(part: Part, node: str, path: Path, way: str) -> bool:
    return part.node == node and part.covers(path) and part.way in ("", way)


def _plain(edge: _Edge) -> _Edge:
    return plain(edge[0]), plain(edge[1])


def _ends(result: PathResult) -> tuple[tuple[str, Path], tuple[str, Path]]:
    one, other = result.nodes
    return (one, result.path_at(one)), (other, result.path_at(other))


def _edge(result: PathResult) -> _Edge:
    one, other = _ends(result)
    return _name(one), _name(other)


def _name(end: tuple[str, Path]) -> str:
    node, path = end
    return f"{node} {path_name(path)}"

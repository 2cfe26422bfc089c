"""Results from one NIC to another: what they say of either end, and of what lies between rails.

A NIC and GPU of a node is an end. A result between two rails joins two ends as a result on one rail
does, so both are weighed together, on the paths that some result between rails has an end on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from railgauge.diagnosis.localise.nodes import PairResult, Undecided, gather, undecided
from railgauge.diagnosis.localise.pairwise import OpenGroup, PairDiagnosis, diagnose_pairs
from railgauge.diagnosis.localise.parts import Part, Path, PathResult, path_name

_Edge = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Ends:
    """``known`` are node and path of an end, by name (``mx01 gpu3-mlx5_0``).

    ``said`` is what was said of two ends, ``between`` which of these are on different rails.
    """

    known: Mapping[str, tuple[str, Path]]
    said: Mapping[_Edge, set[bool]]
    between: frozenset[_Edge]

    @classmethod
    def of(cls, results: Sequence[PathResult]) -> Ends:
        """Nothing is known where nothing was measured between rails."""
        crossing = [result for result in results if result.peer is not None]
        used = {path for result in crossing for path in (result.path, result.peer)}
        taken = [r for r in results if r.peer is not None or r.path in used]
        return cls(
            known={_name(end): end for result in taken for end in _ends(result)},
            said=gather(PairResult(_edge(result), result.slow) for result in taken),
            between=frozenset(map(_edge, crossing)),
        )

    def diagnosed(self, parts: Iterable[Part] = ()) -> PairDiagnosis[str]:
        """``parts`` are at fault by other evidence: what lies on them is slow."""
        slow = {edge: True in values for edge, values in self.said.items()}
        return diagnose_pairs(slow, self._covered(parts))

    def _covered(self, parts: Iterable[Part]) -> Collection[str]:
        found = tuple(parts)
        return {
            name
            for name, (node, path) in self.known.items()
            if any(part.node == node and part.covers(path) for part in found)
        }

    def pairs(self) -> Iterator[Part]:
        """Where both ends are fine with others, it is what lies between the rails."""
        slow = (edge for edge in self.diagnosed().pairs if edge in self.between)
        for one, other in sorted({(min(edge), max(edge)) for edge in slow}):
            (node, path), (peer, its) = self.known[one], self.known[other]
            yield Part("pair", node, f"{path_name(path)}:{path_name(its)}", peer)

    def open(self, parts: Iterable[Part]) -> Iterator[Undecided]:
        """What only results between rails speak of; of the rest the rails by themselves tell."""
        for group in self.diagnosed(parts).open:
            if group.between and self.between.issuperset(group.between):
                yield _undecided(group)


def _undecided(group: OpenGroup[str]) -> Undecided:
    """Ends and not nodes are to be measured: which pairs of nodes that takes is not said."""
    item = undecided(group)
    return Undecided(item.among, item.would_decide)


def _ends(result: PathResult) -> tuple[tuple[str, Path], tuple[str, Path]]:
    one, other = result.nodes
    return (one, result.path_at(one)), (other, result.path_at(other))


def _edge(result: PathResult) -> _Edge:
    one, other = _ends(result)
    return _name(one), _name(other)


def _name(end: tuple[str, Path]) -> str:
    node, path = end
    return f"{node} {path_name(path)}"

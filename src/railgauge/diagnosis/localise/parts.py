"""Inside one node: find the node, NIC, GPU or PCIe path that explains the slow paths.

A path is slow if the node, its NIC, its GPU or the PCIe path between the two is. A path to host
memory has no GPU. One fault is assumed where it explains what otherwise takes several:

- A node without a fine path is faulty itself: its parts did not all fail separately.
- A NIC without a fine path is faulty if it is slow with several GPUs that are fine, or whose other
  NICs are all known to be faulty: those GPUs, or their PCIe paths, did not fail together.
- A GPU without a fine path that is slow with several fine NICs is faulty, not its PCIe paths.

Two conclusions need no assumption: a NIC that is slow with host memory in a fine node is faulty,
and so is a slow path between a fine GPU and a fine NIC.

Example: ``gpu0-mlx5_0`` and ``gpu1-mlx5_1`` are fine, ``gpu0-mlx5_1`` is slow. Both GPUs and both
NICs are fine, so the PCIe path ``gpu0-mlx5_1`` is faulty.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from railgauge.core.model import Pairing
from railgauge.core.terms import Flow
from railgauge.diagnosis.localise.nodes import PairResult, Undecided, listed
from railgauge.diagnosis.localise.pairwise import PROOF, OpenGroup, diagnose_pairs

Path = tuple[int | None, str]
"""GPU (``None`` is host memory) and NIC."""

HOST = "host memory"
ONE_NIC = "measured over one NIC only: the NIC and the node cannot be told apart"


@dataclass(frozen=True, slots=True)
class PathResult(PairResult):
    """A pair measured with a GPU (``None``: host memory) and a NIC at both ends.

    The second node uses the same ones, or those of ``peer``.
    """

    gpu: int | None
    nic: str
    peer: Path | None = None
    flow: Flow = Flow.UNTOLD

    @property
    def path(self) -> Path:
        return self.gpu, self.nic

    def path_at(self, node: str) -> Path:
        """The GPU and NIC that this node of the two used."""
        return self.path if node == self.nodes[0] else self.peer or self.path


@dataclass(frozen=True, slots=True)
class Part:
    """A faulty part. ``kind`` is ``node``, ``nic``, ``gpu``, ``path`` or ``pair``.

    ``device`` is the NIC, the GPU (``gpu3``) or the PCIe path (``gpu3-mlx5_0``). For a pair it is
    the device that the pair is slow over, empty for all, and between rails the paths of ``node``
    and ``peer`` (``mlx5_0:mlx5_1``). ``peer`` is the other node of a pair. ``way`` is ``sending``
    or ``receiving`` if the part is slow in this direction only.
    """

    kind: str
    node: str
    device: str = ""
    peer: str = ""
    note: str = ""
    way: str = ""

    def __str__(self) -> str:
        where = f"{self.node}:{self.peer}" if self.peer else self.node
        return f"{where} {self.device}".rstrip()

    def covers(self, path: Path) -> bool:
        """Whether this part of its node lies on the path."""
        return self.kind == "node" or self.device in (path[1], gpu_name(path[0]), path_name(path))


@dataclass(frozen=True, slots=True)
class Paths:
    """The paths of one node: those proven ``slow``, those proven ``fine``, and all ``tested``.

    With a ``way``, ``slow`` are those that are slow in this direction only.
    """

    node: str
    slow: frozenset[Path]
    fine: frozenset[Path]
    tested: frozenset[Path]
    way: str = ""


def gpu_name(gpu: int | None) -> str:
    """The name of a GPU in reports; host memory for ``None``."""
    return HOST if gpu is None else f"gpu{gpu}"


def path_name(path: Path) -> str:
    """The name of a path in test ids: ``gpu3-mlx5_0``, or the NIC alone for host memory."""
    return str(Pairing(path[1], path[0]))


def explain(paths: Paths, nics: Collection[str]) -> tuple[tuple[Part, ...], tuple[Undecided, ...]]:
    """The faulty parts of a node, and what is undecided; ``nics`` are all NICs of the cluster."""
    if not paths.slow:
        return (), ()
    parts, open_ = _within(paths, nics) if paths.fine else _of_node(paths, nics)
    if not paths.way:
        return parts, open_
    told = tuple(replace(part, way=paths.way) for part in parts)
    return told, tuple(replace(item, one_way=True) for item in open_)


def _of_node(paths: Paths, nics: Collection[str]) -> tuple[tuple[Part, ...], tuple[Undecided, ...]]:
    """No path is fine: blame the node, unless a single part explains it as well."""
    node, used = paths.node, {nic for _, nic in paths.slow}
    memories = {gpu for gpu, _ in paths.slow}
    if len(memories) == 1 and None not in memories:
        open_parts = _suspects(paths, {gpu_name(gpu) for gpu in memories}, used)
        return (), (Undecided(open_parts, f"measure {node} with {HOST} or another of its GPUs"),)
    if len(used) > 1:
        return (Part("node", node),), ()
    if len(nics) == 1:
        return (Part("node", node, note=ONE_NIC),), ()
    return (), (Undecided(_suspects(paths, set(), used), f"measure {node} over another NIC"),)


def _suspects(paths: Paths, gpus: set[str], nics: set[str]) -> tuple[str, ...]:
    """The node, and each part that is on all of its slow paths."""
    parts = [*gpus, *(nics if len(nics) == 1 else ())]
    if len(paths.slow) == 1 and gpus:
        parts += [path_name(path) for path in paths.slow]
    return (paths.node, *(f"{paths.node} {part}" for part in parts))


def _within(paths: Paths, nics: Collection[str]) -> tuple[tuple[Part, ...], tuple[Undecided, ...]]:
    """Some path is fine, so the node is: blame parts of the slow paths.

    GPUs that were measured only with a faulty NIC are unknown, but not suspects.
    """
    results = {(gpu_name(gpu), nic): False for gpu, nic in paths.fine}
    results |= {(gpu_name(gpu), nic): True for gpu, nic in paths.slow if gpu is not None}
    found = diagnose_pairs(results, _bad_nics(paths))
    parts = [
        *(Part("nic" if name in nics else "gpu", paths.node, name) for name in found.slow),
        *(Part("path", paths.node, f"{gpu}-{nic}") for gpu, nic in found.pairs),
    ]
    fine_nics = sorted({nic for _, nic in paths.fine})
    return tuple(parts), tuple(
        _undecided(paths, group, fine_nics, nics) for group in found.open if group.between
    )


def _bad_nics(paths: Paths) -> set[str]:
    """NICs without a fine path: slow with host memory, or with GPUs that cannot all be at fault."""
    suspects = {nic for _, nic in paths.slow} - {nic for _, nic in paths.fine}
    certain = {nic for nic in suspects if (None, nic) in paths.slow}
    proven = {nic for nic in suspects - certain if len(_witnesses(paths, nic, certain)) >= PROOF}
    return certain | proven


def _witnesses(paths: Paths, nic: str, bad: Collection[str]) -> set[int | None]:
    """GPUs that are slow with this NIC, and fine or measured with no other NIC but ``bad`` ones."""
    fine = {gpu for gpu, _ in paths.fine}
    elsewhere = {gpu for gpu, other in paths.tested if other != nic and other not in bad}
    slow_here = {gpu for gpu, other in paths.slow if other == nic}
    return {gpu for gpu in slow_here if gpu in fine or gpu not in elsewhere}


def _undecided(
    paths: Paths, group: OpenGroup[str], fine_nics: Collection[str], nics: Collection[str]
) -> Undecided:
    wanted = list(_wanted(paths, group, fine_nics, nics))
    among = [*group.members, *(f"{gpu}-{nic}" for gpu, nic in group.between)]
    return Undecided(
        tuple(f"{paths.node} {part}" for part in among),
        f"measure on {paths.node}: {listed(wanted)}",
    )


def _wanted(
    paths: Paths, group: OpenGroup[str], fine_nics: Collection[str], nics: Collection[str]
) -> Iterator[str]:
    """Each open part with a good partner to measure it with; for a NIC that is host memory."""
    used = {(gpu_name(gpu), nic) for gpu, nic in paths.tested}
    for name in group.members:
        if name in nics:
            yield f"{name} with {HOST}"
        else:
            fresh = [nic for nic in fine_nics if (name, nic) not in used][:1]
            yield f"{name} with {fresh[0]} (found good)" if fresh else f"{name} with another NIC"

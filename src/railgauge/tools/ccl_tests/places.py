"""Comparison of the CPUs on which ranks run with those beside their GPUs. Pure.

Each rank that the suite places says which GPU it found and which CPUs it may use. Both are compared
with what the survey read on that node, and the GPU with the one that the test itself names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeGuard

from ClusterShell.RangeSet import RangeSet, RangeSetException

from railgauge.facts import NodeFacts
from railgauge.launchers.beside_gpu import PlacedRank
from railgauge.tools.claims import Claim, ToolRequest

_ITEM = "CPUs of the ranks"
_WANTED = "CPUs of the NUMA node of each rank's GPU"
_REMEDY = (
    "let the job use all CPUs of its nodes, or set ranks: launcher in the hostfile, which leaves "
    "the placement to the launcher"
)
_MOST = 3


def claims_of_places(asked: ToolRequest, said: Mapping[str, object]) -> Iterator[Claim]:
    """Claim that each rank runs beside its GPU; nothing if no rank says where it runs.

    A rank that found no GPU, or a node whose survey shows no NUMA nodes of its GPUs, proves
    nothing.
    """
    listed = said.get("placed")
    placed = [one for one in listed if isinstance(one, PlacedRank)] if _is_list(listed) else []
    if not placed:
        return
    known = {
        facts.hostname.partition(".")[0].lower(): facts
        for node in asked.case.nodes
        if (facts := asked.facts(node)) and facts.hostname
    }
    compared = [(one, fits) for one in placed if (fits := _fits(one, known)) is not None]
    wrong = [*_missing(placed, said.get("nranks")), *(_told(one) for one, ok in compared if not ok)]
    more = [f"and {len(wrong) - _MOST} more"] if len(wrong) > _MOST else []
    good = f"{len(compared)} ranks on them" if compared else None
    yield Claim(_ITEM, _WANTED, "; ".join([*wrong[:_MOST], *more]) or good, not wrong, "", _REMEDY)


def _is_list(listed: object) -> TypeGuard[tuple[object, ...]]:
    return isinstance(listed, tuple)


def _missing(placed: Sequence[PlacedRank], ranks: object) -> list[str]:
    """What is said if some ranks do not tell where they run, or one does twice."""
    found = len({(one.host, one.rank) for one in placed})
    is_short = isinstance(ranks, int) and found != ranks
    return [f"{found} of {ranks} ranks say where they run"] if is_short else []


def _fits(one: PlacedRank, known: Mapping[str, NodeFacts]) -> bool | None:
    """Whether the rank's CPUs are those of its GPU's NUMA node; ``None`` if that is unknown."""
    facts = known.get(one.host.partition(".")[0].lower())
    if facts is None or not one.gpu:
        return None
    places = {gpu.bus_id.lower(): gpu.numa_node for gpu in facts.gpus if gpu.bus_id}
    nodes = [node for node in places.values() if node is not None and node >= 0]
    if not nodes or not facts.numa_cpus:
        return None
    node = places.get(one.gpu)
    cpus = facts.numa_cpus.get(str(node)) if node is not None else None
    if cpus is None:
        return None if one.gpu in places else False
    try:
        return bool(RangeSet(one.cpus).issubset(RangeSet(cpus)))
    except RangeSetException:
        return False


def _told(one: PlacedRank) -> str:
    return f"rank {one.rank} of {one.host} for GPU {one.gpu or 'none'} on CPUs {one.cpus}"

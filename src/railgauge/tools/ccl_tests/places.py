"""Comparison of the CPUs on which ranks run with those beside their GPUs. Pure.

Each rank that the suite places prints which GPU it found and which CPUs it may use. The CPUs are
compared with those that the survey found beside that GPU, or beside the GPU that the test itself
names for the rank: a test that numbers GPUs in another order would run far from them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ClusterShell.RangeSet import RangeSet, RangeSetException

from railgauge.facts import NodeFacts
from railgauge.launchers.beside_gpu import PlacedRank
from railgauge.tools.ccl_tests.facts import RankDevice
from railgauge.tools.hosts import by_hostname, short
from railgauge.tools.output_checks import OutputCheck, ToolRequest, listed
from railgauge.tools.pci import same

_ITEM = "CPUs of the ranks"
_WANTED = "CPUs of the NUMA node of each rank's GPU"
_REMEDY = (
    "let the job use all CPUs of its nodes, or set ranks: launcher in the hostfile, which leaves "
    "the placement to the launcher"
)
_SILENT = "no rank prints where it runs"
_HEARD = (
    "run the command of the transcript by hand: each rank has to print a line that begins with "
    "'railgauge: rank'; a wrapper of the launcher may drop it, or replace the program"
)
_MOST = 3


def checks_of_places(
    asked: ToolRequest, summary: Mapping[str, object], *, is_placed: bool
) -> Iterator[OutputCheck]:
    """Check that each rank runs beside its GPU.

    ``is_placed``: the command places the ranks, so that each has to print where it runs; another
    output is not checked if none does. A rank that found no GPU, or a node whose survey shows no
    NUMA nodes of its GPUs, proves nothing.
    """
    placed = listed(summary, "placed", PlacedRank)
    if not placed:
        if is_placed:
            yield OutputCheck(_ITEM, _WANTED, _SILENT, agrees=False, remedy=_HEARD)
        return
    known = by_hostname(asked)
    used = _used(summary, len(placed))
    beside = [(one, used.get((short(one.host), one.rank), "")) for one in placed]
    compared = [(*one, fits) for one in beside if (fits := _fits(*one, known)) is not None]
    elsewhere = [_text(one, gpu) for one, gpu, fits in compared if not fits]
    wrong = [*_missing(placed, summary.get("nranks")), *elsewhere]
    more = [f"and {len(wrong) - _MOST} more"] if len(wrong) > _MOST else []
    good = f"{len(compared)} ranks on them" if compared else None
    yield OutputCheck(
        _ITEM, _WANTED, "; ".join([*wrong[:_MOST], *more]) or good, not wrong, "", _REMEDY
    )


def _used(summary: Mapping[str, object], ranks: int) -> dict[tuple[str, int], str]:
    """Return the GPU that the test names for each rank: (host, number there) -> printed address.

    Launchers number the ranks of a node in the order of their ranks in the job. Empty if the test
    does not name all of them.
    """
    devices = listed(summary, "devices", RankDevice)
    if len(devices) != ranks:
        return {}
    met: Counter[str] = Counter()
    found = {}
    for one in sorted(devices, key=lambda device: device.rank):
        host = short(one.host)
        found[host, met[host]] = one.bus
        met[host] += 1
    return found


def _missing(placed: Sequence[PlacedRank], ranks: object) -> list[str]:
    """Return the message if some ranks do not print where they run, or one does twice."""
    found = len({(one.host, one.rank) for one in placed})
    is_short = isinstance(ranks, int) and found != ranks
    return [f"{found} of {ranks} ranks print where they run"] if is_short else []


def _fits(one: PlacedRank, used: str, known: Mapping[str, NodeFacts]) -> bool | None:
    """Whether the rank's CPUs are those of its GPU's NUMA node; ``None`` if that is unknown.

    ``used`` is the address of the GPU that the test names, which counts if only one GPU has it.
    """
    facts = known.get(short(one.host))
    if facts is None or not one.gpu:
        return None
    places = {gpu.bus_id.lower(): gpu.numa_node for gpu in facts.gpus if gpu.bus_id}
    nodes = [node for node in places.values() if node is not None and node >= 0]
    if not nodes or not facts.numa_cpus:
        return None
    named = [address for address in places if same(used, address)]
    gpu = named[0] if len(named) == 1 else one.gpu
    node = places.get(gpu)
    cpus = facts.numa_cpus.get(str(node)) if node is not None else None
    if cpus is None:
        return None if gpu in places else False
    try:
        return bool(RangeSet(one.cpus).issubset(RangeSet(cpus)))
    except RangeSetException:
        return False


def _text(one: PlacedRank, used: str) -> str:
    other = f", while the test uses the GPU at {used}" if used and not same(used, one.gpu) else ""
    return f"rank {one.rank} of {one.host} for GPU {one.gpu} on CPUs {one.cpus}{other}"

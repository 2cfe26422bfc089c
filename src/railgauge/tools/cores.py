"""Comparison of the cores on which ranks run with what their launcher was asked for. Pure.

``--bind-to core`` gives each rank a core of its own. A launcher that ignores the option starts the
same test, which prints the same table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ClusterShell.RangeSet import RangeSet, RangeSetException

from railgauge.facts import NodeFacts
from railgauge.launchers import on_core
from railgauge.launchers.on_core import RankOnCore
from railgauge.tools.hosts import by_hostname, short
from railgauge.tools.output_checks import OutputCheck, SideOutput, ToolRequest, listed

_ITEM = "cores of the ranks"
_WANTED = "one for each rank, no other rank's"
_REMEDY = (
    "run the command of the transcript by hand: each rank has to print a line that begins with "
    "'railgauge: rank'; remove what binds the ranks otherwise (a wrapper, --cpu-set, a job with "
    "fewer cores), or --bind-to core from launcher_args"
)
_SILENT = "no rank prints where it runs"
_MOST = 3


def checks_of_cores(
    asked: ToolRequest, side: SideOutput, ranks: object, numa_node: object = None
) -> Iterator[OutputCheck]:
    """Check that each of the ``ranks`` has a core of its own, where the launcher was asked for it.

    Such a command makes the ranks print where they run. The output of another command, or one that
    no run of the suite made, need not show it. ``numa_node`` is the NUMA node that the platform
    declares for all ranks.
    """
    if on_core.NAME not in side.argv:
        return
    printed = listed(side.parsed.summary, "on_core", RankOnCore)
    if not printed and not asked.is_planned:
        yield OutputCheck(_ITEM, _WANTED, None)
        return
    known = by_hostname(asked) if _is_number(numa_node) else {}
    wrong = [
        *_silent(printed, ranks),
        *(f"{_where(one)}, {why}" for one in printed if (why := _elsewhere(one, known, numa_node))),
        *_shared(printed),
    ]
    more = [f"and {len(wrong) - _MOST} more"] if len(wrong) > _MOST else []
    wanted = f"{_WANTED}, on NUMA node {numa_node}" if known else _WANTED
    good = f"{len(printed)} ranks on cores of their own"
    yield OutputCheck(
        _ITEM, wanted, "; ".join([*wrong[:_MOST], *more]) or good, not wrong, remedy=_REMEDY
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _silent(printed: Sequence[RankOnCore], ranks: object) -> list[str]:
    """Return the message if not every rank prints exactly once where it runs."""
    found = len({(one.host, one.rank) for one in printed})
    if found == ranks == len(printed):
        return []
    return [f"{found} of {ranks} ranks print where they run"] if printed else [_SILENT]


def _where(one: RankOnCore) -> str:
    return f"rank {one.rank} of {one.host} on CPUs {one.cpus}"


def _elsewhere(one: RankOnCore, known: Mapping[str, NodeFacts], numa_node: object) -> str:
    """Return why the rank is not on one core of its NUMA node; empty if it is."""
    if not one.core:
        return "whose core the node does not show"
    if not _within(one.cpus, one.core):
        return f"which are more than the core {one.core}"
    facts = known.get(short(one.host))
    cpus = facts.numa_cpus.get(str(numa_node)) if facts else None
    if cpus is not None and not _within(one.cpus, cpus):
        return f"which are not those of NUMA node {numa_node} ({cpus})"
    return ""


def _within(cpus: str, others: str) -> bool:
    try:
        return bool(RangeSet(cpus)) and RangeSet(cpus).issubset(RangeSet(others))
    except RangeSetException:
        return False


def _shared(printed: Sequence[RankOnCore]) -> list[str]:
    """Return a message for each core that several ranks of a node share."""
    having = Counter((one.host, one.core) for one in printed if one.core)
    return [
        f"{count} ranks of {host} on the core {core}"
        for (host, core), count in having.items()
        if count > 1
    ]

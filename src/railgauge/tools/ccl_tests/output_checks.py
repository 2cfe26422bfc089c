"""Comparison of a collective test's output, its run and its GPUs, with its command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from railgauge.config.thresholds.physics import bus_factor
from railgauge.core.model import Parsed
from railgauge.launchers.beside_gpu import NAME as PLACED
from railgauge.tools.ccl_tests.algorithms import checks_of_algorithm
from railgauge.tools.ccl_tests.facts import RankDevice
from railgauge.tools.ccl_tests.places import checks_of_places
from railgauge.tools.cores import checks_of_cores
from railgauge.tools.hosts import checks_of_ranks, short
from railgauge.tools.output_checks import (
    OutputCheck,
    SideOutput,
    ToolRequest,
    all_iterations_s,
    equal,
    joined,
    listed,
    long_enough,
    same_models,
)
from railgauge.tools.pci import brief, bus_of, same, whole

# Other collectives print the given reduction without using it, or print none.
_REDUCES = frozenset({"all_reduce", "reduce_scatter", "reduce"})
_FACTOR_SLACK = 0.02
# What the columns show for each collective: a reduction (sendrecv prints one without using it), a
# root, a comparison in place. None: versions of the tool differ.
_COLUMNS = ("reduces", "rooted", "checked_in_place")
_SHOWN: Mapping[str, tuple[bool | None, ...]] = {
    "all_reduce": (True, False, True),
    "reduce_scatter": (True, False, True),
    "reduce": (True, True, True),
    "all_gather": (False, False, True),
    "broadcast": (False, True, True),
    "alltoall": (False, False, False),
    "sendrecv": (True, False, False),
    "gather": (False, True, None),
    "scatter": (False, True, None),
}
_WORDS = {
    "reduces": ("no reduction", "a reduction"),
    "rooted": ("no root", "a root"),
    "checked_in_place": ("no comparison in place", "a comparison in place"),
}


def output_checks(asked: ToolRequest, sides: tuple[SideOutput, ...]) -> tuple[OutputCheck, ...]:
    """Compare collective, data type, reduction, iterations, graph, validation, ranks, processes,
    hosts, GPUs, and the algorithm if the measurement's variables ask for one.

    Also the CPUs of the ranks if the command places them beside their GPUs, the cores if the
    launcher binds them to cores, and the time of the command with that of all iterations.
    """
    first = sides[0]
    places = checks_of_places(asked, first.parsed.summary, is_placed=PLACED in first.argv)
    times = long_enough(first, all_iterations_s(first.parsed), "for all iterations")
    return (*_of_header(asked, first.parsed), *places, *_cores(asked, first), *times)


def _cores(asked: ToolRequest, first: SideOutput) -> Iterator[OutputCheck]:
    """Check the cores of all processes, on the NUMA node that the platform declares for GPUs."""
    gpus, each = _gpus_per_node(asked), asked.option("gpus_per_process", 1)
    count = gpus // each * len(asked.case.nodes) if isinstance(each, int) and gpus else None
    expected = asked.platform.expected.get("gpu_numa")
    numa_node = expected.value if expected and expected.rule == "equals" else None
    yield from checks_of_cores(asked, first, count, numa_node)


def _gpus_per_node(asked: ToolRequest) -> int:
    gpus = asked.platform.gpus
    each = asked.option("gpus_per_node", gpus.count if gpus else None)
    return each if isinstance(each, int) else 0


def _of_header(asked: ToolRequest, parsed: Parsed) -> Iterator[OutputCheck]:
    summary = parsed.summary
    collective = asked.measurement.command.removesuffix("_perf")
    yield _collective(collective, parsed)
    yield equal("data type", asked.option("dtype", "float"), joined(summary.get("dtypes")))
    if collective in _REDUCES:
        yield equal("reduction", "sum", joined(summary.get("redops")))
    yield _warmup(asked, summary.get("warmup"))
    if asked.option("iterations") is not None:
        yield equal("iterations", asked.option("iterations"), summary.get("iterations"))
    yield equal("aggregated iterations", 1, summary.get("aggregated"))
    yield from checks_of_algorithm(asked, summary)
    yield _graph(asked, summary.get("graph"))
    yield from _validation(asked, summary)
    each = _gpus_per_node(asked) or None
    yield from checks_of_ranks(asked, each, summary, summary.get("gpus"), "GPUs")
    yield _of_processes(asked, summary)
    yield from checks_of_devices(asked, listed(summary, "devices", RankDevice))


def _of_processes(asked: ToolRequest, summary: Mapping[str, object]) -> OutputCheck:
    """Check the number of GPUs of each process.

    The header gives it, and the list of ranks by its process numbers.
    """
    threads, each = summary.get("threads", 1), summary.get("gpus_per_process")
    shown = {threads * each} if isinstance(threads, int) and isinstance(each, int) else set[int]()
    of_processes = [one for one in listed(summary, "devices", RankDevice) if one.pid]
    if of_processes and len(of_processes) == summary.get("nranks"):
        shown |= set(Counter((one.host, one.pid) for one in of_processes).values())
    wanted = {asked.option("gpus_per_process", 1)}
    text = ", ".join(map(str, sorted(shown))) or None
    return OutputCheck("GPUs of each process", str(*wanted), text, not shown or shown == wanted)


def _collective(wanted: str, parsed: Parsed) -> OutputCheck:
    """Check the collective by its printed name, or else by the columns and bandwidths."""
    named, ranks = parsed.summary.get("collective"), parsed.summary.get("nranks")
    if named is not None:
        return equal("collective", wanted, str(named).removesuffix("_perf"))
    if others := _other_columns(wanted, parsed.summary):
        return OutputCheck("collective", wanted, f"one with {', '.join(others)}", False)
    expected = bus_factor(wanted, ranks) if isinstance(ranks, int) and ranks > 1 else None
    ratio = _ratio(parsed)
    if expected is None or ratio is None:
        return OutputCheck("collective", wanted, None)
    fits = abs(ratio / expected - 1) <= _FACTOR_SLACK
    are_shown = all(parsed.summary.get(name) is not None for name in _COLUMNS)
    if fits and ratio < 1 + _FACTOR_SLACK and not are_shown:  # only all_reduce is above 1
        return OutputCheck("collective", wanted, None)
    shows = f"one with a busbw of {ratio:.3f} x algbw, not {expected:.3f} x algbw"
    return OutputCheck("collective", wanted, shows, fits)


def _other_columns(wanted: str, summary: Mapping[str, object]) -> list[str]:
    """Return properties that the columns show but that the wanted collective does not have."""
    pairs = zip(_COLUMNS, _SHOWN.get(wanted, ()), strict=False)
    return [
        _WORDS[name][bool(summary[name])]
        for name, usual in pairs
        if usual is not None and summary.get(name) is not None and summary[name] != usual
    ]


def _ratio(parsed: Parsed) -> float | None:
    """Return busbw / algbw of the fastest row, in which rounding matters least."""
    rows: dict[tuple[object, ...], dict[str, float]] = {}
    for sample in parsed.samples:
        key = (sample.size_bytes, sample.placement, sample.iteration)
        rows.setdefault(key, {})[sample.metric] = sample.value
    both = [row for row in rows.values() if row.get("algbw") and "busbw" in row]
    fastest = max(both, key=lambda row: row["algbw"], default=None)
    return fastest["busbw"] / fastest["algbw"] if fastest else None


def _warmup(asked: ToolRequest, shown: object) -> OutputCheck:
    """Check the warm-up: if the command gives none, the tool's default of 1 or 5, never 0."""
    wanted = asked.option("warmup")
    if wanted is not None or not isinstance(shown, int):
        return equal("warm-up iterations", "1 or more" if wanted is None else wanted, shown)
    return OutputCheck("warm-up iterations", "1 or more", str(shown), shown > 0)


def _graph(asked: ToolRequest, shown: object) -> OutputCheck:
    """Check the graph option; with graphs, ``graph: 0`` counts as not shown (document 002)."""
    wanted = bool(asked.option("graph"))
    if wanted and not shown:
        return OutputCheck("graph", "on", None)
    return equal("graph", _on(wanted), None if shown is None else _on(bool(shown)))


def _validation(asked: ToolRequest, summary: Mapping[str, object]) -> Iterator[OutputCheck]:
    """Check that validation is on, and that every row was checked on at least one side."""
    wanted, shown = bool(asked.option("check", 1)), summary.get("validation")
    yield equal("validation", _on(wanted), None if shown is None else _on(bool(shown)))
    rows, checked = summary.get("rows_checkable"), summary.get("rows_checked")
    if not wanted:
        return
    if rows is None:
        yield OutputCheck("checked rows", "all", None)
    else:
        yield OutputCheck("checked rows", "all", f"{checked} of {rows}", checked == rows)


def _on(value: bool) -> str:
    return "on" if value else "off"


# --- the GPUs that the ranks name: one for each rank, on the node, of the right model ---

_DISTINCT, _OF_NODE = "GPU of each rank", "GPUs of the nodes"


def checks_of_devices(asked: ToolRequest, devices: Sequence[RankDevice]) -> Iterator[OutputCheck]:
    """Check distinct GPUs, addresses and models of the devices in the output."""
    yield _distinct(asked, devices)
    yield _known(asked, devices)
    models = same_models(
        "GPU model", asked.models(asked.case.nodes), (device.model for device in devices)
    )
    if models:
        yield models


def _distinct(asked: ToolRequest, devices: Sequence[RankDevice]) -> OutputCheck:
    """Check that no two ranks share a GPU. Only addresses count: each process may see one GPU."""
    wanted = "one of its own"
    counts = Counter(
        (device.host, -1 if _tells_apart(asked, device.bus) else device.number, device.bus)
        for device in devices
    )
    (host, _, bus), most = max(counts.items(), key=lambda one: one[1], default=(("", 0, ""), 0))
    if not devices or (most > 1 and not _tells_apart(asked, bus)):
        return OutputCheck(_DISTINCT, wanted, None)
    shared = f"{most} ranks on the GPU at {bus} of {host}"
    shown = shared if most > 1 else f"{len(counts)} GPUs for {len(devices)} ranks"
    return OutputCheck(_DISTINCT, wanted, shown, most == 1)


def _tells_apart(asked: ToolRequest, bus: str) -> bool:
    """Return whether a printed address is unique: a short one has no PCI domain."""
    if brief(bus) is None:
        return bool(bus)
    known = [bus_of(address) for address in _addresses(asked)]
    return bool(known) and max(Counter(known).values()) == 1


def _known(asked: ToolRequest, devices: Sequence[RankDevice]) -> OutputCheck:
    """Check that the addresses are those of the GPUs of the node on which a rank runs.

    For a rank on a host that the survey does not know, those of all nodes count.
    """
    by_host, known = _by_host(asked), _addresses(asked)
    known = known or [address for own in by_host.values() for address in own]
    printed = [device.bus for device in devices if device.bus]
    if not known or not printed:
        return OutputCheck(_OF_NODE, "GPUs at the addresses that the nodes have", None)
    strange = (
        device.bus
        for device in devices
        if device.bus and not _is_of(device.bus, by_host.get(short(device.host), known))
    )
    unknown = list(dict.fromkeys(strange))
    asked_for = f"GPUs at {', '.join(sorted(set(known)))}"
    shown = ", ".join(unknown) or f"{len(set(printed))} of them"
    return OutputCheck(_OF_NODE, asked_for, shown, not unknown)


def _addresses(asked: ToolRequest) -> list[str]:
    """Return GPU addresses: those of the survey if all nodes have the same, or those declared."""
    found = {
        tuple(gpu.bus_id for gpu in facts.gpus if gpu.bus_id)
        for node in asked.case.nodes
        if (facts := asked.facts(node))
    }
    if len(found) == 1 and (seen := next(iter(found))):
        return list(seen)
    return list(asked.platform.gpus.bus_ids) if asked.platform.gpus and not found else []


def _by_host(asked: ToolRequest) -> dict[str, list[str]]:
    """Return the GPU addresses by host name; none if the survey of a node is incomplete."""
    found: dict[str, list[str]] = {}
    for node in asked.case.nodes:
        facts = asked.facts(node)
        addresses = [gpu.bus_id for gpu in facts.gpus if gpu.bus_id] if facts else []
        if facts is None or not facts.hostname or not addresses:
            return {}
        found[short(facts.hostname)] = addresses
    return found


def _is_of(bus: str, known: Sequence[str]) -> bool:
    """Whether the GPU is one of the known ones; a text that is no address may be any."""
    is_unclear = brief(bus) is None and whole(bus) is None
    return is_unclear or any(same(bus, address) for address in known)

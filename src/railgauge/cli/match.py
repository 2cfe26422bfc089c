"""Find the measurement of a platform that an output belongs to, from the output's own report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from railgauge.config.thresholds import Measurement, Platform
from railgauge.core.errors import BadInput
from railgauge.core.model import Parsed
from railgauge.core.terms import Scope

# Only all_reduce has a busbw above its algbw: the ratio is 2(n-1)/n.
_ALL_REDUCE = "all_reduce"
_NODES = {Scope.PATH: 2, Scope.PAIR: 2, Scope.NODE: 1}
_SMALLEST_GROUP = 3


def chosen(platform: Platform, tool: str, named: str | None, parsed: Parsed) -> Measurement:
    """Return the measurement that ``parsed`` belongs to: the ``named`` one, or the only match.

    Raises ``BadInput`` if the output matches none or several, or contradicts the named one: a name
    decides what the output leaves open, but cannot override what it reports.
    """
    of_tool = [m for m in platform.measurements.values() if m.tool == tool]
    known = f"measurements of {tool}: {', '.join(m.name for m in of_tool) or 'none'}"
    found = [m for m in of_tool if (m.name == named if named else fits(platform, m, parsed))]
    if len(found) != 1:
        what = (
            f"{platform.name} has no measurement {named} of {tool}"
            if named
            else _unfit(platform, of_tool, len(found), parsed)
        )
        raise BadInput(what, remedy=f"name one with --measurement; {known}")
    if against := "; ".join(_contradictions(platform, found[0], parsed)):
        raise BadInput(
            f"the output is not of {found[0].name}: it says {against}",
            remedy=f"name what was measured; {known}",
        )
    return found[0]


def _unfit(platform: Platform, of_tool: Sequence[Measurement], count: int, parsed: Parsed) -> str:
    """Return how many measurements match; if none, what contradicts the likeliest one."""
    shown = parsed.summary.get("command") or parsed.summary.get("collective") or "no known test"
    likely = [m for m in of_tool if _IS_NAMED.get(m.tool, _always)(m, parsed)]
    against = {m.name: list(_contradictions(platform, m, parsed)) for m in likely}
    name = min(against, key=lambda name: len(against[name]), default="")
    why = f"; it says {'; '.join(against[name])} for {name}" if name and not count else ""
    return f"the output ({shown}) fits {count} measurements of {platform.name}{why}"


def nodes_of(platform: Platform, measurement: Measurement, parsed: Parsed) -> tuple[str, ...]:
    """Return the nodes as the output names them, or ``node1``, ``node2``, ... if it names none."""
    each = _planned_each(measurement, platform)
    count = _NODES.get(measurement.scope) or max(_nodes(parsed, each) or 0, _SMALLEST_GROUP)
    hosts = _by_host(parsed)
    if len(hosts) == count:
        return tuple(map(str, hosts))
    return tuple(f"node{number}" for number in range(1, count + 1))


def fits(platform: Platform, measurement: Measurement, parsed: Parsed) -> bool:
    """Whether ``parsed`` names its test and contradicts nothing of ``measurement``."""
    is_named = _IS_NAMED.get(measurement.tool, _always)
    # A step says something beside the smallest one alone, and a load names no victim.
    is_by_itself = not (measurement.ladder or measurement.victims)
    contradictions = _contradictions(platform, measurement, parsed)
    return is_by_itself and is_named(measurement, parsed) and not any(contradictions)


def _always(measurement: Measurement, parsed: Parsed) -> bool:  # noqa: ARG001
    return True


def _names_perftest(measurement: Measurement, parsed: Parsed) -> bool:
    """Whether the output names the command; that several rails ran at once is never printed."""
    return not measurement.together and parsed.summary.get("command") == measurement.command


def _names_collective(measurement: Measurement, parsed: Parsed) -> bool:
    """Whether the output is of a collective in the measurement's graph mode.

    A heading prints 'graph: 0' for a graph run too, so such a run must be named.
    """
    graph = bool(measurement.options.get("graph")) == bool(parsed.summary.get("graph"))
    return graph and bool(_collective(parsed))


_IS_NAMED: Mapping[str, Callable[[Measurement, Parsed], bool]] = {
    "perftest": _names_perftest,
    "ccl-tests": _names_collective,
    "mpi-bench": _names_collective,
}


def _contradictions(platform: Platform, measurement: Measurement, parsed: Parsed) -> Iterator[str]:
    """Yield each contradiction to this measurement, such as ``queue pairs 4, not 1``."""
    for what, shown, wanted in _AGREE.get(measurement.tool, _nothing)(
        platform, measurement, parsed
    ):
        if shown is not None and shown != wanted:
            yield f"{what} {shown}, not {wanted}"


_Sides = Iterator[tuple[str, object, object]]
"""(property, value in the output or ``None`` if absent, value of the measurement)."""


def _nothing(platform: Platform, measurement: Measurement, parsed: Parsed) -> _Sides:  # noqa: ARG001
    return iter(())


def _perftest(platform: Platform, measurement: Measurement, parsed: Parsed) -> _Sides:
    reported, options = {**_implied(parsed.summary), **parsed.summary}, measurement.options
    memory = reported.get("memory")
    yield "command", reported.get("command"), measurement.command
    yield "payload in", memory and ("host" if memory == "host" else "gpu"), measurement.memory
    yield "queue pairs", reported.get("qps"), options.get("qps", 1)
    yield "both ways", reported.get("bidirectional"), bool(options.get("bidirectional"))
    yield _declared("device", reported.get("device"), [nic.name for nic in platform.fabric_nics])
    if measurement.memory == "gpu":
        yield _declared("GPU", reported.get("gpu"), list(platform.affinity))


def _tcp(platform: Platform, measurement: Measurement, parsed: Parsed) -> _Sides:  # noqa: ARG001
    yield "protocol", parsed.summary.get("protocol"), "TCP"


def _diagnostic(platform: Platform, measurement: Measurement, parsed: Parsed) -> _Sides:  # noqa: ARG001
    yield "run level", parsed.summary.get("run"), measurement.options.get("run")


def _products(platform: Platform, measurement: Measurement, parsed: Parsed) -> _Sides:  # noqa: ARG001
    yield "format", parsed.summary.get("format"), measurement.command
    yield "devices", parsed.summary.get("devices"), measurement.options.get("devices", "gpu")


def _training(platform: Platform, measurement: Measurement, parsed: Parsed) -> _Sides:
    nodes = parsed.summary.get("nnodes")
    yield "mode", parsed.summary.get("mode"), measurement.command
    yield "ranks on a node", _each(parsed), _planned_each(measurement, platform)
    yield "ran on a", _scope(nodes) if isinstance(nodes, int) else None, measurement.scope


def _declared(what: str, shown: object, known: Sequence[object]) -> tuple[str, object, object]:
    """Return a comparison that holds if the value is one of the ``known``."""
    return what, shown, shown if shown in known else f"one of {', '.join(map(str, known))}"


def _implied(summary: Mapping[str, object]) -> Mapping[str, object]:
    """Return the defaults that a heading implies if it omits them; rows without a heading: none."""
    return {"memory": "host", "qps": 1, "bidirectional": False} if "command" in summary else {}


def _collectives(platform: Platform, measurement: Measurement, parsed: Parsed) -> _Sides:
    each = _planned_each(measurement, platform)
    nodes, ranks = _nodes(parsed, each), _ranks(parsed)
    yield "collective", _collective(parsed) or None, measurement.command.removesuffix("_perf")
    yield "ranks on a node", _each(parsed), each
    if nodes is not None:
        yield "ran on a", _scope(nodes), measurement.scope
    elif ranks is not None:
        yield "ranks", ranks, f"as many as whole nodes of {each} have"


def _collective(parsed: Parsed) -> str:
    named = parsed.summary.get("collective")
    if isinstance(named, str):
        return named.removesuffix("_perf")
    return _ALL_REDUCE if _ratio(parsed) > 1 else ""


def _ratio(parsed: Parsed) -> float:
    """Return busbw over algbw at the largest busbw, where rounding matters least."""
    values: dict[tuple[object, ...], dict[str, float]] = {}
    for sample in parsed.samples:
        key = (sample.size_bytes, sample.placement, sample.iteration)
        values.setdefault(key, {})[sample.metric] = sample.value
    pairs = [(v["busbw"], v["algbw"]) for v in values.values() if v.get("algbw") and "busbw" in v]
    busbw, algbw = max(pairs, default=(0.0, 1.0))
    return busbw / algbw


def _ranks(parsed: Parsed) -> int | None:
    """Return the number of ranks as listed, or from the ratio r of an all_reduce: n = 2/(2-r)."""
    listed = parsed.summary.get("nranks")
    if isinstance(listed, int):
        return listed
    ratio = _ratio(parsed)
    return round(2 / (2 - ratio)) if 1 < ratio < 2 else None  # noqa: PLR2004


def _each(parsed: Parsed) -> int | None:
    return max(_by_host(parsed).values(), default=None)


def _by_host(parsed: Parsed) -> Mapping[str, int]:
    """Return the ranks of each host; empty if the output does not list them."""
    found = parsed.summary.get("gpus", parsed.summary.get("ranks"))
    return found if isinstance(found, Mapping) else {}


def _nodes(parsed: Parsed, each: object) -> int | None:
    """Return the number of nodes; ``None`` if it is unknown, or one node was used only in part.

    For many ranks the ratio gives only a rough number: from three nodes on a remainder is allowed.
    """
    nodes, ranks = parsed.summary.get("nnodes"), _ranks(parsed)
    if isinstance(nodes, int):
        return nodes
    if ranks is None or not isinstance(each, int):
        return None
    whole, rest = divmod(ranks, each)
    return None if rest and whole < _SMALLEST_GROUP else whole or None


def _scope(nodes: int) -> Scope:
    return {1: Scope.NODE, 2: Scope.PAIR}.get(nodes, Scope.GROUP)


_AGREE: Mapping[str, Callable[[Platform, Measurement, Parsed], _Sides]] = {
    "perftest": _perftest,
    "ccl-tests": _collectives,
    "mpi-bench": _collectives,
    "iperf3": _tcp,
    "dcgmi-diag": _diagnostic,
    "gemm-bench": _products,
    "train-bench": _training,
}


def _planned_each(measurement: Measurement, platform: Platform) -> object:
    """Return the ranks per node: one for each GPU, or as the measurement's options say."""
    if platform.gpus is None:
        return measurement.options.get("ranks_per_node", 1)
    return measurement.options.get("gpus_per_node", platform.gpus.count)

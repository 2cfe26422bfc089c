"""Surveys nodes whose platform is not known yet, and finds their programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from railgauge.config.thresholds import Platform
from railgauge.core.errors import NoEvidence
from railgauge.core.model import Cluster, Command, Node, Transcript
from railgauge.describing import bus
from railgauge.describing.bus import NONE, Bus, DeviceListing, likely_vendors
from railgauge.facts import NodeAnswer, NodeFacts
from railgauge.facts.counters import CounterReading, parse_reading
from railgauge.planning import counters
from railgauge.run.survey import OnAnswer, survey
from railgauge.stacks import stack
from railgauge.transport.sessions import Sessions

_AT_ONCE = 64
_TIME_LIMIT_S = 30.0
_FIND = 'for name in "$@"; do command -v -- "$name" >/dev/null 2>&1 || echo "$name"; done'


def found_by_vendor(
    cluster: Cluster, sessions: Sessions, tell: Callable[[str], None], progress: OnAnswer, only: str
) -> tuple[Mapping[str, NodeAnswer], DeviceListing]:
    """Survey the nodes with the tools of each vendor in turn, until a vendor's tools list a GPU.

    ``only`` is the only vendor to try, ``none``, or empty for all vendors: first those with most
    GPUs on the nodes' buses.
    """
    on_bus = _bus(cluster, sessions)
    found: Mapping[str, NodeAnswer] = {}
    silent: dict[str, dict[str, str]] = {}
    for vendor in _order(on_bus, only):
        tell(f"survey: asking {len(cluster.nodes)} nodes, GPUs by the tools of {vendor}")
        found = survey(cluster, sessions, stack(vendor), progress)
        answers = [answer for answer in found.values() if isinstance(answer, NodeFacts)]
        silent[vendor] = {
            one.node: one.missing.get("gpus", f"the tools of {vendor} list none")
            for one in answers
            if not one.gpus
        }
        if not answers or any(answer.gpus for answer in answers):
            return found, DeviceListing(vendor, silent, on_bus)
    return found, DeviceListing("", silent, on_bus)


def _order(on_bus: Bus, only: str) -> tuple[str, ...]:
    likely = likely_vendors(on_bus)
    return (only,) if only in likely else likely[:1] if only == NONE else likely


def _bus(cluster: Cluster, sessions: Sessions) -> Bus:
    """What is on the bus of each node; a node that does not answer is left out."""

    def ask(node: Node) -> tuple[str, Transcript | None]:
        asked = Command(node.name, bus.argv(cluster.rootfs), {}, _TIME_LIMIT_S, plain=True)
        try:
            return node.name, sessions[node.name].run(asked)
        except NoEvidence:
            return node.name, None

    with ThreadPoolExecutor(min(_AT_ONCE, len(cluster.nodes))) as pool:
        answers = list(pool.map(ask, cluster.nodes))
    return {
        node: bus.parsed(output.stdout)
        for node, output in answers
        if output and output.exit_code == 0
    }


def lacking(
    cluster: Cluster, sessions: Sessions, nodes: Iterable[str], programs: tuple[str, ...]
) -> dict[str, list[str]]:
    """Return program -> the nodes on which a login without a terminal does not find it."""
    command = ("sh", "-c", _FIND, "railgauge", *programs)
    result: dict[str, list[str]] = {}

    def ask(node: str) -> tuple[str, list[str]]:
        try:
            output = sessions[node].run(Command(node, command, {}, _TIME_LIMIT_S))
        except NoEvidence:
            return node, list(programs)
        absent = output.stdout.split() if output.exit_code == 0 else list(programs)
        return node, [name for name in programs if name in absent]

    with ThreadPoolExecutor(min(_AT_ONCE, len(cluster.nodes))) as pool:
        for node, absent in pool.map(ask, nodes):
            for name in absent:
                result.setdefault(name, []).append(node)
    return result


def counted(
    cluster: Cluster, sessions: Sessions, nodes: Iterable[str], platform: Platform
) -> dict[str, CounterReading]:
    """Return what the error counters of each node show; a node that does not answer is left out."""

    def ask(node: str) -> tuple[str, CounterReading | None]:
        try:
            output = sessions[node].run(counters.reading(node, platform, cluster))
        except NoEvidence:
            return node, None
        return node, parse_reading(output.stdout, counters.stack_of(platform))

    with ThreadPoolExecutor(min(_AT_ONCE, len(cluster.nodes))) as pool:
        return {node: found for node, found in pool.map(ask, nodes) if found}

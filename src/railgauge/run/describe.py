"""Surveys nodes whose platform is not known yet, and finds the programs that they have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from railgauge.core.errors import NoEvidence
from railgauge.core.model import Cluster, Command
from railgauge.facts import NodeAnswer, NodeFacts
from railgauge.run.survey import Progress, survey
from railgauge.stacks import Stack, stack, vendors
from railgauge.transport.sessions import Sessions

_AT_ONCE = 64
_TIME_LIMIT_S = 30.0
_FIND = 'for name in "$@"; do command -v -- "$name" >/dev/null 2>&1 || echo "$name"; done'


def found_by_vendor(
    cluster: Cluster, sessions: Sessions, tell: Callable[[str], None], progress: Progress
) -> tuple[Mapping[str, NodeAnswer], Stack | None]:
    """Return the facts of every node, and the stack of the vendor whose tools list GPUs.

    The tools of each vendor are asked in turn, until those of one list a GPU.
    """
    found: Mapping[str, NodeAnswer] = {}
    for vendor in vendors():
        tell(f"survey: asking {len(cluster.nodes)} nodes, GPUs by the tools of {vendor}")
        found = survey(cluster, sessions, stack(vendor), progress)
        answers = [answer for answer in found.values() if isinstance(answer, NodeFacts)]
        if not answers or any(answer.gpus for answer in answers):
            return found, stack(vendor)
    return found, None


def lacking(
    cluster: Cluster, sessions: Sessions, nodes: Iterable[str], programs: tuple[str, ...]
) -> dict[str, list[str]]:
    """Return program -> the nodes on which a login without a terminal does not find it."""
    command = ("sh", "-c", _FIND, "railgauge", *programs)
    result: dict[str, list[str]] = {}

    def ask(node: str) -> tuple[str, list[str]]:
        try:
            said = sessions[node].run(Command(node, command, {}, _TIME_LIMIT_S))
        except NoEvidence:
            return node, list(programs)
        absent = said.stdout.split() if said.exit_code == 0 else list(programs)
        return node, [name for name in programs if name in absent]

    with ThreadPoolExecutor(min(_AT_ONCE, len(cluster.nodes))) as pool:
        for node, absent in pool.map(ask, nodes):
            for name in absent:
                result.setdefault(name, []).append(node)
    return result

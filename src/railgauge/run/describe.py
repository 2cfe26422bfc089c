"""Surveys nodes whose platform is not known yet, and finds the programs that they have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from railgauge.core.errors import NoEvidence
from railgauge.core.model import Cluster, Command
from railgauge.facts import NodeAnswer, NodeFacts
from railgauge.run.survey import OnAnswer, survey
from railgauge.stacks import Stack, stack, vendors
from railgauge.transport.sessions import Sessions

_AT_ONCE = 64
_NOT_INSTALLED = "command not found"
_TIME_LIMIT_S = 30.0
_FIND = 'for name in "$@"; do command -v -- "$name" >/dev/null 2>&1 || echo "$name"; done'


@dataclass(frozen=True, slots=True)
class VendorSurvey:
    """The survey by the tools of one vendor.

    ``stack`` is ``None`` if no node has a GPU. ``failing`` are the reasons why the tools of a
    vendor list no GPU although they are there, each with its nodes.
    """

    found: Mapping[str, NodeAnswer]
    stack: Stack | None
    failing: Mapping[str, list[str]]


def found_by_vendor(
    cluster: Cluster, sessions: Sessions, tell: Callable[[str], None], progress: OnAnswer
) -> VendorSurvey:
    """Survey the nodes with the tools of each vendor in turn, until those of one list a GPU."""
    found: Mapping[str, NodeAnswer] = {}
    failing: dict[str, list[str]] = {}
    for vendor in vendors():
        tell(f"survey: asking {len(cluster.nodes)} nodes, GPUs by the tools of {vendor}")
        found = survey(cluster, sessions, stack(vendor), progress)
        answers = [answer for answer in found.values() if isinstance(answer, NodeFacts)]
        if not answers or any(answer.gpus for answer in answers):
            return VendorSurvey(found, stack(vendor), {})
        for answer in answers:
            why = answer.missing.get("gpus", "")
            if why and _NOT_INSTALLED not in why:
                failing.setdefault(why, []).append(answer.node)
    return VendorSurvey(found, None, failing)


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

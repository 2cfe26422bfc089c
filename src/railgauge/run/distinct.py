"""No machine is two nodes of a run: the survey shows it, or a lease that the run itself holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from railgauge.config.thresholds import Platform
from railgauge.core.errors import BadInput, NoEvidence
from railgauge.core.model import Cluster, Command
from railgauge.facts import NodeAnswer, NodeFacts
from railgauge.facts.identity import confusions, identity_argv, parse_identity
from railgauge.transport.registry import allots_nodes
from railgauge.transport.sessions import Sessions

_AT_ONCE = 64
_TIME_LIMIT_S = 20.0


def look(cluster: Cluster, sessions: Sessions, platform: Platform) -> None:
    """Ask every node who it is, where a lease has shown that one of them has two names.

    Raises ``BadInput`` with a line for each confusion.
    """
    names = [node.name for node in cluster.nodes]
    with ThreadPoolExecutor(min(_AT_ONCE, len(names))) as pool:
        found = list(pool.map(lambda name: _asked(name, cluster.rootfs, sessions), names))
    _refuse(filter(None, found), platform)


def check(cluster: Cluster, found: Mapping[str, NodeAnswer], platform: Platform) -> None:
    """The same after the survey, which knows more. Raises ``BadInput``."""
    known = [facts for facts in found.values() if isinstance(facts, NodeFacts)]
    if allots_nodes(cluster.transport):  # whoever does so knows which nodes it has
        known = [replace(facts, hostname=None) for facts in known]
    _refuse(known, platform)


def _asked(node: str, rootfs: str, sessions: Sessions) -> NodeFacts | None:
    try:
        command = Command(node, identity_argv(rootfs), {"LC_ALL": "C"}, _TIME_LIMIT_S)
        said = sessions[node].run(command)
    except NoEvidence:
        return None
    return parse_identity(node, said.stdout)


def _refuse(found: Iterable[NodeFacts], platform: Platform) -> None:
    """By the NICs under test: others may be seen from several namespaces of one machine."""
    declared = {nic.name for nic in platform.fabric_nics}
    tested = [
        replace(facts, nics=tuple(nic for nic in facts.nics if nic.name in declared))
        for facts in found
    ]
    if lines := confusions(tested):
        raise BadInput("\n  ".join(["the nodes are not who they should be:", *lines]))

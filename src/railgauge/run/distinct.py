"""Refuses a run in which two node names lead to the same machine.

The survey shows this, or the lease does: this same run holds the node under another name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from railgauge.config.thresholds import Platform
from railgauge.core.errors import BadInput, NoEvidence
from railgauge.core.model import Cluster, Command
from railgauge.facts import NodeAnswer, NodeFacts
from railgauge.facts.identity import confusions, identity_argv, parse_identity
from railgauge.facts.naming import declared
from railgauge.transport.registry import allots_nodes
from railgauge.transport.sessions import Sessions

_AT_ONCE = 64
_TIME_LIMIT_S = 20.0


def refuse_second_names(cluster: Cluster, sessions: Sessions, platform: Platform) -> None:
    """Read the identity of every node, after a lease has shown that one has two names.

    Raises ``BadInput`` with a line for each pair of names that is one machine. A node that cannot
    be reached is left out.
    """
    names = [node.name for node in cluster.nodes]
    with ThreadPoolExecutor(min(_AT_ONCE, len(names))) as pool:
        found = list(pool.map(lambda name: _asked(name, cluster.rootfs, sessions), names))
    _refuse((declared(facts, platform.devices) for facts in found if facts), platform)


def check(cluster: Cluster, found: Mapping[str, NodeAnswer], platform: Platform) -> None:
    """Make the same check with the facts of the survey. Raises ``BadInput``."""
    known = [facts for facts in found.values() if isinstance(facts, NodeFacts)]
    if allots_nodes(cluster.transport):  # such a launcher knows which nodes it has allotted
        known = [replace(facts, hostname=None) for facts in known]
    _refuse(known, platform)


def _asked(node: str, rootfs: str, sessions: Sessions) -> NodeFacts | None:
    try:
        command = Command(node, identity_argv(rootfs), {"LC_ALL": "C"}, _TIME_LIMIT_S, plain=True)
        output = sessions[node].run(command)
    except NoEvidence:
        return None
    return parse_identity(node, output.stdout)


def _refuse(found: Iterable[NodeFacts], platform: Platform) -> None:
    """Compare the NICs under test only: several namespaces of a machine can share the others."""
    declared = {nic.name for nic in platform.fabric_nics}
    tested = [
        replace(facts, nics=tuple(nic for nic in facts.nics if nic.name in declared))
        for facts in found
    ]
    if lines := confusions(tested):
        raise BadInput("\n  ".join(["the hostfile's names do not match the nodes:", *lines]))

"""No machine is two nodes of a run: the survey shows it, or a lease that the run itself holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from railgauge.core.errors import NoEvidence
from railgauge.core.model import Command
from railgauge.facts import NodeAnswer, NodeFacts
from railgauge.facts.identity import confusions, identity_argv, parse_identity
from railgauge.transport.registry import allots_nodes

if TYPE_CHECKING:
    from railgauge.plugin.context import Context

_AT_ONCE = 64
_TIME_LIMIT_S = 20.0


def look(context: Context) -> None:
    """Ask every node who it is, where a lease has shown that one of them has two names.

    Ends the session with a line for each confusion.
    """
    names = [node.name for node in context.cluster.nodes]
    with ThreadPoolExecutor(min(_AT_ONCE, len(names))) as pool:
        found = list(pool.map(lambda name: _asked(context, name), names))
    _refuse(context, filter(None, found))


def check(context: Context, found: Mapping[str, NodeAnswer]) -> None:
    """The same after the survey, which knows more. A replay stays what it was."""
    if context.recording:
        return
    known = [facts for facts in found.values() if isinstance(facts, NodeFacts)]
    if allots_nodes(context.cluster.transport):  # whoever does so knows which nodes it has
        known = [replace(facts, hostname=None) for facts in known]
    _refuse(context, known)


def _asked(context: Context, node: str) -> NodeFacts | None:
    argv = identity_argv(context.cluster.rootfs)
    try:
        said = context.sessions[node].run(Command(node, argv, {"LC_ALL": "C"}, _TIME_LIMIT_S))
    except NoEvidence:
        return None
    return parse_identity(node, said.stdout)


def _refuse(context: Context, found: Iterable[NodeFacts]) -> None:
    """By the NICs under test: others may be seen from several namespaces of one machine."""
    declared = {nic.name for nic in context.platform.fabric_nics}
    tested = [
        replace(facts, nics=tuple(nic for nic in facts.nics if nic.name in declared))
        for facts in found
    ]
    if lines := confusions(tested):
        said = "\n  ".join(["railgauge: the nodes are not who they should be:", *lines])
        pytest.exit(said, pytest.ExitCode.USAGE_ERROR)

"""Tries the logins between nodes that a launcher needs with ``launch: ssh``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from railgauge.config.thresholds.site import NODE_LOGIN
from railgauge.core.errors import NoEvidence
from railgauge.core.model import Cluster, Command, Node
from railgauge.facts import NodeAnswer
from railgauge.planning.plan import Level
from railgauge.run.settings import RunSettings
from railgauge.transport.sessions import Sessions

_AT_ONCE = 64
_TIME_LIMIT_S = 60.0
_SSH_PORT = 22

# As mpirun and mpiexec call ssh, but with a shorter wait for a host that does not answer. All hosts
# at once: each has one line with its address, the exit code and the last line of ssh's output.
_TRY = """\
try() {
  output=$(timeout -k 2 20 ssh -x -o BatchMode=yes -o ConnectTimeout=10 "$1" true 2>&1 </dev/null)
  printf '%s %s %s\\n' "$1" "$?" "$(printf '%s' "$output" | tr -d '\\r' | tail -n 1)"
}
for host; do try "$host" & done
wait
"""
_LINE = re.compile(r"(\S+) (\d{1,3}) (.{0,300})")


def tried(
    found: Mapping[str, NodeAnswer], cluster: Cluster, settings: RunSettings, sessions: Sessions
) -> dict[str, NodeAnswer]:
    """Return the survey with the logins that failed, if the run has to judge them."""
    if NODE_LOGIN not in settings.platform.expected:
        return dict(found)
    needed = {node: others for node, others in _needed(settings.level).items() if node in found}
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        rows = pool.map(lambda one: _failed(cluster, sessions, *one), needed.items())
        failed = dict(zip(needed, rows, strict=True))
    return {node: _with(facts, failed.get(node, ())) for node, facts in found.items()}


def _needed(level: Level) -> dict[str, list[str]]:
    """Return the nodes that each first node of a collective of the level has to log in to."""
    needed: dict[str, dict[str, None]] = {}
    launches = [(pair.source, pair.target) for pair in level.pairs]
    for first, *others in (*launches, *(nodes for _, nodes in level.collectives)):
        needed.setdefault(first, {}).update(dict.fromkeys(others))
    return {node: list(others) for node, others in needed.items()}


def _with(facts: NodeAnswer, failed: tuple[str, ...] | None) -> NodeAnswer:
    return facts if isinstance(facts, NoEvidence) else replace(facts, failed_logins=failed)


def _failed(
    cluster: Cluster, sessions: Sessions, first: str, others: list[str]
) -> tuple[str, ...] | None:
    """Return the failed logins of ``first``; ``None`` if not every login gave an answer."""
    nodes = [cluster.node(name) for name in others]
    argv = ("sh", "-c", _TRY, "railgauge", *(node.data_address for node in nodes))
    try:
        output = sessions[first].run(Command(first, argv, {"LC_ALL": "C"}, _TIME_LIMIT_S))
    except NoEvidence:
        return None
    answers = {line[1]: line for line in _lines(output.stdout)}
    if any(node.data_address not in answers for node in nodes):
        return None
    rows = ((node, answers[node.data_address]) for node in nodes)
    return tuple(_why(node, line[2], line[3]) for node, line in rows if line[2] != "0")


def _lines(text: str) -> Iterator[re.Match[str]]:
    return (found for line in text.splitlines() if (found := _LINE.fullmatch(line)))


def _why(node: Node, code: str, message: str) -> str:
    """Return why a login failed, with the port on which the suite itself reaches the node."""
    own = node.ssh.port or _SSH_PORT
    beside = f" (railgauge reaches it on port {own})" if own != _SSH_PORT else ""
    return f"{node.name}: {message.strip() or f'ssh ended with {code}'}{beside}"

"""The probe of the nodes of a cluster: its commands, and the reading of their output."""

from __future__ import annotations

from dataclasses import replace

from railgauge import facts as node_facts
from railgauge.core.devices import DeviceNames
from railgauge.core.errors import BecomeRefused, CommandTimedOut, ConnectionLost, NoEvidence
from railgauge.core.model import Cluster, Command, Transcript
from railgauge.core.programs import folders
from railgauge.facts import NodeAnswer, NodeFacts
from railgauge.facts.naming import declared
from railgauge.facts.probe import PROGRAMS, ProbePart
from railgauge.facts.visible import VISIBLE
from railgauge.stacks import Stack
from railgauge.transport.job import not_started

# The probe gives each of its five or six tools 25 s, so a node on which all of them hang still
# reports the facts from the kernel's files.
PROBE_LIMIT_S = 180.0


class NodeProbe:
    """The commands of a survey, and the reading of their output."""

    def __init__(self, cluster: Cluster, stack: Stack | None, nonce: str) -> None:
        """``as_root`` is ``None`` if no node's login may become root."""
        self._cluster, self._stack, self._nonce = cluster, stack, nonce
        becomes = any(node.become for node in cluster.nodes)
        self.own = self._command(ProbePart.USER if becomes else ProbePart.ALL)
        asked = replace(self._command(ProbePart.ROOT), plain=True, as_root=True)
        self.as_root = asked if becomes else None

    def _command(self, part: ProbePart) -> Command:
        cluster = self._cluster
        placed = folders(cluster.tools, PROGRAMS)
        hiding = {k: v for k, v in cluster.environment.items() if VISIBLE.fullmatch(k)}
        script = node_facts.probe_script(cluster.rootfs, self._stack, self._nonce, placed, part)
        return Command("", ("sh", "-c", script), {"LC_ALL": "C", **hiding}, PROBE_LIMIT_S)

    def read(self, node: str, answer: Transcript | NoEvidence) -> NodeAnswer:
        read = _read(node, answer, self._nonce, self._stack)
        names = DeviceNames(self._cluster.devices)
        return declared(read, names) if isinstance(read, NodeFacts) else read


def joined(
    answer: Transcript | NoEvidence, root: Transcript | NoEvidence | None
) -> Transcript | NoEvidence:
    """Return the login user's answer with the sections that root printed.

    If nothing could be run as root, that is the node's answer.
    """
    if not isinstance(answer, Transcript) or not isinstance(root, Transcript):
        return answer
    if root.error == BecomeRefused.kind:
        return root
    return replace(answer, stdout=f"{answer.stdout}\n{root.stdout}")


def _read(
    node: str, answer: Transcript | NoEvidence, nonce: str, stack: Stack | None
) -> NodeAnswer:
    if isinstance(answer, NoEvidence):
        return answer
    if answer.error == ConnectionLost.kind:
        return ConnectionLost("the connection ended during the probe", where=node)
    if refusal := not_started(answer):
        return refusal
    if answer.error and nonce not in answer.stdout:
        return CommandTimedOut(f"the probe ended with {answer.error}", where=node)
    # A probe that was cut off still gives the facts that arrived; the others are missing.
    return node_facts.parse_probe(node, answer.stdout, nonce, stack, answer.span)

"""Surveys the machine that this process runs on as one node of a cluster, within a time limit.

Importing the code that judges a node takes longer than the first commands of its survey. So the
survey is begun with few imports, and the rest is imported while it runs.
"""

from __future__ import annotations

import os
import secrets
import time
from dataclasses import dataclass, replace

from railgauge.config.thresholds import Platform
from railgauge.core.errors import CommandTimedOut
from railgauge.core.model import Cluster, Command, Transcript
from railgauge.facts import NodeAnswer
from railgauge.planning.vendor import platform_stack
from railgauge.run.probing import NodeProbe, joined
from railgauge.transport import Running, Session
from railgauge.transport.registry import connect
from railgauge.transport.tag import Tag

_LOCAL = "local"
_NO_LINE = 2**63  # which is never printed
_SETTLES_S = 2.0


def alone(cluster: Cluster, name: str) -> Cluster:
    """Return the cluster with this one node, which is reached without a connection.

    As root, ``become`` is left out: the node may have no sudo.
    """
    (node,) = (node for node in cluster.nodes if node.name == name)
    become = () if os.geteuid() == 0 else node.become
    return replace(cluster, nodes=(replace(node, become=become),), groups={}, transport=_LOCAL)


@dataclass(frozen=True, slots=True)
class BegunSurvey:
    """The survey of this machine while it runs; ``root`` is its part that only root can read.

    Output after ``until``, a time of the monotonic clock, does not count.
    """

    node: str
    until: float
    tag: str
    session: Session
    probe: NodeProbe
    own: Running
    root: Running | None

    def answer(self) -> NodeAnswer:
        """Wait for the survey, and return the facts of the node, or why there are none."""
        root = self._ended(self.root) if self.root else None
        return self.probe.read(self.node, joined(self._ended(self.own), root))

    def run(self, command: Command) -> Transcript:
        """Run another command in the time that is left.

        Raises ``CommandTimedOut`` if none is left, and other errors of a transport.
        """
        if time.monotonic() >= self.until:
            raise CommandTimedOut("no time was left to read it", where=self.node)
        return self._ended(_started(self.session, replace(command, node=self.node), self.until))

    def _ended(self, running: Running) -> Transcript:
        """Return what a command has printed until its end or until the time is over.

        A command that waits for a device cannot be killed, and must not delay this process: the
        time limit on the node ends it as soon as the kernel allows.
        """
        running.line(_NO_LINE, max(0.0, self.until - time.monotonic()))
        if running.has_ended:
            return running.wait(_SETTLES_S)
        return replace(running.so_far(), error=CommandTimedOut.kind)


def begun(platform: Platform, cluster: Cluster, until: float) -> BegunSurvey:
    """Begin the survey of the one node of a cluster, which is this machine."""
    (node,) = cluster.nodes
    tag = f"node-{secrets.token_hex(6)}"
    session = connect(_LOCAL, node, Tag(tag, "main"))
    probe = NodeProbe(cluster, platform_stack(platform), secrets.token_hex(8))
    own = _started(session, replace(probe.own, node=node.name), until)
    as_root = replace(probe.as_root, node=node.name) if probe.as_root else None
    root = _started(session, as_root, until) if as_root else None
    return BegunSurvey(node.name, until, tag, session, probe, own, root)


def _started(session: Session, command: Command, until: float) -> Running:
    left_s = max(_LEAST_S, until - time.monotonic())
    return session.start(replace(command, time_limit_s=min(command.time_limit_s, left_s)))


_LEAST_S = 0.1

"""Asks each node what ``railgauge check`` shows: first about itself, then about other nodes.

Every wait has a time limit, and no node is waited for longer: one that does not answer leaves its
own cells empty and does not delay the others.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from typing import Any

from railgauge.config.thresholds import Platform
from railgauge.core.errors import (
    CommandTimedOut,
    Exhausted,
    NoEvidence,
    PortInUse,
    RailgaugeError,
    TransportError,
)
from railgauge.core.model import Cluster, Node, Transcript
from railgauge.core.progress import PROGRESS_OF_PROCESS
from railgauge.describing import names
from railgauge.describing.readiness import ask, needs, peers
from railgauge.describing.readiness.model import NodeSeen, NodesSeen, SeenByOther, SelfReport
from railgauge.facts import NodeAnswer, NodeFacts
from railgauge.leases.holder import LeaseAnswer, Unleasable, answer, beat_s, hold_command
from railgauge.planning.vendor import platform_stack
from railgauge.run.holding import allow_many_files, holder_here
from railgauge.run.survey import surveyed_again
from railgauge.stacks import Stack, stack
from railgauge.transport import Running, Session
from railgauge.transport.job import not_started
from railgauge.transport.registry import allots_nodes
from railgauge.transport.sessions import Sessions

_AT_ONCE = 64
# The limits below hold for all nodes together, up to this number of nodes; more nodes get more
# time.
_WITHIN_A_MINUTE = 128
_OWN_LIMIT_S, _LISTEN_LIMIT_S, _PEERS_LIMIT_S, _DROP_LIMIT_S = 34.0, 6.0, 14.0, 4.0
_PROBE_LIMIT_S = 28.0
_LEASE_LIMIT_S = 6.0
_OTHER_PORTS = (0, 101, 202)


def asked(
    cluster: Cluster,
    platform: Platform | None,
    planned: Sequence[str] | None,
    sessions: Sessions,
) -> NodesSeen:
    """Return what all nodes answered. ``planned`` are the programs of the platform's measurements.

    Raises ``KeyboardInterrupt`` after the commands on the nodes were ended.
    """
    allow_many_files()
    asking = _Asking(cluster, platform, planned, sessions)
    try:
        asking.each_by_itself()
        asking.each_about_others()
        return asking.site()
    finally:
        asking.leave()


@dataclass
class _Asking:
    cluster: Cluster
    platform: Platform | None
    planned: Sequence[str] | None
    sessions: Sessions
    _seen: dict[str, NodeSeen] = field(default_factory=dict)
    _run: str = field(default_factory=lambda: f"check-{secrets.token_hex(6)}")
    _has_left: bool = False
    _noting: threading.Lock = field(default_factory=threading.Lock)

    @property
    def _share(self) -> float:
        """The factor by which all time limits grow with more than ``_WITHIN_A_MINUTE`` nodes."""
        return max(1.0, len(self.cluster.nodes) / _WITHIN_A_MINUTE)

    def site(self) -> NodesSeen:
        known = {name: one.known for name, one in self._seen.items()}
        facts = {name: one for name, one in known.items() if one is not None}
        return NodesSeen(
            self.cluster,
            self.platform,
            self.planned,
            {node.name: self._seen[node.name] for node in self.cluster.nodes},
            self._renamed(facts),
            allots_nodes(self.cluster.transport),
        )

    def _renamed(self, facts: Mapping[str, NodeFacts]) -> Mapping[str, Mapping[str, str]]:
        found = names.differing(facts) if facts else {}
        declared = {name for of_node in found.values() for name in of_node}
        if self.platform:
            declared &= {nic.name for nic in self.platform.nics}
        both = names.joined(self.cluster.devices, found, declared)
        return {name: of_node for name, of_node in both.items() if name in found}

    # --- each node by itself ---

    def each_by_itself(self) -> None:
        nodes = [node.name for node in self.cluster.nodes]
        limit_s = _OWN_LIMIT_S * self._share
        self._at_once(self._about, nodes, limit_s, "have answered")
        late = CommandTimedOut(f"did not answer within {limit_s:.0f} s")
        with self._noting:
            for node in self.cluster.nodes:
                self._seen.setdefault(node.name, NodeSeen(node, refusal=late))

    def _about(self, name: str) -> None:
        """Ask one node about itself.

        If its later answers are late, the first ones count; late ones count too if they arrive
        before the other nodes are asked about this one.
        """
        node = self.cluster.node(name)
        try:
            session = self.sessions[name]
            one = self._answered(node, session)
        except RailgaugeError as error:
            if isinstance(error, Exhausted):
                raise
            one = NodeSeen(node, refusal=error)
        with self._noting:
            self._seen.setdefault(name, one)
        if one.self_report is None or self._has_left:
            return
        self._note(name, facts=self._facts(one.self_report, name, session))
        if not allots_nodes(self.cluster.transport) and not self._has_left:
            self._note(name, lease=self._lease(name, session))

    def _note(self, name: str, **changes: Any) -> None:
        with self._noting:
            self._seen[name] = replace(self._seen[name], **changes)

    def _facts(self, answers: SelfReport, name: str, session: Session) -> NodeAnswer:
        try:
            return surveyed_again(self.cluster, self._stack(answers), name, session, _PROBE_LIMIT_S)
        except NoEvidence as error:
            return error

    def _answered(self, node: Node, session: Session) -> NodeSeen:
        nonce = secrets.token_hex(8)
        asked_for = needs.asked_for(self.cluster, self.planned)
        command = replace(ask.command(self.cluster, asked_for, nonce), node=node.name)
        done, failed = session.run(command), None
        if refusal := not_started(done):
            failed = refusal
            done = session.run(replace(command, plain=True))
        if nonce not in done.stdout:
            return NodeSeen(node, session.entry, refusal=_unstarted(done))
        answers = ask.parsed(done, asked_for, nonce)
        return NodeSeen(node, session.entry, setup_failed=failed, self_report=answers)

    def _stack(self, answers: SelfReport) -> Stack | None:
        """The stack whose tools the probe asks: that of the platform file, else of the hardware."""
        if self.platform:
            return platform_stack(self.platform)
        vendor = needs.vendor_of(answers)
        return stack(vendor) if vendor else None

    def _lease(self, name: str, session: Session) -> LeaseAnswer | None:
        """Take the lease of a node and give it back, which shows who holds it."""
        who = holder_here("railgauge check", self._run)
        command = hold_command(name, self.cluster.rootfs, who, self._run, beat_s(1))
        try:
            running = session.start(command)
            try:
                return answer(running.first_line(_LEASE_LIMIT_S))
            finally:
                running.stop()
        except NoEvidence as error:
            return Unleasable(error.what)

    # --- each node about others ---

    def each_about_others(self) -> None:
        there = [name for name, one in self._in_order() if one.self_report is not None]
        if len(there) < 2:  # noqa: PLR2004 - a node and another one
            return
        ports = peers.ports(there, self.cluster.ports)
        listening: dict[str, Running] = {}

        def listen(name: str) -> None:
            ports[name], listening[name] = self._listening(name, ports[name])

        self._at_once(listen, there, _LISTEN_LIMIT_S * self._share, "listen")
        for name in list(listening):
            self._note(name, listens=True)
        others = peers.asked_of(there)
        found: dict[str, dict[str, SeenByOther]] = {}

        def look(name: str) -> None:
            seen = [self._seen[other] for other in others[name]]
            command = peers.asking(name, seen, ports)
            try:
                done = self.sessions[name].run(command)
            except NoEvidence:
                return
            found[name] = peers.found(done.stdout, seen)

        self._at_once(look, there, _PEERS_LIMIT_S * self._share, "have tried to reach others")
        for name, of_others in list(found.items()):
            for other, met in of_others.items():
                self._note(other, met={**self._seen[other].met, name: met})

    def _in_order(self) -> Iterable[tuple[str, NodeSeen]]:
        return ((node.name, self._seen[node.name]) for node in self.cluster.nodes)

    def _listening(self, name: str, port: int) -> tuple[int, Running]:
        """Return the port on which a node listens, and what does. Raises ``NoEvidence``."""
        for step in _OTHER_PORTS:
            running = self.sessions[name].start(peers.listening(name, port + step))
            try:
                running.wait_ready(_LISTEN_LIMIT_S)
            except PortInUse:
                continue
            return port + step, running
        raise PortInUse("the ports are taken", where=name)

    # --- all nodes ---

    def _at_once(
        self, act: Callable[[str], None], nodes: Sequence[str], limit_s: float, done: str
    ) -> None:
        """Act on all nodes; return when all have ended, or at the time limit.

        Raises an error that is not the fault of a node.
        """
        waiting, ended = SimpleQueue[str](), SimpleQueue[BaseException | None]()
        for node in nodes:
            waiting.put(node)

        def work() -> None:
            while not self._has_left:
                try:
                    node = waiting.get_nowait()
                except Empty:
                    return
                try:
                    act(node)
                    ended.put(None)
                except BaseException as error:
                    ended.put(None if isinstance(error, NoEvidence) else error)

        for _ in range(min(_AT_ONCE, len(nodes))):
            threading.Thread(target=work, daemon=True).start()
        arriving = _ended_within(limit_s, ended, len(nodes))
        for error in PROGRESS_OF_PROCESS.arriving(f"nodes that {done}:", arriving, len(nodes)):
            if error is not None:
                raise error

    def leave(self) -> None:
        """End all commands and close the connections, each in its own thread."""
        self._has_left = True
        open_ones = [node.name for node in self.cluster.nodes]
        threads = [
            threading.Thread(target=self._drop, args=(open_ones[at::_AT_ONCE],), daemon=True)
            for at in range(min(_AT_ONCE, len(open_ones)))
        ]
        for thread in threads:
            thread.start()
        until = time.monotonic() + _DROP_LIMIT_S * self._share
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _drop(self, nodes: Sequence[str]) -> None:
        for node in nodes:
            self.sessions.drop(node)


def _ended_within(
    limit_s: float, ended: SimpleQueue[BaseException | None], count: int
) -> Iterator[BaseException | None]:
    """Yield how each of so many nodes has ended, or those that have within the time limit."""
    until = time.monotonic() + limit_s
    for _ in range(count):
        try:
            yield ended.get(timeout=max(until - time.monotonic(), 0.0))
        except Empty:
            return


def _unstarted(done: Transcript) -> TransportError:
    why = f": {done.stderr.strip()[-200:]}" if done.stderr.strip() else ""
    how = done.error or f"it ended with {done.exit_code}"
    what = f"the login does not start a command ({how}){why}"
    return TransportError(what, where=done.node, remedy="log in by hand: what starts there?")

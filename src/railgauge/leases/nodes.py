"""Leases on the nodes themselves: no two runs on a node at once, whichever user starts them.

All nodes are asked at the same time. If some are taken, a run waits for the first of them (in
sorted order) and meanwhile keeps only the leases before it. So no run waits for a node while it
holds a later one, and two runs can never wait for each other.

With the nodes n1, n2 and n3, of which n2 is taken, the run keeps n1, releases n3, waits for n2, and
then asks n3 again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from railgauge.core.errors import BadInput, ConnectionLost, NoEvidence
from railgauge.core.model import Command
from railgauge.leases.holder import (
    PART,
    Held,
    Holder,
    LeaseAnswer,
    Taken,
    Unleasable,
    answer,
    beat_s,
    hold_command,
    release_command,
    sweep_command,
)
from railgauge.transport import Running, Tell
from railgauge.transport.sessions import Sessions

_AT_ONCE = 64
_ANSWER_LIMIT_S = 30.0
_END_LIMIT_S = 5.0
_POLL_S = 0.5
# If two runs start at the same moment, one of them releases what the other wants within this time.
_GRACE_S = 2.0
_MOST_NAMED = 3

T = TypeVar("T")
R = TypeVar("R")


class NodeTaken(BadInput):
    """Another run holds a node; nothing was measured."""

    kind = "node-taken"


class NamedTwice(NodeTaken):
    """This run itself holds the node: it is one machine under two names of the hostfile."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The settings that all leases of a run share."""

    holder: Holder
    rootfs: str = "/"
    engines: tuple[str, ...] = ()

    @property
    def run(self) -> str:
        """The prefix of all tags of the run."""
        return self.holder.tag


@dataclass
class NodeLeases:
    """The leases of one run. ``tell`` gets the lines that the user should see."""

    sessions: Sessions
    terms: Terms
    tell: Tell
    _held: dict[str, Running] = field(default_factory=dict)
    _processes: dict[str, int] = field(default_factory=dict)  # on each node, of its last holder
    _reached: set[str] = field(default_factory=set)
    _beat_s: float = 0.0

    def take(self, nodes: Iterable[str], wait_s: float = 0.0) -> None:
        """Hold the leases of all ``nodes`` that can be reached.

        Raises ``NodeTaken`` if a node is still taken after ``wait_s`` seconds; no lease is held
        then. The survey reports nodes that cannot be reached. ``tell`` gets a line for each node
        that cannot be leased.
        """
        wanted = sorted(set(nodes))
        self._beat_s = beat_s(len(wanted))
        deadline, shown = time.monotonic() + max(wait_s, _GRACE_S), ""
        while taken := _taken(self._ask(wanted)):
            self._refuse_own(taken)
            first = next(iter(taken))
            self._release_some(node for node in wanted if node > first)
            if wait_s and shown != (shown := _holders(taken)):
                self.tell(f"lease: waiting up to {wait_s:g} s for {shown}")
            if not self._comes_free(first, deadline):
                self._release_some(list(self._held))
                raise _refusal(taken, wait_s)
            wanted = [node for node in wanted if node > first]

    def _refuse_own(self, taken: dict[str, Taken]) -> None:
        """Raise ``NamedTwice`` if this run itself holds one of the taken nodes."""
        run = self.terms.run
        own = [n for n, reply in taken.items() if reply.holder and reply.holder.tag == run]
        if own:
            self._release_some(list(self._held))
            raise NamedTwice(
                "this run already holds this machine under another name",
                where=", ".join(own[:_MOST_NAMED]),
                remedy="keep only one of its names in the hostfile",
            )

    def renew(self) -> None:
        """Take the leases again whose connection was lost.

        Raises ``NodeTaken`` if another run has one now. A node that can no longer be reached has
        no lease; the next measurement there reports it.
        """
        for node in [node for node, running in self._held.items() if running.has_ended]:
            if self._held.pop(node, None) is None:  # released meanwhile
                continue
            self.tell(f"lease: {node}: the connection was lost; taking the lease again")
            # The node may not have noticed the loss, so that the old script still holds the lease.
            self._end_all(sweep_command(node, self.terms.run, PART, self.terms.engines))
            reply = self._ask([node])[node]
            if isinstance(reply, Taken):
                raise _refusal({node: reply}, 0.0)

    def release(self) -> None:
        """End all processes of the run on every node, release it, and close the connection."""
        _at_once(self._leave, self._reached)
        self._held.clear()
        self._reached.clear()

    # --- one node ---

    def _ask_one(self, node: str) -> LeaseAnswer | None:
        """Ask for the lease of a node; ``None`` if it cannot be reached."""
        terms = self.terms
        command = hold_command(
            *(node, terms.rootfs, terms.holder, terms.run, self._beat_s), engines=terms.engines
        )
        try:
            reply = self._reply_to(command)
        except NoEvidence:
            return None
        if isinstance(reply, Unleasable) and node not in self._reached:
            self.tell(f"lease: {node}: cannot be leased, so other runs may use it: {reply.why}")
        self._reached.add(node)
        return reply

    def _reply_to(self, command: Command) -> LeaseAnswer:
        running = self.sessions[command.node].start(command)
        try:
            with self.sessions.waits.at(command.node, "its lease"):
                reply = answer(running.first_line(_ANSWER_LIMIT_S))
        except ConnectionLost:
            raise
        except NoEvidence as error:
            reply = Unleasable(error.what)
        if isinstance(reply, Held):
            self._held[command.node] = running
            self._processes[command.node] = reply.process
        else:
            running.wait(_END_LIMIT_S)
        return reply

    def _comes_free(self, node: str, deadline: float) -> bool:
        """Wait until a taken node is ours or out of reach; return false at the deadline."""
        with self.sessions.waits.at(node, "the lease of another run"):
            while time.monotonic() < deadline:
                time.sleep(_POLL_S)
                if not isinstance(self._ask_one(node), Taken):
                    return True
        return False

    def _end_all(self, command: Command) -> None:
        node = command.node
        try:
            done = self.sessions[node].run(command)
        except NoEvidence:
            return  # the node is out of reach; the lease script there ends the processes
        if done.exit_code == 1:
            self.tell(f"lease: {node}: some processes of this run could not be ended")

    def _leave(self, node: str) -> None:
        process = self._processes.pop(node, 0)
        self._end_all(release_command(node, self.terms.run, process, self.terms.engines))
        self.sessions.drop(node)

    # --- many nodes ---

    def _ask(self, nodes: Sequence[str]) -> dict[str, LeaseAnswer | None]:
        return dict(zip(nodes, _at_once(self._ask_one, nodes), strict=True))

    def _release_some(self, nodes: Iterable[str]) -> None:
        held = [running for node in nodes if (running := self._held.pop(node, None))]
        _at_once(lambda running: running.stop(), held)


def _at_once(act: Callable[[T], R], things: Iterable[T]) -> list[R]:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(act, tuple(things)))


def _taken(answers: dict[str, LeaseAnswer | None]) -> dict[str, Taken]:
    return {node: reply for node, reply in answers.items() if isinstance(reply, Taken)}


def _holders(taken: dict[str, Taken]) -> str:
    named = [f"{node}, held by {reply}" for node, reply in list(taken.items())[:_MOST_NAMED]]
    more = [f"and {len(taken) - _MOST_NAMED} more"] if len(taken) > _MOST_NAMED else []
    return "; ".join([*named, *more])


def _refusal(taken: dict[str, Taken], waited_s: float) -> NodeTaken:
    (node, reply), *others = taken.items()
    more = f"; {len(others)} more of the nodes are taken" if others else ""
    waited = f" after {waited_s:g} s" if waited_s else ""
    return NodeTaken(
        f"held by {reply}{waited}{more}",
        where=node,
        remedy="wait longer: --wait SECONDS" if waited_s else "wait for it: --wait SECONDS",
    )

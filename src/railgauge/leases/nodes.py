"""Leases on the nodes themselves: no two runs at once on a node, whoever starts them.

All nodes are asked at the same time. Where some are taken, only the leases before the first of them
(in sorted order) are kept while it is waited for: nobody waits for a node while holding one that
comes after it, so that two runs can never wait for each other.
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
    sweep_command,
)
from railgauge.transport import Running
from railgauge.transport.sessions import Sessions

_AT_ONCE = 64
_ANSWER_LIMIT_S = 30.0
_END_LIMIT_S = 5.0
_POLL_S = 0.5
# Of two runs that start at the same moment, one lets go of what the other wants within this time.
_GRACE_S = 2.0
_MOST_NAMED = 3

Tell = Callable[[str], None]
T = TypeVar("T")
R = TypeVar("R")


class NodeTaken(BadInput):
    """Somebody else holds a node; nothing was measured."""

    kind = "node-taken"


class NamedTwice(NodeTaken):
    """The holder is this very run: the node is another one of it under a second name."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What all leases of a run have in common."""

    holder: Holder
    rootfs: str = "/"

    @property
    def run(self) -> str:
        """How the tags of the run begin."""
        return self.holder.tag


@dataclass
class NodeLeases:
    """The leases of one run. ``tell`` is given a line for whoever watches."""

    sessions: Sessions
    terms: Terms
    tell: Tell
    _held: dict[str, Running] = field(default_factory=dict)
    _reached: set[str] = field(default_factory=set)
    _beat_s: float = 0.0

    def take(self, nodes: Iterable[str], wait_s: float = 0.0) -> None:
        """Hold all ``nodes`` that can be reached. Raises ``NodeTaken`` after ``wait_s`` seconds.

        None is held then. Who cannot be reached is left to the survey; who has no lock is told.
        """
        wanted = sorted(set(nodes))
        self._beat_s = beat_s(len(wanted))
        deadline, told = time.monotonic() + max(wait_s, _GRACE_S), ""
        while taken := _taken(self._ask(wanted)):
            self._refuse_own(taken)
            first = next(iter(taken))
            self._let_go(node for node in wanted if node > first)
            if wait_s and told != (told := _who(taken)):
                self.tell(f"lease: waiting up to {wait_s:g} s for {told}")
            if not self._comes_free(first, deadline):
                self._let_go(list(self._held))
                raise _refusal(taken, wait_s)
            wanted = [node for node in wanted if node > first]

    def _refuse_own(self, taken: dict[str, Taken]) -> None:
        """A node that this very run holds is one that has another name as well."""
        own = [n for n, said in taken.items() if said.holder and said.holder.tag == self.terms.run]
        if own:
            self._let_go(list(self._held))
            raise NamedTwice(
                "is a machine that this run holds already, under another name",
                where=", ".join(own[:_MOST_NAMED]),
                remedy="keep one of its names in the hostfile",
            )

    def renew(self) -> None:
        """Take leases again whose connection was lost. Raises ``NodeTaken`` if another has one.

        A node that cannot be reached any more keeps none; those who measure there find out.
        """
        for node in [node for node, running in self._held.items() if running.has_ended]:
            del self._held[node]
            self.tell(f"lease: {node}: lost, and taken again")
            self._sweep(node, PART)  # of a connection that the node believes to be alive
            said = self._ask([node])[node]
            if isinstance(said, Taken):
                raise _refusal({node: said}, 0.0)

    def sweep(self, part: str) -> None:
        """End what a part of the run that died has left on the nodes."""
        _at_once(lambda node: self._sweep(node, part), self._reached)

    def release(self) -> None:
        """End what is left of the run on every node, let go of it, and close the connection."""
        _at_once(self._leave, self._reached)
        self._held.clear()
        self._reached.clear()

    # --- one node ---

    def _try(self, node: str) -> LeaseAnswer | None:
        """Ask for the lease of a node; ``None`` if it cannot be reached."""
        terms = self.terms
        command = hold_command(node, terms.rootfs, terms.holder, terms.run, self._beat_s)
        try:
            said = self._asked(command)
        except NoEvidence:
            return None
        if isinstance(said, Unleasable) and node not in self._reached:
            self.tell(f"lease: {node}: cannot be leased, others may use it as well: {said.why}")
        self._reached.add(node)
        return said

    def _asked(self, command: Command) -> LeaseAnswer:
        running = self.sessions[command.node].start(command)
        try:
            said = answer(running.first_line(_ANSWER_LIMIT_S))
        except ConnectionLost:
            raise
        except NoEvidence as error:
            said = Unleasable(error.what)
        if isinstance(said, Held):
            self._held[command.node] = running
        else:
            running.wait(_END_LIMIT_S)
        return said

    def _comes_free(self, node: str, deadline: float) -> bool:
        """Whether a taken node is ours, or out of the question, before the deadline."""
        while time.monotonic() < deadline:
            time.sleep(_POLL_S)
            if not isinstance(self._try(node), Taken):
                return True
        return False

    def _sweep(self, node: str, part: str) -> None:
        try:
            done = self.sessions[node].run(sweep_command(node, self.terms.run, part))
        except NoEvidence:
            return  # the node is out of reach; its lease holder sees to it there
        if done.exit_code == 1:
            self.tell(f"lease: {node}: processes of this run could not be ended")

    def _leave(self, node: str) -> None:
        self._sweep(node, "")
        self.sessions.drop(node)

    # --- many nodes ---

    def _ask(self, nodes: Sequence[str]) -> dict[str, LeaseAnswer | None]:
        return dict(zip(nodes, _at_once(self._try, nodes), strict=True))

    def _let_go(self, nodes: Iterable[str]) -> None:
        held = [running for node in nodes if (running := self._held.pop(node, None))]
        _at_once(lambda running: running.stop(), held)


def _at_once(act: Callable[[T], R], things: Iterable[T]) -> list[R]:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(act, tuple(things)))


def _taken(answers: dict[str, LeaseAnswer | None]) -> dict[str, Taken]:
    return {node: said for node, said in answers.items() if isinstance(said, Taken)}


def _who(taken: dict[str, Taken]) -> str:
    named = [f"{node}, held by {said}" for node, said in list(taken.items())[:_MOST_NAMED]]
    more = [f"and {len(taken) - _MOST_NAMED} more"] if len(taken) > _MOST_NAMED else []
    return "; ".join([*named, *more])


def _refusal(taken: dict[str, Taken], waited_s: float) -> NodeTaken:
    (node, said), *others = taken.items()
    more = f", and {len(others)} more of the nodes are taken" if others else ""
    waited = f" after {waited_s:g} s" if waited_s else ""
    return NodeTaken(
        f"held by {said}{waited}{more}",
        where=node,
        remedy="wait longer: --wait SECONDS" if waited_s else "wait for it: --wait SECONDS",
    )

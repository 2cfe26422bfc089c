"""Launchers whose daemons the suite starts, so that no node has to log in to another.

mpirun and mpiexec start a daemon on every other node by a remote agent, which is usually ssh. Here
the agent is a script that hands the command to a desk, a second script on the first node. The suite
reads the desk's output and runs the command over its own connection to the node::

    mpirun -> agent -> desk -> suite -> node      orted …
    mpirun <- agent <- (a FIFO) <- suite <- node  its output and exit code

A daemon is a command like any other: it carries the tag of the run, has a time limit on its node,
and is ended by its group. If the launcher runs in a container, so does each daemon; the launcher's
container also has the folder of the agent and the desk.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.resources import files

from railgauge.containers import engine
from railgauge.core.errors import NoEvidence, ToolFailed
from railgauge.core.model import Command, Container, Transcript
from railgauge.launchers import through
from railgauge.transport import InVain, Running, never
from railgauge.transport.job import GRACE_S
from railgauge.transport.sessions import Sessions

_READY_LIMIT_S = 30.0
_ANSWER_LIMIT_S = 30.0
_LOOK_S = 0.05  # between two looks at what has ended
_LEAVE_S = 3.0  # for daemons to end by themselves after their launcher
_AT_ONCE = 64
_SSH_FAILED = 255  # the exit code of ssh for a connection that failed
_LONGEST = 4000  # characters of a daemon's output; one line names its error
_MOST_ANSWERS = 8  # in one command, whose line has a limited length

_REQUEST = re.compile(r"start ([0-9]{1,10}) (\S{1,255}) ((?:[0-9a-f]{2})+)")


@dataclass(frozen=True, slots=True)
class DaemonRequest:
    """The command ``text``, for a shell on the node at ``host``, that the agent ``agent`` asks for.

    ``start 4711 10.0.0.2 6f72746564`` asks for ``orted`` on ``10.0.0.2``.
    """

    agent: str
    host: str
    text: str


def request(line: str) -> DaemonRequest | None:
    """Parse a line of the desk; ``None`` for any other text. It comes from a node."""
    found = _REQUEST.fullmatch(line)
    if found is None:
        return None
    text = bytes.fromhex(found[3]).decode("utf-8", "surrogateescape")
    return None if "\0" in text else DaemonRequest(found[1], found[2], text)


def run(sessions: Sessions, command: Command, in_vain: InVain = never) -> Transcript:
    """Run a launcher to its end, and the daemons that it asks for on the nodes of its launch.

    It is stopped if it is ``in_vain``.

    A command without ``daemons_on`` is run like any other. Raises ``NoEvidence`` if a node of the
    launch cannot be reached; see ``Session.run`` for the rest.
    """
    if not command.daemons_on:
        return sessions[command.node].run(command, in_vain)
    for node in dict.fromkeys(command.daemons_on.values()):
        sessions[node]  # a node that is out of reach is named here, before anything is started
    with _desk(sessions, command) as (desk, folder):
        # The values of the hostfile or platform have precedence.
        environment = {**through(f"{folder}/agent"), **command.environment}
        box = _showing(folder, command.container)
        launcher = sessions[command.node].start(
            replace(command, environment=environment, container=box)
        )
        daemons = _Daemons(sessions, command, desk, folder)
        try:
            with sessions.waits.of_tool(command.node, command.argv):
                done = daemons.serve(launcher, in_vain)
            daemons.leave(0.0 if done.error else _LEAVE_S)
        finally:
            launcher.stop()
            daemons.leave(0.0)
    # The transcript's command must be repeatable: the folder of the agent differs from run to run.
    return replace(done, environment=command.environment)


def _showing(folder: str, box: Container | None) -> Container | None:
    """Return the launcher's container with the folder of the agent in it."""
    if box is None:
        return None
    return replace(box, options=(*box.options, *engine(box.engine).binding(folder)))


@contextmanager
def _desk(sessions: Sessions, command: Command) -> Iterator[tuple[Running, str]]:
    """Give the desk on the first node and its folder; both are gone when the block ends."""
    argv = ("sh", "-c", _text("desk.sh"), "railgauge", _text("agent.sh"))
    limit_s = command.time_limit_s + GRACE_S + _READY_LIMIT_S
    desk = sessions[command.node].start(
        Command(command.node, argv, {"LC_ALL": "C"}, limit_s, plain=True)
    )
    try:
        line = desk.first_line(_READY_LIMIT_S)
        word, _, folder = line.partition(" ")
        if word != "ready":
            remedy = "make /tmp writable on this node, or set launch: ssh in the hostfile"
            what = f"launch: through-suite: {line[:200]}"
            raise ToolFailed(what, where=command.node, remedy=remedy)
        yield desk, folder
    finally:
        desk.stop()


class _Daemons:
    """The daemons of one launch, by the agents that wait for them."""

    def __init__(self, sessions: Sessions, command: Command, desk: Running, folder: str) -> None:
        self._sessions = sessions
        self._command = command
        self._desk = desk
        self._folder = folder
        self._served = 1  # lines of the desk; the first is its "ready"
        self._running: dict[str, Running] = {}

    def serve(self, launcher: Running, in_vain: InVain) -> Transcript:
        """Start what the desk asks for until the launcher has ended; return its transcript."""
        until = time.monotonic() + self._command.time_limit_s + GRACE_S
        while not (launcher.has_ended or self._desk.has_ended) and time.monotonic() < until:
            line = self._desk.line(self._served, _LOOK_S)
            if line is not None:
                self._served += 1
                self._answer(self._started(line))
            self._answer(self._ended())
            if in_vain():
                return launcher.stop()
        return launcher.wait(max(until - time.monotonic(), 0.0))

    def leave(self, patience_s: float) -> None:
        """End all daemons: those that do not end by themselves in ``patience_s`` are stopped."""
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline and not all(r.has_ended for r in self._running.values()):
            time.sleep(_LOOK_S)
        left, self._running = list(self._running.values()), {}
        if left:
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                list(pool.map(lambda running: running.stop(), left))

    def _started(self, line: str) -> dict[str, tuple[int, str, str]]:
        """Start a daemon; return the answer to its agent if it could not be started."""
        asked = request(line)
        if asked is None:
            return {}
        try:
            node = self._node(asked.host)
            argv = ("sh", "-c", _text("daemon.sh"), "railgauge", asked.text)
            limit_s = self._command.time_limit_s + GRACE_S
            daemon = Command(node, argv, time_limit_s=limit_s, container=self._command.container)
            running = self._sessions[node].start(daemon)
        except NoEvidence as error:
            return {asked.agent: (_SSH_FAILED, "", f"railgauge: launch: {error}\n")}
        self._running[asked.agent] = running
        return {}

    def _node(self, host: str) -> str:
        """Return the node of a launch at ``host``; Open MPI may leave out the domain of a name."""
        known: Mapping[str, str] = self._command.daemons_on
        short = [node for name, node in known.items() if name.partition(".")[0] == host]
        if host in known or len(short) == 1:
            return known.get(host) or short[0]
        raise ToolFailed(f"{host} is not a node of this launch", where=self._command.node)

    def _ended(self) -> dict[str, tuple[int, str, str]]:
        """Return the answers to the agents whose daemons have ended."""
        agents = [agent for agent, running in self._running.items() if running.has_ended]
        return {agent: _exit_and_output(self._running.pop(agent).wait(GRACE_S)) for agent in agents}

    def _answer(self, answers: Mapping[str, tuple[int, str, str]]) -> None:
        for some in _batches(list(answers.items()), _MOST_ANSWERS):
            words = (word for agent, (code, *texts) in some for word in (agent, str(code), *texts))
            argv = ("sh", "-c", _text("answer.sh"), "railgauge", self._folder, *words)
            node = self._command.node
            self._sessions[node].run(
                Command(node, argv, {"LC_ALL": "C"}, _ANSWER_LIMIT_S, plain=True)
            )


def _exit_and_output(ended: Transcript) -> tuple[int, str, str]:
    """Return the exit code, stdout and stderr of a daemon, as its agent passes them on."""
    code = _SSH_FAILED if ended.exit_code is None else ended.exit_code
    why = f"\nrailgauge: launch: {ended.node}: the daemon ended: {ended.error}\n"
    texts = [text.replace("\0", "?")[-_LONGEST:] for text in (ended.stdout, ended.stderr)]
    return code, texts[0], texts[1] + (why if ended.error else "")


def _batches(
    things: Sequence[tuple[str, tuple[int, str, str]]], size: int
) -> Iterable[Sequence[tuple[str, tuple[int, str, str]]]]:
    return (things[at : at + size] for at in range(0, len(things), size))


def _text(name: str) -> str:
    return files("railgauge.transport.relay").joinpath(name).read_text(encoding="utf-8")

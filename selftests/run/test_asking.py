"""Nodes that are asked for ``railgauge check``: one that hangs or prints endlessly affects only
its own cells, and no process stays on a node."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from testing import programs
from testing.throwaway_sshd import SshServer, start_server
from testing.waiting import wait_until

from railgauge.core.errors import CommandTimedOut, NodeUnreachable
from railgauge.core.model import Cluster, Command, Node, Transcript
from railgauge.core.progress import PROGRESS_OF_PROCESS
from railgauge.describing.readiness.model import CellState, NodesSeen
from railgauge.describing.readiness.table import cells
from railgauge.leases.holder import Held
from railgauge.run import asking
from railgauge.transport import InVain, Session, capture, never
from railgauge.transport.registry import connect
from railgauge.transport.sessions import Sessions

SLEEP = "sleep 71.3071"


@pytest.fixture(autouse=True)
def whole_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests ask this machine for whatever it has, also where no login set ``SHELL``."""
    monkeypatch.setenv("PATH", programs.machine())
    monkeypatch.delenv("SHELL", raising=False)


def cluster(*nodes: Node, transport: str = "local") -> Cluster:
    return Cluster("c", "unnamed", transport, nodes, "c.yaml")


def node(name: str, **changes: object) -> Node:
    return Node(name, "127.0.0.1", "127.0.0.1", **changes)  # type: ignore[arg-type]


@contextmanager
def reached(
    of: Cluster, how: Callable[[Node], Session] = lambda node: connect("local", node)
) -> Iterator[Sessions]:
    sessions = Sessions(of, how)
    try:
        yield sessions
    finally:
        sessions.close()


def asked(of: Cluster, sessions: Sessions) -> NodesSeen:
    return asking.asked(of, None, None, sessions)


def sleeping() -> bool:
    """Whether a process of these tests is there."""
    lines = (one.read_bytes() for one in Path("/proc").glob("[0-9]*/cmdline") if one.exists())
    try:
        return any(line.replace(b"\0", b" ").strip() == SLEEP.encode() for line in lines)
    except (FileNotFoundError, ProcessLookupError):
        return sleeping()


class Hung:
    """A session that never answers; it ends like any when it is closed."""

    entry = None
    lost = ""

    def __init__(self) -> None:
        self.closed = threading.Event()

    def run(self, command: object, in_vain: InVain = never) -> None:
        self.closed.wait(60)
        raise CommandTimedOut("closed")

    def start(self, command: object) -> None:
        self.run(command)

    def close(self) -> None:
        self.closed.set()


def test_all_waits_for_128_nodes_are_less_than_a_minute() -> None:
    limits = (
        *(asking._OWN_LIMIT_S, asking._LISTEN_LIMIT_S),
        *(asking._PEERS_LIMIT_S, asking._DROP_LIMIT_S),
    )
    assert sum(limits) < 60


def test_this_machine_is_asked_and_its_lease_is_given_back() -> None:
    of = cluster(node("n01"))
    with reached(of) as sessions:
        found = asked(of, sessions)
    one = found.seen["n01"]
    assert one.self_report
    assert one.self_report.shell
    assert one.known
    assert one.known.clock_offset_s is not None
    assert isinstance(one.lease, Held)
    assert not any(Path("/run/lock/railgauge").glob("*"))
    assert cells(found)["n01"]["reach"].found == "this machine"


def test_a_node_that_never_answers_costs_its_own_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "_OWN_LIMIT_S", 6.0)
    of = cluster(node("n01"), node("n02"), node("n03"))

    def how(node: Node) -> Session:
        if node.name == "n03":
            raise NodeUnreachable("no route", where=node.name)
        return Hung() if node.name == "n02" else connect("local", node)  # type: ignore[return-value]

    began = time.monotonic()
    with reached(of, how) as sessions, ThreadPoolExecutor(1) as beside:
        counted = beside.submit(wait_until, has_counted_two, 20, "the count")
        found = cells(asked(of, sessions))
        assert counted.result()
    assert time.monotonic() - began < 30
    assert found["n02"]["reach"].found == "did not answer within 6 s"
    assert found["n03"]["reach"].found == "no route"
    assert found["n01"]["gpus"].state is not CellState.UNKNOWN


def has_counted_two() -> bool:
    return str(PROGRESS_OF_PROCESS) == "nodes that have answered: 2 of 3"


class Late:
    """A local session whose command number ``of`` waits for ``begin``, and says when it is done."""

    def __init__(self, of: int, begin: threading.Event, done: threading.Event) -> None:
        self._inner = connect("local", node("n"))
        self._left, self._begin, self._done = of, begin, done

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def run(self, command: Command, in_vain: InVain = never) -> Transcript:
        self._left -= 1
        if self._left:
            return self._inner.run(command, in_vain)
        self._begin.wait(20)
        try:
            return self._inner.run(command, in_vain)
        finally:
            self._done.set()


def test_facts_that_come_late_take_nothing_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """The probe of n01 ends while n02, in its third command, asks for n01."""
    monkeypatch.setattr(asking, "_OWN_LIMIT_S", 4.0)
    begin, probed = threading.Event(), threading.Event()
    sessions_of = {"n01": Late(2, begin, probed), "n02": Late(3, probed, threading.Event())}
    monkeypatch.setattr(asking.peers, "asked_of", lambda nodes: (begin.set(), ASKED)[1])
    of = cluster(node("n01"), node("n02"))
    with reached(of, lambda node: sessions_of[node.name]) as sessions:  # type: ignore[return-value]
        one = asked(of, sessions).seen["n01"]
    assert one.known
    assert one.listens
    assert list(one.met) == ["n02"]


ASKED = {"n01": (), "n02": ("n01",)}


def test_a_line_of_setup_that_fails_leaves_the_rest_known() -> None:
    of = cluster(node("n01", setup=("no-such-command",)))
    with reached(of) as sessions:
        found = cells(asked(of, sessions))["n01"]
    assert found["shell"].state is CellState.MEND
    assert "no-such-command" in found["shell"].found
    assert found["root"].state is not CellState.UNKNOWN


def test_an_interrupt_ends_what_runs_on_the_nodes() -> None:
    of = cluster(node("n01", setup=(SLEEP,)), node("n02", setup=(SLEEP,)))

    main = threading.main_thread().ident
    assert main

    def interrupt() -> None:
        wait_until(sleeping, 20, "the command runs")
        signal.pthread_kill(main, signal.SIGINT)

    with reached(of) as sessions, ThreadPoolExecutor(1) as beside:
        beside.submit(interrupt)
        with pytest.raises(KeyboardInterrupt):
            asked(of, sessions)
    wait_until(lambda: not sleeping(), 20, "the command has ended")


@pytest.fixture
def endless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SshServer]:
    monkeypatch.setattr(capture, "OUTPUT_LIMIT_BYTES", 1 << 17)  # 8 MiB take seconds here
    server = start_server(tmp_path)
    yield server
    server.vanish()
    server.stop()


def test_a_login_that_prints_without_end_is_named(endless: SshServer) -> None:
    of = cluster(endless.node(), transport="ssh")
    endless.login_shell = ("sh", "-c", "exec yes", "sh")
    with reached(of, lambda node: connect("ssh", node)) as sessions:
        found = cells(asked(of, sessions))["n01"]
    assert list(found) == ["reach"]
    assert "does not start a command (output-too-large)" in found["reach"].found

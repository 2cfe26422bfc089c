"""Broken connections: what is reopened, what is waited for, and what never runs twice."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from testing.core_values import cluster, transcript
from testing.fake_sessions import Fakes

from railgauge.core.errors import AuthenticationFailed, ConnectionLost, NodeUnreachable
from railgauge.core.model import Command
from railgauge.transport import sessions as module
from railgauge.transport.sessions import Sessions

COMMAND = Command("n1", ("true",))


class Clock:
    """A clock that advances only when the code sleeps."""

    def __init__(self, fakes):
        self.now_s, self.back_at_s, self.fakes = 0.0, float("inf"), fakes

    def monotonic(self):
        return self.now_s

    def sleep(self, seconds):
        self.now_s += seconds
        if self.now_s >= self.back_at_s:
            self.fakes.unreachable.clear()


@pytest.fixture
def fakes():
    return Fakes()


@pytest.fixture
def clock(fakes, monkeypatch):
    made = Clock(fakes)
    monkeypatch.setattr(module, "time", made)
    return made


@pytest.fixture
def sessions(fakes, clock):
    return Sessions(cluster("n1", "n2"), fakes.connect)


def lose(fakes, sessions, node="n1"):
    """The node was there and is gone."""
    sessions[node].run(COMMAND)
    fakes.unreachable.add(node)
    fakes.reports = [ConnectionLost("the connection is gone", where=node)]


def test_a_connection_that_is_found_dead_is_opened_anew(fakes, sessions):
    sessions["n1"].run(COMMAND)
    fakes.reports = [ConnectionLost("gone")]
    assert sessions["n1"].run(COMMAND).exit_code == 0
    assert [e[0] for e in fakes.log] == ["connect", "run", "run", "close", "connect", "run"]


def test_a_server_too_is_started_on_a_new_connection(fakes, sessions):
    first = sessions["n1"]
    fakes.start_error = ConnectionLost("gone")
    with pytest.raises(ConnectionLost):  # the second one is dead as well: that is no coincidence
        first.start(COMMAND)
    assert len(fakes.done("connect")) == 2
    fakes.start_error = None
    first.start(COMMAND)
    assert fakes.running == 1


def test_a_command_that_was_running_is_not_run_again(fakes, sessions):
    fakes.reports = [transcript("n1", exit_code=None, error="connection-lost")]
    assert sessions["n1"].run(COMMAND).error == "connection-lost"
    assert len(fakes.done("run")) == 1


@pytest.mark.parametrize("away_s", [3.0, 119.0])
def test_a_node_that_was_there_is_waited_for(fakes, sessions, clock, away_s):
    lose(fakes, sessions)
    clock.back_at_s = away_s
    assert sessions["n1"].run(COMMAND).exit_code == 0
    assert clock.now_s == away_s


def test_patience_ends_and_is_spent_once(fakes, sessions, clock):
    lose(fakes, sessions)
    with pytest.raises(NodeUnreachable, match=r"no route; tried for 120 s") as caught:
        sessions["n1"].run(COMMAND)
    assert caught.value.where == "n1"
    tried = len(fakes.done("connect"))
    fakes.unreachable.clear()
    with pytest.raises(NodeUnreachable):
        sessions["n1"].run(COMMAND)
    sessions.drop("n1")
    with pytest.raises(NodeUnreachable):
        sessions["n1"].run(COMMAND)
    assert len(fakes.done("connect")) == tried
    assert clock.now_s == 120


def test_patience_is_for_the_whole_run(fakes, sessions, clock):
    """An intermittent node does not delay the others forever."""
    for away_s in (50, 50):
        lose(fakes, sessions)
        clock.back_at_s = clock.now_s + away_s
        sessions["n1"].run(COMMAND)
    lose(fakes, sessions)
    clock.back_at_s = clock.now_s + 50
    with pytest.raises(NodeUnreachable, match="tried for 20 s"):
        sessions["n1"].run(COMMAND)


def test_an_interrupt_ends_the_wait_for_a_node(fakes, sessions, clock):
    lose(fakes, sessions)
    with ExitStack() as ending:

        def sleep(seconds):
            clock.now_s += seconds
            if clock.now_s == 3:
                ending.enter_context(sessions.interrupted())

        clock.sleep = sleep
        with pytest.raises(KeyboardInterrupt):
            sessions["n1"].run(COMMAND)
    assert clock.now_s == 3


def test_two_threads_that_need_a_node_open_one_connection(fakes, sessions):
    both = threading.Barrier(2)

    def session():
        both.wait()
        return sessions["n1"]

    with ThreadPoolExecutor(2) as threads:
        one, other = (threads.submit(session) for _ in range(2))
        assert one.result() is other.result()
    assert len(fakes.done("connect")) == 1


def test_a_node_that_never_was_there_is_not_waited_for(fakes, sessions, clock):
    fakes.unreachable = {"n2"}
    with pytest.raises(NodeUnreachable):
        _ = sessions["n2"]
    assert clock.now_s == 0


def test_a_node_that_another_worker_reached_is_waited_for(fakes, clock):
    sessions = Sessions(cluster("n1"), fakes.connect, was_there=lambda node: node == "n1")
    fakes.unreachable = {"n1"}
    clock.back_at_s = 60
    assert sessions["n1"].run(COMMAND).exit_code == 0
    assert clock.now_s == 60


def test_no_node_is_waited_for_in_a_hurry(fakes, sessions, clock):
    """A caller that is already waiting opens none either."""
    lose(fakes, sessions)
    clock.back_at_s, sleep = 60, clock.sleep

    def hurried(seconds):
        sleep(seconds)
        if clock.now_s == 10:
            sessions.hurry()

    clock.sleep = hurried
    with pytest.raises(NodeUnreachable, match="tried for 10 s"):
        sessions["n1"].run(COMMAND)
    assert clock.now_s == 10


def test_threads_that_find_one_connection_dead_open_one(fakes, sessions):
    one = sessions["n1"]
    together = threading.Barrier(4)

    def dead(command, in_vain):
        together.wait(10)
        raise ConnectionLost("gone")

    one._session.run = dead
    with ThreadPoolExecutor(4) as pool:
        assert [r.exit_code for r in pool.map(one.run, [COMMAND] * 4)] == [0] * 4
    assert len(fakes.done("connect")) == 2


def test_a_login_that_is_refused_is_not_tried_again(fakes, clock):
    def connect(node):
        session = fakes.connect(node)
        if len(fakes.done("connect")) > 1:
            raise AuthenticationFailed("no", where="n1")
        return session

    sessions = Sessions(cluster("n1"), connect)
    sessions["n1"].run(COMMAND)
    fakes.reports = [ConnectionLost("gone")]
    with pytest.raises(AuthenticationFailed):
        sessions["n1"].run(COMMAND)
    assert clock.now_s == 0


def test_every_new_connection_is_greeted(fakes, clock):
    greeted = []

    def greet(node, session):
        session.run(Command(node, ("cat", "id")))
        greeted.append(node)

    sessions = Sessions(cluster("n1", "n2"), fakes.connect, greet)
    sessions["n1"].run(COMMAND)
    fakes.reports = [ConnectionLost("gone")]
    sessions["n1"].run(COMMAND)
    assert greeted == ["n1", "n1"]


def test_a_connection_that_breaks_at_the_greeting_is_none(fakes, clock):
    answers = [None, ConnectionLost("gone"), None]

    def greet(node, session):
        if error := answers.pop(0):
            raise error

    sessions = Sessions(cluster("n1"), fakes.connect, greet)
    sessions["n1"].run(COMMAND)
    sessions.drop("n1")
    assert sessions["n1"].run(COMMAND).exit_code == 0
    assert (len(fakes.done("connect")), len(fakes.done("close"))) == (3, 2)


def test_no_connection_is_opened_after_the_end(fakes, sessions):
    kept = sessions["n1"]
    sessions.close()
    fakes.reports = [ConnectionLost("the session is closed")]
    with pytest.raises(ConnectionLost):
        kept.run(COMMAND)
    assert len(fakes.done("connect")) == 1

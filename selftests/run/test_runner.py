"""The runner carries out a case on sessions that a test controls."""

import pytest
from testing.core_values import case, cluster, transcript
from testing.fake_sessions import Fakes
from testing.run_folder import store_in

from railgauge.core.errors import (
    CommandTimedOut,
    ConnectionLost,
    NodeUnreachable,
    PortInUse,
    ToolFailed,
    TransportError,
)
from railgauge.core.model import Command
from railgauge.run.runner import Runner, ports_of
from railgauge.transport.sessions import Sessions


@pytest.fixture
def fakes():
    return Fakes()


@pytest.fixture
def sessions(fakes):
    return Sessions(cluster("n1", "n2", "n3"), fakes.connect)


@pytest.fixture
def runner(sessions, tmp_path):
    return Runner(sessions, store_in(tmp_path), planned)


def planned(wanted, port):
    source, target = wanted.nodes
    return (
        Command(target, ("ib_write_bw", "-p", str(port)), listens_on=port),
        Command(source, ("ib_write_bw", "-p", str(port), target)),
    )


def bad(**changes):
    return transcript("n1", exit_code=1, **changes)


def test_servers_listen_on_the_ports_of_the_hostfile(sessions, fakes, tmp_path):
    store = store_in(tmp_path)
    ports = ports_of(cluster("n1", "n2", ports=(20000, 20015)))
    runner = Runner(sessions, store, planned, ports=ports)
    fakes.ready += [PortInUse("taken", where="n2")] * 4
    runner.measure(case())
    asked = [port for _, _, port in fakes.done("start")]
    assert len(set(asked)) == 5
    assert set(asked) <= set(range(20000, 20016))
    assert ports_of(cluster("n1")) == range(18515, 32768)


# --- one measurement for all items that ask ---


def test_the_client_comes_first_then_its_servers(runner):
    result = runner.measure(case())
    assert result.error is None
    ((report, server),) = result.runs
    assert (report.node, report.role) == ("n1", "client")
    assert (server.node, server.role) == ("n2", "server")


def test_a_case_is_measured_once_and_then_read(runner, fakes):
    first = runner.measure(case())
    assert runner.measure(case()) == first
    assert len(fakes.done("run")) == 1


def test_another_worker_reads_what_the_first_one_measured(runner, fakes, tmp_path):
    first = runner.measure(case())
    other = Fakes()
    again = Runner(Sessions(cluster(), other.connect), store_in(tmp_path), planned)
    assert again.measure(case()) == first
    assert other.log == []


def test_an_error_is_kept_too(runner, fakes):
    fakes.unreachable = {"n2"}
    first = runner.measure(case())
    assert type(first.error) is NodeUnreachable
    again = runner.measure(case())
    assert type(again.error) is NodeUnreachable
    assert len(fakes.done("connect")) == 1


def test_every_repeat_is_a_run_of_its_own(runner, fakes):
    result = runner.measure(case(repeats=3))
    assert len(result.runs) == 3
    assert len(fakes.done("start")) == len(fakes.done("run")) == 3


@pytest.mark.parametrize(
    "broken", [bad(), bad(stderr="x"), transcript(exit_code=None, error="command-timed-out")]
)
def test_repeats_end_with_the_first_bad_run_which_is_kept(runner, fakes, broken):
    fakes.reports = [transcript(), broken]
    result = runner.measure(case(repeats=5))
    assert len(result.runs) == 2
    assert result.runs[1][0] == broken
    assert len(fakes.done("run")) == 2


def test_a_server_that_ends_badly_ends_the_repeats(runner, fakes):
    fakes.server = {"exit_code": 1}
    assert len(runner.measure(case(repeats=3)).runs) == 1


# --- ports ---


def test_a_port_in_use_is_not_used_again(runner, fakes):
    fakes.ready = [PortInUse("taken"), PortInUse("taken"), None]
    result = runner.measure(case())
    ports = [port for _, _, port in fakes.done("start")]
    assert result.error is None
    assert len(ports) == len(set(ports)) == 3
    assert len(fakes.done("run")) == 1


def test_a_case_is_an_error_after_some_ports_in_use(runner, fakes):
    fakes.ready = [PortInUse("taken")] * 99
    assert type(runner.measure(case()).error) is PortInUse
    assert 1 < len(fakes.done("start")) < 20
    assert fakes.running == 0


# --- nothing is left behind ---


@pytest.mark.parametrize(
    "trouble", [TransportError("gone"), NodeUnreachable("gone"), ToolFailed("went wrong")]
)
def test_a_server_is_stopped_when_the_client_cannot_run(runner, fakes, trouble):
    fakes.reports = [trouble]
    assert runner.measure(case()).error == trouble
    assert fakes.running == 0


@pytest.mark.parametrize("trouble", [KeyboardInterrupt(), RuntimeError("a bug"), SystemExit(3)])
def test_a_server_is_stopped_and_nothing_is_kept_when_the_run_is_broken_off(
    runner, fakes, trouble, tmp_path
):
    fakes.reports = [trouble]
    with pytest.raises(type(trouble)):
        runner.measure(case())
    assert fakes.running == 0
    assert store_in(tmp_path).load(case()) is None
    assert runner.measure(case()).error is None  # the lease is free, so it is measured now


def test_a_client_that_failed_has_its_server_stopped_not_waited_for(runner, fakes):
    fakes.reports = [bad()]
    runner.measure(case())
    assert fakes.done("wait") == []
    assert fakes.running == 0


def test_a_server_that_never_gets_ready_is_stopped(runner, fakes):
    fakes.ready = [CommandTimedOut("did not listen")]
    assert type(runner.measure(case()).error) is CommandTimedOut
    assert fakes.done("run") == []
    assert fakes.running == 0


def test_a_server_that_failed_first_is_kept(runner, fakes):
    fakes.ready = [ToolFailed("ended with 1")]
    ((server,),) = runner.measure(case(repeats=3)).runs
    assert (server.node, server.role) == ("n2", "server")
    assert fakes.done("run") == []


def test_the_first_of_two_servers_is_stopped_if_the_second_cannot_start(fakes, sessions, tmp_path):
    def two_servers(wanted, port):
        server, client = planned(wanted, port)
        return (server, Command("n3", ("ib_write_bw",), listens_on=port), client)

    fakes.unreachable = {"n3"}
    runner = Runner(sessions, store_in(tmp_path), two_servers)
    assert type(runner.measure(case()).error) is NodeUnreachable
    assert fakes.running == 0


# --- connections ---


def test_a_dead_node_is_not_tried_again(runner, fakes):
    fakes.unreachable = {"n2"}
    for source in ("n1", "n3"):
        result = runner.measure(case(source, "n2"))
        assert type(result.error) is NodeUnreachable
        assert result.error.where == "n2"
    assert len(fakes.done("connect")) == 1


def test_connections_are_kept_between_cases(runner, fakes):
    runner.measure(case("n1", "n2"))
    runner.measure(case("n2", "n1"))
    assert len(fakes.done("connect")) == 2


@pytest.mark.parametrize(
    "lost", [transcript("n1", exit_code=None, error="connection-lost"), ConnectionLost("gone")]
)
def test_a_lost_connection_is_opened_anew(runner, fakes, lost):
    fakes.reports = [lost]
    measured = runner.measure(case("n1", "n2"))
    assert ("close", "n1") in fakes.log
    # A command that was running is an error; if none had begun, nothing is lost.
    ((client, _),) = measured.runs
    assert (measured.error, client.error) == (None, getattr(lost, "error", ""))
    assert runner.measure(case("n1", "n3")).error is None
    assert fakes.done("connect").count(("connect", "n1")) == 2


def test_sessions_are_closed_once_each(sessions, fakes):
    assert sessions["n1"] is sessions["n1"]
    assert sessions["n2"]
    sessions.close()
    sessions.close()
    assert sorted(fakes.done("close")) == [("close", "n1"), ("close", "n2")]


def test_an_unplannable_case_stops_the_run_instead_of_being_an_error(sessions, tmp_path):
    def refuse(wanted, port):
        raise ValueError("a bug in a planner")

    runner = Runner(sessions, store_in(tmp_path), refuse)
    with pytest.raises(ValueError, match="a bug in a planner"):
        runner.measure(case())
    assert store_in(tmp_path).load(case()) is None


def lose_later(fakes, sessions, *nodes):
    """The nodes are reached when the measurement begins, and their connections are lost in it."""
    for node in ("n1", *nodes):
        sessions[node].run(Command(node, ("true",)))
    fakes.lost |= set(nodes)


def test_a_client_whose_partner_is_gone_is_not_waited_for(runner, sessions, fakes):
    """It has no server there, as a launcher that starts its daemons by ssh."""
    runner._plan = lambda wanted, port: (Command("n1", ("mpirun", *wanted.nodes)),)
    lose_later(fakes, sessions, "n2")
    fakes.unreachable.add("n2")
    sessions.hurry()
    result = runner.measure(case())
    assert ("in vain", "n1", True) in fakes.log
    assert isinstance(result.error, NodeUnreachable)
    assert result.error.where == "n2"


def test_a_connection_that_was_lost_beside_a_client_is_opened_anew(runner, sessions, fakes):
    """The network of the measurement is another one, on which the client goes on."""
    runner._plan = lambda wanted, port: (Command("n1", ("mpirun", *wanted.nodes)),)
    lose_later(fakes, sessions, "n2")
    result = runner.measure(case())
    assert ("in vain", "n1", False) in fakes.log
    assert result.error is None
    assert len([entry for entry in fakes.done("connect") if entry[1] == "n2"]) == 2


def test_a_client_whose_server_is_lost_is_stopped(runner, sessions, fakes):
    lose_later(fakes, sessions, "n3")
    fakes.died, fakes.stopped = {"n2"}, {"exit_code": None, "error": ConnectionLost.kind}
    runner.measure(case())
    assert ("in vain", "n1", True) in fakes.log

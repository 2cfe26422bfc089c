"""Services that run until they are stopped, and the NIC counters around a run."""

import pytest
from testing.core_values import case, cluster, transcript
from testing.fake_sessions import Fakes
from testing.run_folder import store_in

from railgauge.core.errors import CommandTimedOut, ConnectionLost, ToolFailed
from railgauge.core.model import Command
from railgauge.run.runner import Runner
from railgauge.transport.sessions import Sessions


@pytest.fixture
def fakes():
    return Fakes()


@pytest.fixture
def make(fakes, tmp_path):
    """``make(plan[, counters])`` returns a runner with its own folder."""

    def make(plan, counters=lambda _: ()):
        sessions = Sessions(cluster("n1", "n2", "n3"), fakes.connect)
        return Runner(sessions, store_in(tmp_path), plan, counters)

    return make


def serving(wanted, port):
    """A service on the first node, with a part of it on the second, and a benchmark."""
    head, other = wanted.nodes
    return (
        Command(other, ("serve", "--rank", "1"), time_limit_s=900.0, endless=True),
        Command(head, ("serve",), time_limit_s=900.0, listens_on=port, endless=True),
        Command(head, ("bench",)),
    )


def write_test(wanted, port):
    source, target = wanted.nodes
    return (
        Command(target, ("ib_write_bw",), listens_on=port),
        Command(source, ("ib_write_bw", target)),
    )


def probes(wanted):
    return tuple(Command(node, ("counters",)) for node in wanted.nodes)


def roles(run):
    return [(found.node, found.role) for found in run]


# --- services ---


def test_a_service_is_stopped_after_its_client_and_never_waited_for(make, fakes):
    ((report, *services),) = make(serving).measure(case()).runs
    assert (report.node, report.role) == ("n1", "client")
    assert roles(services) == [("n2", "service"), ("n1", "service")]
    assert fakes.done("wait") == []
    assert {entry[1] for entry in fakes.done("stop")} == {"n1", "n2"}
    assert fakes.running == 0


@pytest.mark.parametrize("end", [{"exit_code": None}, {"exit_code": -15}, {"exit_code": 1}])
def test_how_a_stopped_service_ended_is_not_held_against_the_run(make, fakes, end):
    """Repeats continue; after a failed run they would not."""
    fakes.stopped = end
    assert len(make(serving).measure(case(repeats=3)).runs) == 3


def test_only_servers_that_listen_are_waited_for_as_long_as_they_may_load(make, fakes):
    make(serving).measure(case())
    assert fakes.done("wait_ready") == [("wait_ready", "n1", 900.0)]


def test_a_server_that_ends_with_its_client_is_ready_sooner(make, fakes):
    make(write_test).measure(case())
    ((_, node, limit_s),) = fakes.done("wait_ready")
    assert (node, limit_s < 900.0) == ("n2", True)


@pytest.mark.parametrize("code", [1, 0, -9])
def test_a_service_that_dies_early_is_all_that_is_kept_and_is_not_tried_again(make, fakes, code):
    """Loading a model takes many minutes, so it is done once for all repeats."""
    fakes.ready = [ToolFailed("ended early")]
    fakes.stopped = {"exit_code": code}
    ((service,),) = make(serving, probes).measure(case(repeats=3)).runs
    assert (service.node, service.role, service.exit_code) == ("n1", "service", code)
    assert [entry[2] for entry in fakes.done("run")] == [("counters",)] * 2
    assert fakes.running == 0


def test_a_service_that_never_listens_is_an_error_and_is_stopped(make, fakes):
    fakes.ready = [CommandTimedOut("did not listen")]
    assert type(make(serving).measure(case()).error) is CommandTimedOut
    assert fakes.done("run") == []
    assert fakes.running == 0


def test_a_failed_client_is_kept_with_its_services(make, fakes):
    fakes.reports = [transcript("n1", exit_code=1)]
    (run,) = make(serving).measure(case(repeats=3)).runs
    assert roles(run) == [("n1", "client"), ("n2", "service"), ("n1", "service")]
    assert fakes.running == 0


# --- counters ---


def test_counters_are_read_only_when_asked(make, fakes):
    (run,) = make(write_test).measure(case()).runs
    assert roles(run) == [("n1", "client"), ("n2", "server")]
    assert len(fakes.done("run")) == 1


def test_counters_are_read_on_every_node_before_and_after_each_run(make, fakes):
    result = make(write_test, probes).measure(case(repeats=2))
    for run in result.runs:
        assert roles(run) == [
            ("n1", "client"), ("n2", "server"),
            ("n1", "counters-before"), ("n2", "counters-before"),
            ("n1", "counters-after"), ("n2", "counters-after"),
        ]  # fmt: skip
    order = [(entry[0], entry[2][0]) for entry in fakes.log if entry[0] == "run"]
    once = ["counters", "counters", "ib_write_bw", "counters", "counters"]
    assert order == [("run", name) for name in once * 2]
    first = fakes.log.index(("run", "n1", ("counters",)))
    assert first < fakes.log.index(("start", "n2", fakes.done("start")[0][2]))


def test_no_counters_are_read_after_a_bad_run(make, fakes):
    fakes.reports = [transcript("n1"), transcript("n2"), transcript("n1", exit_code=1)]
    (run,) = make(write_test, probes).measure(case(repeats=3)).runs
    assert roles(run) == [("n1", "client"), ("n2", "server")]


@pytest.mark.parametrize("good", [0, 2, 4])
def test_a_node_that_goes_away_while_counters_are_read_is_the_error(make, fakes, good):
    lost = [ConnectionLost("gone"), ConnectionLost("gone again")]
    fakes.reports = [*(transcript("n1") for _ in range(good)), *lost]
    result = make(write_test, probes).measure(case())
    assert type(result.error) is ConnectionLost
    assert fakes.running == 0


def test_counters_are_read_back_with_the_case(make):
    first = make(write_test, probes).measure(case())
    assert make(write_test, probes).measure(case()) == first

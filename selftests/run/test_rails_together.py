"""Rails that are measured together: their clients start at the same time, or none does."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from testing.core_values import case, cluster, transcript
from testing.fake_sessions import Fakes
from testing.run_folder import store_in

from railgauge.core.errors import NodeUnreachable, ToolFailed
from railgauge.core.model import Command, Pairing
from railgauge.run.runner import Runner
from railgauge.run.together import at_once
from railgauge.transport.sessions import Sessions

RAILS = tuple(case(pairing=Pairing(f"mlx5_{rail}")) for rail in range(4))
LIMIT_S = 20.0


def planned(wanted, port):
    source, target = wanted.nodes
    return (
        Command(target, ("ib_write_bw", "-d", wanted.pairing.nic), listens_on=port),
        Command(source, ("ib_write_bw", "-d", wanted.pairing.nic, target)),
    )


@pytest.fixture
def fakes():
    return Fakes()


@pytest.fixture
def store(tmp_path):
    return store_in(tmp_path)


@pytest.fixture
def runner(fakes, store, tmp_path):
    return Runner(
        Sessions(cluster("n1", "n2"), fakes.connect),
        store,
        planned,
        measured_with=lambda wanted: tuple(replace(one, repeats=wanted.repeats) for one in RAILS),
    )


def test_one_rail_measures_all_and_the_others_only_read(runner, fakes):
    first = runner.measure(RAILS[2])
    assert first.error is None
    assert len(fakes.done("run")) == len(fakes.done("start")) == 4
    for rail in RAILS:
        assert runner.measure(rail).runs
    assert len(fakes.done("run")) == 4


def test_every_client_starts_after_the_last_server(runner, fakes):
    runner.measure(RAILS[0])
    kinds = [entry[0] for entry in fakes.log if entry[0] in ("wait_ready", "run")]
    assert kinds == ["wait_ready"] * 4 + ["run"] * 4


def test_each_repeat_is_of_all_rails(runner, fakes):
    result = runner.measure(replace(RAILS[0], repeats=3))
    assert len(result.runs) == 3
    assert len(fakes.done("run")) == 12


def test_no_rail_is_measured_without_one_of_the_servers(runner, fakes):
    fakes.ready = [ToolFailed("no device", where="n2")]
    fakes.stopped = {"exit_code": 1}
    results = [runner.measure(rail) for rail in RAILS]
    assert fakes.done("run") == []
    errors = [str(result.error) for result in results if result.error]
    assert len(errors) == 3
    assert all("another rail of this pair could not be started" in one for one in errors)
    (own,) = [result for result in results if not result.error]
    assert own.runs[0][0].exit_code == 1  # the server's output is the evidence


def test_a_rail_that_fails_ends_the_repeats_of_all(runner, fakes):
    fakes.reports = [transcript("n1", exit_code=1)]
    results = [runner.measure(replace(rail, repeats=5)) for rail in RAILS]
    assert [len(result.runs) for result in results] == [1] * 4
    assert len(fakes.done("run")) == 4
    errors = [str(result.error) for result in results if result.error]
    assert errors == ["repeats are missing: another rail failed"] * 3


def test_an_unreachable_node_is_the_error_of_every_rail(runner, fakes):
    fakes.unreachable = {"n2"}
    kinds = {type(runner.measure(rail).error) for rail in RAILS}
    assert kinds <= {NodeUnreachable, ToolFailed}
    assert NodeUnreachable in kinds


def test_rails_of_which_one_is_missing_are_all_measured_again(runner, fakes, store):
    for rail in RAILS[:3]:
        store.save(rail, replace(runner.measure(rail)))
    (store.folder / "transcripts" / "host_write_bandwidth_n1+n2-mlx5_3.json").unlink()
    begun = len(fakes.done("run"))
    runner.measure(RAILS[3])
    assert len(fakes.done("run")) == begun + 4


def test_rails_run_at_the_same_time():
    all_there = threading.Barrier(4)

    def make(start):
        start()
        all_there.wait(LIMIT_S)  # broken if one of them ended before another one began
        return (transcript(),)

    assert all(made == (transcript(),) for made in at_once(dict.fromkeys(RAILS, make)).values())


def test_a_defect_of_the_suite_is_no_result():
    def make(start):
        start()
        raise RuntimeError("a defect")

    with pytest.raises(RuntimeError, match="a defect"):
        at_once(dict.fromkeys(RAILS, make))


def test_a_failure_beside_the_rails_is_the_error_of_all_of_them(fakes, store, tmp_path):
    def loads(_case):
        return (Command("n3", ("cat", "/proc/stat")),)

    fakes.unreachable = {"n3"}
    runner = Runner(
        Sessions(cluster("n1", "n2", "n3"), fakes.connect),
        store,
        planned,
        loads=loads,
        measured_with=lambda _: RAILS,
    )
    assert {type(runner.measure(rail).error) for rail in RAILS} == {NodeUnreachable}
    assert len(fakes.done("connect")) == 1


def test_a_rail_whose_thread_cannot_begin_keeps_no_other_waiting(monkeypatch):
    submit, begun = ThreadPoolExecutor.submit, []

    def only_once(pool, *words):
        begun.append(words)
        if len(begun) > 1:
            raise RuntimeError("can't start new thread")
        return submit(pool, *words)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", only_once)
    with pytest.raises(RuntimeError, match="start new thread"):
        at_once({rail: lambda start: (start(), ())[1] for rail in RAILS})

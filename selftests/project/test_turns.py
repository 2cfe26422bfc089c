"""The order in which workers of pytest-xdist get the selftests, and who gets which."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from testing.places import ROOT

COMPUTING = [
    f"selftests/{file}::test_{n}"
    for file in ("endtoend/test_a.py", "endtoend/test_b.py", "report/test_c.py", "report/test_d.py")
    for n in range(5)
]
COMPUTING += [f"selftests/core/test_e{n}.py::test_it[{n}::x]" for n in range(30)]
ALONE = [f"selftests/matrix/test_fault_matrix.py::test_one[{n}]" for n in range(4)]
ALONE += [f"selftests/transport/test_transport_contract.py::test_one[{n}]" for n in range(4)]
WAITING = [f"selftests/slurm/test_f{n}.py::test_{k}" for n in range(3) for k in range(4)]
TESTS = [*COMPUTING, *WAITING, *ALONE]


@dataclass(eq=False)
class Worker:
    """Has its tests as numbers of the list of all; ``had`` are those that it has carried out."""

    gateway: SimpleNamespace
    due: list[int] = field(default_factory=list)
    had: list[int] = field(default_factory=list)
    shutting_down: bool = False

    def send_runtest_some(self, numbers: list[int]) -> None:
        self.due += numbers

    def shutdown(self) -> None:
        self.shutting_down = True


def carried_out(pytestconfig: pytest.Config, count: int) -> list[list[str]]:
    """The tests that each worker has had, if all tests take the same time."""
    own = pytestconfig.pluginmanager.get_plugin(str(ROOT / "selftests" / "conftest.py"))
    option = SimpleNamespace(loadscopereorder=True, maxprocesses=None)
    given = SimpleNamespace(option=option, getvalue=lambda _: ["popen"] * count)
    turns = own.LongFirst(given, None)
    workers = [Worker(SimpleNamespace(id=f"gw{n}")) for n in range(count)]
    for worker in workers:
        turns.add_node(worker)
    for worker in workers:
        turns.add_node_collection(worker, TESTS)
    turns.schedule()
    while busy := [worker for worker in workers if worker.due]:
        for worker in busy:
            worker.had.append(worker.due.pop(0))
            turns.mark_test_complete(worker, worker.had[-1])
    assert turns.tests_finished
    return [[TESTS[number] for number in worker.had] for worker in workers]


@pytest.fixture(params=[1, 2, 3, 4, 7])
def had(request: pytest.FixtureRequest, pytestconfig: pytest.Config) -> list[list[str]]:
    return carried_out(pytestconfig, request.param)


def waits(test: str) -> bool:
    return test in WAITING or "transport" in test


def test_each_test_is_carried_out_once(had: list[list[str]]) -> None:
    assert sorted(test for those in had for test in those) == sorted(TESTS)


def test_what_shares_its_runs_stays_with_one_worker(had: list[list[str]]) -> None:
    for shared in ("/endtoend/test_a.py", "/endtoend/test_b.py", "/slurm/test_f1.py", "/report/"):
        assert sum(any(shared in test for test in those) for those in had) == 1


def test_tests_that_share_nothing_are_had_by_several(pytestconfig: pytest.Config) -> None:
    had = carried_out(pytestconfig, 3)
    assert sum(any("test_fault_matrix" in test for test in those) for those in had) > 1


def test_of_few_workers_each_takes_what_waits_last(pytestconfig: pytest.Config) -> None:
    for those in carried_out(pytestconfig, 3):
        assert sorted(those, key=waits) == those


@pytest.mark.parametrize("count", [4, 5, 7])
def test_the_fourth_and_the_fifth_worker_begin_with_what_waits(
    pytestconfig: pytest.Config, count: int
) -> None:
    had = carried_out(pytestconfig, count)
    for those in had[3:5]:
        assert waits(those[0])
        assert sorted(those, key=lambda test: not waits(test)) == those
    for those in (*had[:3], *had[5:]):
        assert not waits(those[0])
        assert sorted(those, key=waits) == those

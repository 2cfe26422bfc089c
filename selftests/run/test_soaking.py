"""The rounds of a soak while they are measured: several nodes at once, in order, none twice."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from contextlib import contextmanager

import pytest
from testing.core_values import ROOT, cluster

from railgauge.config import thresholds
from railgauge.core.errors import ToolFailed
from railgauge.core.model import Case
from railgauge.core.question import CaseResult
from railgauge.diagnosis import RunResults
from railgauge.planning import plan
from railgauge.planning.soak import SoakRounds, planned
from railgauge.run.decided import MeasuringError
from railgauge.run.soaking import carry_out

H200 = thresholds.load("h200", ROOT / "thresholds")
NODES = cluster("n1", "n2", "n3", "n4", "n5", "n6", platform="h200")
LIMIT_S = 20.0


def rounds(count: int = 1) -> SoakRounds:
    level = plan.level(H200, NODES, "smoke")
    asked = planned(f"{count}rounds", 3, no_gates=True)
    return SoakRounds(asked, H200, NODES, level)


def soaked(measure: Callable[[Case], CaseResult], at_once: int, **more: object) -> bool:
    base = RunResults({}, {}, H200, NODES)
    lines: list[str] = []
    return carry_out(
        rounds(), base, lambda _: measure, lines.append, at_once=at_once, **more  # type: ignore[arg-type]
    )  # fmt: skip


class Nodes:
    """Measures nothing, and notes which nodes are measured at once and in which order."""

    def __init__(self) -> None:
        self.another = threading.Condition()
        self.busy: set[str] = set()
        self.most = 0
        self.clashes: list[Case] = []
        self.order: dict[str, list[Case]] = defaultdict(list)

    def measure(self, case: Case) -> CaseResult:
        with self.another:
            if self.busy & set(case.nodes):
                self.clashes.append(case)
            self.busy |= set(case.nodes)
            self.most = max(self.most, len(self.busy))
            for node in case.nodes:
                self.order[node].append(case)
            self.another.notify_all()
            self.another.wait(0.001)  # gives another one time to begin
            self.busy -= set(case.nodes)
        return CaseResult((), ToolFailed("not measured", where=case.nodes[0]))


@pytest.mark.parametrize(("at_once", "busy"), [(1, 6), (3, 6)])
def test_each_node_is_measured_rung_by_rung_and_never_twice_at_once(at_once, busy):
    seen = Nodes()
    assert soaked(seen.measure, at_once)
    assert not seen.clashes
    cases = [one.case for one in rounds().cases(1)]
    for node in NODES.nodes:
        own = seen.order[node.name]
        assert set(own) == {case for case in cases if node.name in case.nodes}
        made = [H200.measurements[case.measurement].rung for case in own]
        assert made == sorted(made)
    assert seen.most <= busy


def test_disjoint_pairs_are_measured_at_once():
    """The first of two waits until the other runs too; one by one it would wait in vain."""
    assert together(at_once=2, limit_s=LIMIT_S)
    with pytest.raises(MeasuringError, match="BrokenBarrierError"):
        together(at_once=1, limit_s=0.2)


def together(at_once: int, limit_s: float) -> bool:
    both, began = threading.Barrier(2, timeout=limit_s), list[Case]()

    def measure(case: Case) -> CaseResult:
        began.append(case)
        if len(began) <= 2:
            both.wait()
        return CaseResult((), ToolFailed("not measured", where=case.nodes[0]))

    return soaked(measure, at_once) and not set(began[0].nodes) & set(began[1].nodes)


def test_an_interrupt_ends_what_the_other_threads_do():
    """As Ctrl-C in the main thread: the measurements that run are ended, and none begins."""
    ended, began = threading.Event(), []

    @contextmanager
    def interrupted():
        ended.set()
        yield

    def measure(case: Case) -> CaseResult:
        began.append(case)
        if len(began) == 1:
            raise KeyboardInterrupt
        assert ended.wait(LIMIT_S), "nobody ended it"
        raise KeyboardInterrupt

    assert soaked(measure, 3, interrupted=interrupted) is False
    assert ended.is_set()
    assert len(began) <= 3

"""Small runs to merge: items about the facts of nodes and about pairs, and when they were made."""

from __future__ import annotations

from typing import Any

from railgauge.core.model import Outcome
from railgauge.core.terms import Rung
from railgauge.facts import FactsByNode
from railgauge.judging.record import ItemRecord
from railgauge.judging.stamp import Evidence
from railgauge.planning.part import LevelPart
from railgauge.verdict.decision import RunPlan
from railgauge.verdict.merged import PartRun
from testing.core_values import item

ITEM, PAIR = "tests/preflight/test_os.py::test_os[{}]", "tests/network/test_rdma.py::test_w[{}]"


_WRONG = (Outcome.FAILED, Outcome.ERROR)


def fact(node: str, outcome: Outcome = Outcome.PASSED, **more: Any) -> ItemRecord:
    more = {"by_evidence": outcome in _WRONG, **more}
    return item(ITEM.format(node), outcome, rung=Rung.PREFLIGHT, nodes=(node,), **more)


def pair(one: str, other: str, outcome: Outcome = Outcome.PASSED, **more: Any) -> ItemRecord:
    name, more = PAIR.format(f"{one}:{other}"), {"by_evidence": outcome in _WRONG, **more}
    return item(name, outcome, rung=Rung.NETWORK, nodes=(one, other), **more)


def run(
    name: str,
    hour: int,
    *items: ItemRecord,
    only: tuple[str, ...] = (),
    ended: str = "",
    no_gates: bool = False,
    found: FactsByNode | None = None,
) -> PartRun:
    """A run of half an hour, or until ``ended``; ``only`` are the nodes it measures again."""
    plan = RunPlan(
        schema_version=2,
        run_id=name,
        evidence=Evidence.HARDWARE,
        level="smoke",
        rounds=None,
        planned=tuple(one.id for one in items),
        software="1",
        began=f"2026-11-24T{hour:02}:00:00+00:00",
        ended=ended or f"2026-11-24T{hour:02}:30:00+00:00",
        part=LevelPart(("a", "b", "c"), {}, ("a", "b"), only=only) if only else None,
    )
    return PartRun(plan, {one.id: one for one in items}, no_gates, found or {})

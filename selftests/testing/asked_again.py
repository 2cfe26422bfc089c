"""Small runs whose undecided causes are measured again, as a run does at its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from railgauge.core.model import Case
from railgauge.diagnosis import RunResults, diagnosed
from railgauge.diagnosis.whole import Diagnosis
from railgauge.judging.confirmation import Confirmed, Remeasurement
from railgauge.judging.record import ItemRecord
from railgauge.run import confirming
from testing.diagnose_scenes import names, pairs_of, path, run_results

NICS = ("mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3")
RING = list(pairs_of(names(4), 2))
FINE = 392.0


def run(*items: ItemRecord, nodes: int = 4) -> RunResults:
    asked = (replace(item, ways=("size",)) for item in items)
    return run_results(asked, nodes=names(nodes))


def answered(found: RunResults, value: Callable[[Case], float | str]) -> Diagnosis:
    """The diagnosis when nothing is left to ask; ``value`` is the rate of a case, or an error."""
    results: tuple[Confirmed, ...] = ()
    while asked := confirming.lacking_partners(
        replace(found, confirmed=results), lambda _line: None, [one.asked for one in results]
    ):
        results += tuple(result(one, value) for one in asked)
    return diagnosed(replace(found, confirmed=results))


def result(asked: Remeasurement, value: Callable[[Case], float | str]) -> Confirmed:
    case = asked.question.case
    assert case is not None
    reached = value(case)
    if isinstance(reached, str):
        return Confirmed(asked, (), reached)
    item = path(case.nodes[0], case.nodes[1], str(case.pairing), reached, case.measurement)
    return Confirmed(asked, item.judgements)

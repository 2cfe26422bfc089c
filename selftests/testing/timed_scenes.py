"""Runs whose measurements have times: what a level measures in its order, a minute apart."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone

from railgauge.core.model import Case, Pairing
from railgauge.core.question import LIMITS, Question
from railgauge.diagnosis import RunResults
from railgauge.planning import plan
from railgauge.planning.direction import directed
from railgauge.planning.pairing import tournament
from testing.diagnose_scenes import MIB8, measured, names, path, run_results

NODES = names(4)
NICS = ("mlx5_0", "mlx5_1")
ROUNDS = directed(tournament(NODES, 2))
START = datetime(2026, 1, 5, 14, tzinfo=timezone.utc)
WRITE, READ, SEND = "host_write_bandwidth", "host_read_bandwidth", "host_send_bandwidth"


Test = tuple[str, tuple[str, str], str]
Figures = float | tuple[float, ...]


def ordered(subjects: Sequence[str] = (WRITE,), nics: Sequence[str] = NICS) -> list[Test]:
    """What a level measures, in the order of the run: subject, pair and NIC."""
    level = plan.Level("smoke", ROUNDS, NODES, {})
    over = tuple(map(Pairing, nics))
    turn = plan.turns(level, over)
    at = sorted(((p, nic) for p in level.pairs for nic in over), key=lambda one: turn(*one))
    return [(s, (p.source, p.target), str(nic)) for s in subjects for p, nic in at]


def run(
    tests: Sequence[Test],
    value: Callable[..., Figures],
    *,
    timed: bool = True,
    repeats: int = 1,
) -> RunResults:
    """The results of tests a minute apart; ``value`` gives the figures of each."""
    records, starts = [], dict[Case, tuple[str, ...]]()
    for minute, (subject, pair, nic) in enumerate(tests):
        item = path(*pair, nic, 392.0, subject)
        figures = value(minute, subject, pair, nic)
        figures = figures if isinstance(figures, tuple) else (figures,)
        item = measured(replace(item, judgements=()), *figures, metric="bw_average")
        case = Case(subject, pair, Pairing(nic), (MIB8,), repeats)
        records.append(replace(item, questions=(Question(LIMITS, case, MIB8),)))
        first = START + timedelta(minutes=minute)
        starts[case] = tuple((first + timedelta(seconds=i)).isoformat() for i in range(repeats))
    found = run_results(records, nodes=NODES)
    return replace(found, starts=lambda case: starts.get(case, ())) if timed else found


def slow(when: Callable[..., bool]) -> Callable[..., float]:
    return lambda *test: 235.0 if when(*test) else 392.0


def of_n2(minutes: Collection[int]) -> Callable[..., float]:
    return slow(lambda minute, subject, pair, nic: "n2" in pair and minute in minutes)


MINE = [minute for minute, (_, pair, _) in enumerate(ordered()) if "n2" in pair]

"""The causes of several rounds as one: in how many rounds, and when first."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from railgauge.diagnosis import OPEN, Cause
from railgauge.diagnosis.model import CERTAIN, LIKELY, FaultTiming, Where
from railgauge.run.soak import causes
from railgauge.run.soak.causes import SoakCauses, lasting

NOON = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)


def cause(name: str, node: str, item: str, confidence: str = LIKELY, since: str = "") -> Cause:
    timing = FaultTiming(1, 2, since) if since else None
    return Cause(
        name, Where(node), f"{name} shows", (item, "tests/x.py::fact[a]"), (), confidence, "", "do",
        "basis", timing=timing,
    )  # fmt: skip


@dataclass
class Judged:
    """A round with these causes; its evidence is the item ``rN``."""

    number: int
    found: tuple[Cause, ...]
    records: dict[str, Any] = field(default_factory=dict)

    def results(self) -> tuple[Cause, ...]:
        return self.found


@pytest.fixture
def found(monkeypatch):
    """``found(count, {round: causes})``: one cause of each kind and place."""
    monkeypatch.setattr(causes, "diagnose", lambda results: results)

    def found(count: int, by_round: dict[int, tuple[Cause, ...]]) -> tuple[Cause, ...]:
        soak = SoakCauses(began=NOON)
        for number, of in by_round.items():
            judged = Judged(number, of, {f"r{number}": None})
            soak.take(judged, NOON + timedelta(minutes=number - 1))
        return soak.found(count)

    return found


def test_a_cause_that_appears_once_is_kept_with_its_round_and_time(found):
    (one,) = found(96, {41: (cause("slow-nic", "a", "r41"),)})
    assert one.says == (
        "slow-nic shows; in 1 of 96 rounds of the soak, first in round 41 at"
        " 2026-01-31 12:40:00 UTC, 40 min 0 s after the soak began"
    )
    assert one.timing == FaultTiming(1, 96)
    assert one.evidence == ("r41",), "the facts of the survey are no evidence of the soak"


def test_a_fault_that_lasts_has_a_beginning(found):
    (one,) = found(5, {n: (cause("slow-node", "a", f"r{n}"),) for n in (3, 4, 5)})
    assert one.timing == FaultTiming(3, 5, "2026-01-31T12:02:00+00:00")
    assert one.evidence == ("r3", "r4", "r5")
    assert "in 3 of 5 rounds of the soak, first in round 3" in one.says


def test_the_time_within_the_round_counts(found):
    since = "2026-01-31T12:02:11+00:00"
    first = cause("slow-node", "a", "r3", since=since)
    (one,) = found(4, {3: (first,), 4: (cause("slow-node", "a", "r4"),)})
    assert "at 2026-01-31 12:02:11 UTC, 2 min 11 s after the soak began" in one.says


def test_a_cause_that_another_round_decides_is_the_same_one(found):
    undecided = cause("slow-node", "a|b", "r2", OPEN)
    (one,) = found(3, {2: (undecided,), 3: (cause("slow-node", "b", "r3"),)})
    assert (one.where.node, one.evidence) == ("b", ("r3", "r2"))
    assert "in 2 of 3 rounds of the soak, first in round 2" in one.says


def test_a_cause_that_no_round_decides_stays_open(found):
    both = found(3, {2: (cause("slow-node", "a|b", "r2", OPEN),),
                     3: (cause("slow-node", "c", "r3"),)})  # fmt: skip
    assert [one.where.node for one in both] == ["a|b", "c"]
    other = found(3, {2: (cause("slow-node", "a|b", "r2", OPEN), cause("slow-nic", "a", "r2"))})
    assert [one.cause for one in other] == ["slow-node", "slow-nic"]


def test_facts_and_stragglers_are_reported_elsewhere(found):
    fact = Cause("acs-enabled", Where("a"), "", ("tests/x.py::fact[a]",), (), CERTAIN, "", "", "")
    assert found(2, {1: (fact, cause("straggler", "a", "r1"))}) == ()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59.4, "59 s"), (125, "2 min 5 s"), (3599.6, "1 h 0 min"), (90000, "25 h 0 min")],
)
def test_times_are_written_in_words(seconds, text):
    assert lasting(seconds) == text

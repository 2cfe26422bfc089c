"""The progress of a ladder, and the time left."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from railgauge.core.units import format_duration
from railgauge.planning.forecast import Work
from railgauge.planning.work_queue import Unit
from railgauge.run.progress.ladder import LadderProgress


class Ladder:
    """A progress, and the time of its clock."""

    def __init__(self, *works):
        self.now = 1000.0
        self.progress = LadderProgress(works, lambda: self.now)

    def decided(self, after_s, case="write[n1:n2]", cases=1, is_measured=True):
        self.now += after_s
        unit = Unit((0,), 1, ("n1", "n2"), case)
        self.progress.decided(unit, cases, is_measured=is_measured)

    @property
    def far(self):
        found = self.progress.far()
        return found.decided, found.of, found.left_s


def work(name, runs, typical_s, repeats=1):
    measurement = SimpleNamespace(name=name, typical_s=typical_s, together=False, ladder=False)
    return Work(measurement, (runs,), 1, 1, repeats)


def test_no_time_is_known_before_the_first_measurement():
    assert Ladder(work("write", 4, 60.0)).far == (0, 4, None)


def test_the_time_left_follows_from_what_the_measurements_took_so_far():
    """They take twice as long as the platform file says; 190 s of its time are left."""
    ladder = Ladder(work("write", 2, 5.0, repeats=2), work("all_reduce", 3, 60.0))
    ladder.decided(20.0)
    assert ladder.far == (1, 5, 380.0)


def test_the_time_left_becomes_less_while_something_is_measured():
    ladder = Ladder(work("write", 4, 60.0))
    ladder.decided(60.0)
    ladder.now += 50.0
    assert ladder.far == (1, 4, 130.0)
    ladder.now += 500.0
    assert ladder.far == (1, 4, 0.0), "a tool that hangs makes it no longer, and not negative"


def test_the_time_before_the_first_measurement_does_not_count():
    ladder = Ladder(work("write", 4, 60.0))
    ladder.now += 1000.0
    ladder.progress.begin()
    ladder.decided(60.0)
    assert ladder.far == (1, 4, 180.0)


def test_all_measurements_of_an_item_that_holds_them_count():
    ladder = Ladder(work("write", 8, 60.0))
    ladder.decided(240.0, cases=4)
    assert ladder.far == (4, 8, 240.0)


def test_a_case_that_is_decided_twice_counts_once():
    ladder = Ladder(work("write", 4, 60.0))
    for _ in range(4):
        ladder.decided(60.0)
    assert ladder.far[:2] == (1, 4)


def test_a_blocked_case_takes_no_time_and_is_decided():
    ladder = Ladder(work("write", 3, 600.0))
    ladder.decided(0.0, "write[a]", is_measured=False)
    ladder.decided(0.0, "write[b]", is_measured=False)
    assert ladder.far == (2, 3, None)
    ladder.decided(600.0)
    assert ladder.far == (3, 3, 0.0)


@pytest.mark.parametrize("case", ["", "kernel_log_before[n1]"])
def test_a_case_outside_the_plan_does_not_count(case):
    ladder = Ladder(work("write", 3, 600.0))
    ladder.decided(600.0, case, cases=0)
    assert ladder.far == (0, 3, None)


def test_more_places_than_planned_are_no_negative_time():
    ladder = Ladder(work("write", 1, 60.0))
    ladder.decided(60.0)
    ladder.decided(61.0, "write[follow-up]")
    assert ladder.far == (2, 2, 0.0)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 min"), (90, "2 min"), (10799, "180 min"), (10800, "3 h"), (259200, "3 days")],
)
def test_durations_are_in_the_unit_that_a_person_would_use(seconds, text):
    assert format_duration(seconds) == text

"""The lines that say how far a run is."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from railgauge.core.units import format_duration
from railgauge.planning.forecast import Work
from railgauge.planning.work_queue import Unit
from railgauge.report.progress import RunProgress


class Screen:
    """A progress, the time of its clock, and the lines that it printed."""

    def __init__(self, *works):
        self.now, self.lines = 1000.0, []
        self.progress = RunProgress(works, self.lines.append, lambda: self.now)

    def decided(self, after_s, case="write[n1:n2]", rung=1, cases=1, is_measured=True):
        self.now += after_s
        unit = Unit((0,), rung, ("n1", "n2"), case)
        self.progress.decided(unit, cases, is_measured=is_measured)


def work(name, runs, typical_s, repeats=1):
    measurement = SimpleNamespace(name=name, typical_s=typical_s, together=False)
    return Work(measurement, (runs,), 1, 1, repeats)


def test_the_first_measurement_of_a_rung_is_told_and_then_one_a_minute():
    screen = Screen(work("write", 100, 10.0), work("all_reduce", 10, 10.0))
    for number in range(8):
        screen.decided(20.0, f"write[n1:n2-mlx5_{number}]")
    screen.decided(20.0, "all_reduce[n1:n2]", rung=4)
    assert [line.partition(", about")[0] for line in screen.lines] == [
        "rung 1, write: measurement 1 of 110",
        "rung 1, write: measurement 4 of 110",
        "rung 1, write: measurement 7 of 110",
        "rung 4, all_reduce: measurement 9 of 110",
    ]


def test_the_time_left_follows_from_what_the_measurements_took_so_far():
    """They take twice as long as the platform file says; 190 s of its time are left."""
    screen = Screen(work("write", 2, 5.0, repeats=2), work("all_reduce", 3, 60.0))
    screen.decided(20.0)
    assert screen.lines == ["rung 1, write: measurement 1 of 5, about 6 min left"]


def test_the_time_before_the_first_measurement_does_not_count():
    screen = Screen(work("write", 4, 60.0))
    screen.now += 1000.0
    screen.progress.begin()
    screen.decided(60.0)
    assert screen.lines == ["rung 1, write: measurement 1 of 4, about 3 min left"]


def test_all_measurements_of_an_item_that_holds_them_count():
    screen = Screen(work("write", 8, 60.0))
    screen.decided(240.0, cases=4)
    assert screen.lines == ["rung 1, write: measurement 4 of 8, about 4 min left"]


def test_what_is_decided_twice_counts_once():
    screen = Screen(work("write", 4, 60.0))
    for _ in range(4):
        screen.decided(61.0)
    assert screen.lines == ["rung 1, write: measurement 1 of 4, about 3 min left"]


def test_what_is_blocked_takes_no_time_and_is_done():
    screen = Screen(work("write", 3, 600.0))
    screen.decided(0.0, "write[a]", is_measured=False)
    screen.decided(0.0, "write[b]", is_measured=False)
    screen.decided(600.0)
    assert screen.lines == ["rung 1, write: measurement 3 of 3, less than a minute left"]


@pytest.mark.parametrize("case", ["", "kernel_log_before[n1]"])
def test_what_the_plan_does_not_measure_is_not_told(case):
    screen = Screen(work("write", 3, 600.0))
    screen.decided(600.0, case, cases=0)
    assert screen.lines == []


def test_more_places_than_planned_are_no_negative_time():
    screen = Screen(work("write", 1, 60.0))
    screen.decided(60.0)
    screen.decided(61.0, "write[follow-up]")
    assert screen.lines[-1] == "rung 1, write: measurement 2 of 2, less than a minute left"


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0, "0 min"), (90, "2 min"), (10799, "180 min"), (10800, "3 h"), (259200, "3 days")],
)
def test_durations_are_in_the_unit_that_a_person_would_use(seconds, told):
    assert format_duration(seconds) == told

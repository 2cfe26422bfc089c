"""The lines that say how far a run is."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from railgauge.core.model import Outcome
from railgauge.core.terms import Rung
from railgauge.core.units import format_duration
from railgauge.judging.record import ItemRecord
from railgauge.planning.forecast import Work
from railgauge.report.progress import RunProgress

RECORD = ItemRecord(
    id="tests/network/test_rdma.py::test_write[n1:n2-mlx5_0-8MiB]",
    rung=Rung.NETWORK,
    subject="write",
    title="t",
    outcome=Outcome.PASSED,
    nodes=("n1", "n2"),
    pairing="mlx5_0",
)


class Screen:
    """A progress, the time of its clock, and the lines that it printed."""

    def __init__(self, *works):
        self.now, self.lines = 1000.0, []
        self.progress = RunProgress(works, self.lines.append, lambda: self.now)

    def ended(self, after_s, record=RECORD, **changed):
        self.now += after_s
        self.progress.ended(replace(record, **changed))


def work(name, runs, typical_s, repeats=1):
    measurement = SimpleNamespace(name=name, typical_s=typical_s, together=False)
    return Work(measurement, (runs,), 1, 1, repeats)


def test_the_first_measurement_of_a_rung_is_told_and_then_one_a_minute():
    screen = Screen(work("write", 100, 10.0), work("all_reduce", 10, 10.0))
    for number in range(8):
        screen.ended(20.0, pairing=f"mlx5_{number}", duration_s=20.0)
    screen.ended(20.0, subject="all_reduce", rung=Rung.COLLECTIVE, duration_s=20.0)
    assert [line.partition(", about")[0] for line in screen.lines] == [
        "rung 1, write: measurement 1 of 110",
        "rung 1, write: measurement 4 of 110",
        "rung 1, write: measurement 7 of 110",
        "rung 4, all_reduce: measurement 9 of 110",
    ]


def test_the_time_left_follows_from_what_the_measurements_took_so_far():
    """They take twice as long as the platform file says; 190 s of its time are left."""
    screen = Screen(work("write", 2, 5.0, repeats=2), work("all_reduce", 3, 60.0))
    screen.ended(20.0, duration_s=20.0)
    assert screen.lines == ["rung 1, write: measurement 1 of 5, about 6 min left"]


def test_sizes_of_one_measurement_count_once():
    screen = Screen(work("write", 4, 60.0))
    for size in range(4):
        screen.ended(61.0, size_bytes=2**size, duration_s=60.0)
    assert screen.lines == ["rung 1, write: measurement 1 of 4, about 3 min left"]


def test_what_is_blocked_takes_no_time_and_is_done():
    screen = Screen(work("write", 3, 600.0))
    screen.ended(0.0, pairing="a", outcome=Outcome.BLOCKED)
    screen.ended(0.0, pairing="b", outcome=Outcome.BLOCKED)
    screen.ended(600.0, duration_s=600.0)
    assert screen.lines == ["rung 1, write: measurement 3 of 3, less than a minute left"]


@pytest.mark.parametrize("subject", ["gpu_count", "kernel_log"])
def test_an_item_without_a_measurement_is_not_told(subject):
    screen = Screen(work("write", 3, 600.0))
    screen.ended(600.0, subject=subject)
    assert screen.lines == []


def test_more_places_than_planned_are_no_negative_time():
    screen = Screen(work("write", 1, 60.0))
    screen.ended(60.0)
    screen.ended(61.0, pairing="follow-up")
    assert screen.lines[-1] == "rung 1, write: measurement 2 of 2, less than a minute left"


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0, "0 min"), (90, "2 min"), (10799, "180 min"), (10800, "3 h"), (259200, "3 days")],
)
def test_durations_are_in_the_unit_that_a_person_would_use(seconds, told):
    assert format_duration(seconds) == told

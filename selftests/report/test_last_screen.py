"""The last screen of a merged run lists what a later run replaced."""

import pytest

from railgauge.report import terminal
from railgauge.verdict.counts import Counts, RunVerdict
from railgauge.verdict.history import MergedPart, Remeasured


class Screen:
    def __init__(self):
        self.lines = []

    def write_line(self, line, **_):
        self.lines.append(line)

    def section(self, *_, **__):
        pass


@pytest.mark.parametrize(
    ("number", "last"), [(10, "MEASURED AGAIN, n10: 10 failed"), (12, "2 more")]
)
def test_the_last_screen_lists_what_a_later_run_replaced(number, last):
    again = tuple(
        Remeasured(f"n{i}", "r1", "then", {"failed": i}, {}) for i in range(1, number + 1)
    )
    found = RunVerdict(
        *("run-1", "prod", "bench", "hardware", "smoke", "accepted"),
        *(Counts(*[0] * 10), {}, {}),
        merged=(MergedPart("r1", "", ""), MergedPart("r2", "now", "", replaces=again)),
    )
    screen = Screen()
    terminal.summary(screen, found, {})
    lines = [line for line in screen.lines if line.startswith("MEASURED AGAIN, n")]
    assert len(lines) == 10
    assert lines[0].startswith("MEASURED AGAIN, n1: 1 failed in r1, ended then; ")
    assert screen.lines[-1].startswith(last)

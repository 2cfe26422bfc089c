"""The text about a moment of a run, and its unusual waits."""

from __future__ import annotations

from dataclasses import replace

import pytest
from testing.core_values import case

from railgauge.run.progress import text
from railgauge.run.progress.state import HowFar, Moment, RunningCase
from railgauge.transport.waits import Wait, Waits, program

QUIET = Moment("railgauge", began_s=1000.0, now_s=1134.0)
PAIR = RunningCase(case("n1", "n2"), since_s=1120.0, usual_s=20.0)
FAR = HowFar(97, 157, 700.0, "all_reduce[n3:n4]")
BUSY = replace(QUIET, far=FAR, running=(PAIR,))
NAME = f"{PAIR.case.measurement}[n1:n2-{PAIR.case.pairing}]"


def test_a_line_has_the_time_how_far_what_runs_and_what_is_next():
    assert text.line(BUSY) == (
        "railgauge 2:14: 97/157 measured, about 12 min left; "
        f"now {NAME} 14 s; next all_reduce[n3:n4]"
    )


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, "railgauge 2:14"),
        ({"now_s": 5000.0, "steps": "report.html"}, "railgauge 1:06:40: report.html"),
        ({"far": HowFar(0, 3)}, "railgauge 2:14: 0/3 measured"),
        ({"far": HowFar(3, 3, 0.0)}, "railgauge 2:14: 3/3 measured"),
        ({"far": HowFar(1, 3, 59.0)}, "railgauge 2:14: 1/3 measured, under a minute left"),
    ],
)
def test_unknown_parts_of_a_line_are_left_out(changes, line):
    assert text.line(replace(QUIET, **changes)) == line


def test_a_line_names_two_of_many_measurements():
    running = tuple(replace(PAIR, since_s=1120.0 + at) for at in range(5))
    line = text.line(replace(QUIET, running=running))
    assert line == f"railgauge 2:14: now {NAME} 14 s, {NAME} 13 s and 3 more"


# --- on a screen ---


def test_a_screen_has_one_line_which_fits():
    for columns in (1, 3, 20, 79, 500):
        (line,) = text.screen(BUSY, columns, 24, as_table=False)
        assert len(line) <= columns
    assert text.screen(BUSY, 30, 24, as_table=False) == ["railgauge 2:14: 97/157 meas..."]


def test_a_table_has_a_row_for_each_measurement_in_columns():
    late = replace(PAIR, case=case("node30", "n4"), since_s=1000.0)
    head, first, second = text.screen(replace(BUSY, running=(late, PAIR)), 120, 24, as_table=True)
    assert "now" not in head
    assert head.endswith("next all_reduce[n3:n4]")
    assert first.endswith("134 s  late, it usually takes 20 s")
    assert second.endswith("14 s")
    assert first.index("mlx5_0") == second.index("mlx5_0")


def test_a_table_leaves_room_on_the_screen_and_says_how_many_more_run():
    running = tuple(replace(PAIR, since_s=1000.0 + at) for at in range(30))
    lines = text.screen(replace(BUSY, running=running), 80, 10, as_table=True)
    assert len(lines) == 8
    assert lines[-1] == "  and 24 more"
    assert len(text.screen(replace(BUSY, running=running), 80, 3, as_table=True)) == 1


def test_nothing_on_a_screen_controls_the_terminal():
    hostile = replace(QUIET, steps="a\x1b[2Jb\nc")
    (line,) = text.screen(hostile, 80, 24, as_table=False)
    assert line == "railgauge 2:14: a [2Jb c"


# --- what is awaited ---


@pytest.mark.parametrize(
    ("wait", "is_awaited"),
    [
        (Wait("n1", "ib_write_bw", 1120.0, is_tool=True), False),
        (Wait("n1", "a connection", 1120.0), True),
        (Wait("n1", "a connection", 1125.0), False),
        (Wait("n9", "sh", 1120.0, is_tool=True), True),
        (Wait("n9", "its lease", 1120.0), True),
    ],
    ids=["usual tool", "no answer", "soon", "no measurement", "lease"],
)
def test_a_wait_that_is_part_of_a_usual_measurement_is_not_shown(wait, is_awaited):
    assert (wait in replace(BUSY, waits=(wait,)).awaited) == is_awaited


def test_a_tool_that_takes_much_longer_than_it_usually_does_is_awaited():
    wait = Wait("n1", "ib_write_bw", 1120.0, is_tool=True)
    early, late = (replace(BUSY, waits=(wait,), now_s=1120.0 + s) for s in (49.0, 50.0))
    assert early.awaited == ()
    assert "; waiting for n1 (ib_write_bw, 50 s); now " in text.line(late)


def test_the_longest_waits_are_named_and_the_others_counted():
    waits = tuple(Wait(f"n{at}", "a connection", 1000.0 + at) for at in range(4))
    line = text.line(replace(QUIET, waits=waits))
    assert line.endswith(
        "waiting for n0 (a connection, 134 s), n1 (a connection, 133 s), "
        "n2 (a connection, 132 s) and 1 more"
    )


def test_a_wait_lasts_as_long_as_its_block():
    waits = Waits()
    with waits.at("n1", "its lease"), waits.of_tool("n2", ("/opt/perftest/ib_write_bw", "-d")):
        lease, tool = waits.longest_first()
        assert (lease.node, lease.what, lease.is_tool) == ("n1", "its lease", False)
        assert (tool.node, tool.what, tool.is_tool) == ("n2", "ib_write_bw", True)
    assert waits.longest_first() == []


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        (("/opt/perftest/ib_write_bw", "-d", "mlx5_0"), "ib_write_bw"),
        (("sh", "-c", "echo", "gpu-sampler"), "gpu-sampler"),
        (("sh", "-c", "cat /proc/uptime"), "a reading"),
    ],
)
def test_a_program_has_its_name(argv: tuple[str, ...], name: str) -> None:
    assert program(argv) == name

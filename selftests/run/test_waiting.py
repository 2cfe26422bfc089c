"""The lines that say whom a run waits for."""

from __future__ import annotations

import pytest

from railgauge.run import waiting
from railgauge.run.waiting import WaitLines
from railgauge.transport.waits import Waits, program


def test_a_line_comes_after_ten_seconds_and_names_the_longest_waits() -> None:
    waits = Waits()
    lines, now_s = WaitLines(lambda: waits), waits.ended_s
    with waits.at("n1", "ib_write_bw"), waits.at("n2", "a connection"):
        assert list(lines.due(now_s + 9)) == []
        (line,) = lines.due(now_s + 10)
        assert line == "waiting for n1 (ib_write_bw, 10 s), n2 (a connection, 10 s)"
        assert list(lines.due(now_s + 19)) == [], "it was told nine seconds ago"
        assert len(list(lines.due(now_s + 20))) == 1


def test_many_waits_are_counted() -> None:
    waits = Waits()
    with waits.at("n1", "a"), waits.at("n2", "a"), waits.at("n3", "a"), waits.at("n4", "a"):
        (line,) = WaitLines(lambda: waits).due(waits.ended_s + 10)
    assert line.endswith(" and 1 more")


def test_what_ends_now_and_then_needs_no_line() -> None:
    waits = Waits()
    lines = WaitLines(lambda: waits)
    with waits.at("n1", "gpu_burn"):
        waits.ended_s += 95  # another one has ended
        assert list(lines.due(waits.ended_s + 9)) == []
    assert list(lines.due(waits.ended_s + 60)) == [], "nothing is waited for"


def test_a_long_tool_has_a_line_a_minute() -> None:
    begin_s, told = 0.0, [0.0]
    for now_s in range(1, 301):
        if waiting.due(begin_s, told[-1], now_s):
            told.append(now_s)
    assert told[1:] == [10, 20, 30, 40, 50, 60, 120, 180, 240, 300]


def test_before_the_first_connection_nothing_is_told() -> None:
    assert list(WaitLines(lambda: None).due(1e9)) == []


def test_a_connection_that_was_lost_is_told_at_once() -> None:
    waits = Waits()
    waits.news.append("n1: nothing has come; its connection is lost")
    lines = WaitLines(lambda: waits)
    assert list(lines.due(waits.ended_s)) == ["n1: nothing has come; its connection is lost"]
    assert list(lines.due(waits.ended_s)) == []


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

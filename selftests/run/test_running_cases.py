"""The measurements that go on in a process, from all of its threads."""

from __future__ import annotations

from contextlib import suppress

from testing.core_values import case

from railgauge.run.progress.state import RunningCases


def test_a_measurement_goes_on_as_long_as_its_block_also_if_it_fails() -> None:
    running = RunningCases(lambda one: 20.0 * one.repeats)
    first, second = case("n1", "n2"), case("n3", "n4")
    with suppress(ZeroDivisionError), running.measuring(first):
        with running.measuring(second):
            assert [one.case for one in running.longest_first()] == [first, second]
        (left,) = running.longest_first()
        assert left.usual_s == 20.0 * first.repeats
        raise ZeroDivisionError
    assert running.longest_first() == ()


def test_the_same_measurement_may_go_on_twice() -> None:
    running, one = RunningCases(lambda _: 1.0), case("n1", "n2")
    with running.measuring(one):
        with running.measuring(one):
            pass
        assert len(running.longest_first()) == 1

"""Faults that begin during the run."""

import json
from datetime import timedelta

import pytest
from testing.timed_scenes import (
    MINE,
    READ,
    SEND,
    START,
    WRITE,
    of_n2,
    ordered,
    run,
    slow,
)

from railgauge.diagnosis import diagnose


def summary(found):
    return [(cause.cause, str(cause.where), cause.confidence) for cause in found]


def test_a_node_that_slows_down_is_one_cause_and_not_a_path():
    after = MINE[-2:]
    (cause,) = diagnose(run(ordered(), of_n2(after)))
    assert (cause.cause, str(cause.where), cause.confidence) == ("slow-node", "n2", "likely")
    begun = START + timedelta(minutes=after[0])
    assert f"slow since {begun:%H:%M:%S} UTC" in cause.says
    assert "fine before: 2 of 2" in cause.says
    course = cause.to_json()["course"]
    assert course == {"kind": "since", "since": begun.isoformat(), "slow": 2, "of": 4}
    json.dumps(course)


def test_without_times_no_start_of_the_fault_is_named():
    found = diagnose(run(ordered(), of_n2(MINE[-2:]), timed=False))
    assert all("since" not in cause.says for cause in found)


@pytest.mark.parametrize("subjects", [(WRITE, READ, SEND), (WRITE, SEND, READ)])
@pytest.mark.parametrize("first", [6, 10, 14])
def test_a_fault_that_begins_during_the_run_is_found_across_tools(subjects, first):
    tests = ordered(subjects)
    (cause,) = diagnose(run(tests, slow(lambda m, s, pair, n: "n2" in pair and m >= first)))
    assert (cause.cause, str(cause.where)) == ("slow-node", "n2")
    assert cause.course.since


def test_a_fault_in_one_tool_only_has_no_certain_start():
    """Only sends are slow, and they are measured last: the cause names both possibilities."""
    tests = ordered((WRITE, SEND))
    (cause,) = diagnose(run(tests, slow(lambda m, s, pair, n: "n2" in pair and s == SEND)))
    assert (cause.cause, str(cause.where)) == ("slow-node", "n2")
    assert cause.course is None
    assert "n2 may also have slowed down at 14:09:00 UTC" in cause.says
    assert "before were fine, 4 of 4" in cause.says


PLACES = {
    "n2": ("slow-node", lambda pair, nic: "n2" in pair),
    "n2, mlx5_1": ("slow-nic", lambda pair, nic: "n2" in pair and nic == "mlx5_1"),
    "n2, mlx5_0": ("slow-nic", lambda pair, nic: "n2" in pair and nic == "mlx5_0"),
    "n1 and n2": ("slow-path", lambda pair, nic: {"n1", "n2"} == set(pair)),
    "n2 and n3": ("slow-path", lambda pair, nic: {"n2", "n3"} == set(pair)),
    "n3 and n4": ("slow-path", lambda pair, nic: {"n3", "n4"} == set(pair)),
}


@pytest.mark.parametrize("subjects", [(WRITE,), (WRITE, READ, SEND)])
@pytest.mark.parametrize("where", PLACES)
def test_a_permanent_fault_has_no_course(where, subjects):
    cause, holds = PLACES[where]
    (found,) = diagnose(run(ordered(subjects), slow(lambda m, s, p, n: holds(p, n))))
    if (
        cause == "slow-path" and READ not in subjects
    ):  # writes alone do not separate an end from the path
        assert summary([found]) == [("slow-direction", where.replace(" and ", "|"), "open")]
    else:
        assert summary([found]) == [(cause, where, "likely")]
    assert found.course is None
    assert "since" not in found.says
    assert "comes and goes" not in found.says
    assert "may also have slowed down" not in found.says
    assert "course" not in found.to_json()


BOTH = "host_write_bandwidth_bidirectional"
EIGHT = tuple(f"mlx5_{number}" for number in range(8))


@pytest.mark.parametrize("count", [2, 3, 5])
def test_a_pair_that_is_slow_over_several_nics_from_one_moment_on_is_one_path(count):
    """By place these are ``count`` paths of one NIC each; both nodes are fine with others."""
    tests = ordered(nics=EIGHT)
    mine = [minute for minute, (_, pair, _) in enumerate(tests) if set(pair) == {"n2", "n3"}]
    after = mine[-count:]
    (cause,) = diagnose(run(tests, slow(lambda m, s, p, n: m in after)))
    ends = {cause.where.node, cause.where.peer}
    assert (cause.cause, ends, cause.where.device) == ("slow-path", {"n2", "n3"}, "")
    assert cause.confidence == "likely"
    assert cause.to_json()["course"]["kind"] == "since"
    assert f"fine before: {8 - count} of {8 - count}" in cause.says
    assert "both nodes reach their limits with others since then" in cause.says
    earlier = mine[1 : count + 1]
    apart = diagnose(run(tests, slow(lambda m, s, p, n: m in earlier)))
    assert all("since" not in one.says for one in apart), "the last measurement was fine again"


@pytest.mark.parametrize("first", [8, 9, 10])
def test_a_late_path_beside_a_slow_direction_is_no_node_that_comes_and_goes(first):
    """n2 sends slowly over one NIC; with n3, a partner, it is slow over all NICs since a moment."""
    tests = ordered((WRITE, BOTH), nics=EIGHT)
    mine = [m for m, (_, pair, _) in enumerate(tests) if set(pair) == {"n2", "n3"}]
    after = mine[first:]

    def value(minute, subject, pair, nic):
        path = 329.0 if minute in after else 392.0
        sends = "n2" in pair if subject == BOTH else pair[0] == "n2"
        lost = 357.0 if subject == WRITE else 374.0
        return min(path, lost if sends and nic == EIGHT[7] else 392.0)

    found = summary(diagnose(run(tests, value)))
    assert ("slow-path", "n2 and n3", "likely") in found
    assert {cause for cause, _, _ in found} == {"slow-path", "slow-direction"}


def test_a_pair_that_is_slow_at_the_end_of_the_run_is_undecided():
    """Nothing was measured of its two nodes since then."""
    tests = [test for test in ordered(nics=EIGHT) if test[1] != ("n3", "n2")]
    tests += [test for test in ordered(nics=EIGHT) if test[1] == ("n3", "n2")]
    last = len(tests) - 2
    (cause,) = diagnose(run(tests, slow(lambda m, s, p, n: m >= last)))
    assert (cause.cause, str(cause.where), cause.confidence) == ("slow-node", "n2|n3", "open")
    assert "the path between" in cause.says
    assert cause.would_decide == "measure n2 and n3 with other nodes"

"""The load of the control host explains misses where its evidence shows it, and nowhere else."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from testing.diagnose_scenes import collective, corrupt, named
from testing.timed_scenes import NODES, START, ordered, run

from railgauge.core.model import Outcome, Transcript
from railgauge.core.question import CaseResult
from railgauge.core.terms import Role
from railgauge.diagnosis import diagnose
from railgauge.diagnosis.model import LIKELY, OPEN
from railgauge.run.control_host import ARGV, NODE

BOOT, OTHER = "5b4a7c8e-0d3f-4a55-9c6e-0123456789ab", "11111111-0d3f-4a55-9c6e-0123456789ab"
BUSY = ("control-host-busy", "the cluster")
TESTS = ordered()
EVERY = range(len(TESTS))
OF_N2 = {minute for minute, (_, pair, _) in enumerate(TESTS) if "n2" in pair}


def printed(tasks, boot=BOOT):
    one = (
        f"cpu  1 1 1 1 1 0 0 0 0 0\nprocs_running {tasks}\nMemTotal: 100 kB\nMemAvailable: 50 kB\n"
    )
    return f"cpus 2\nboot_id {boot}\nbefore\n{one}some total=0\nafter\n{one}some total=1900000\n"


def on_host(found, busy, *, boot=BOOT, late_s=0.0, readings=1, of_host=BOOT):
    """The run on nodes of the control host, which was busy in the minutes ``busy``."""

    def kept(case):
        try:
            started = found.starts(case)[0]
        except IndexError:
            return None
        at = datetime.fromisoformat(started)
        minute = (at - START).seconds // 60
        tool = Transcript("n1", ("iperf3",), 0, "", "", 1.0, started)
        begun = (at + timedelta(seconds=late_s - 0.5)).isoformat()
        text = printed(9 if minute in busy else 1, of_host)
        host = Transcript(NODE, ARGV, 0, text, "", 2.0, begun, role=Role.CONTROL_HOST)
        return CaseResult(((tool, *[host] * readings),))

    facts = {name: replace(one, boot_id=boot) for name, one in found.found.items()}
    return replace(found, found=facts, kept=kept)


def slow_at(minutes):
    return run(TESTS, lambda minute, *_: 235.0 if minute in minutes else 392.0)


SCATTERED = {0, 3, 5}


def varied_at(minutes):
    """What a load leaves is another share each time."""
    return run(TESTS, lambda minute, *_: 150.0 + 30 * minute if minute in minutes else 392.0)


def test_misses_of_a_busy_host_blame_no_node_and_stay_misses():
    found = on_host(varied_at(SCATTERED), SCATTERED)
    (cause,) = diagnose(found)
    assert named([cause]) == [BUSY]
    assert len(cause.evidence) == 3
    assert cause.explains == ()
    assert "8 other tasks on 2 CPUs" in cause.says
    assert all(found.records[item].outcome is Outcome.FAILED for item in cause.evidence)
    assert not any(node in cause.says for node in NODES)


def test_it_is_likely_only_where_each_node_was_fine_while_the_host_was_quiet():
    (some,) = diagnose(on_host(varied_at(SCATTERED), SCATTERED))
    assert (some.confidence, some.would_decide) == (LIKELY, "")
    (always,) = diagnose(on_host(varied_at(SCATTERED), EVERY))
    assert always.confidence == OPEN
    assert always.would_decide.endswith("again while the control host is quiet")


def test_a_node_that_misses_all_where_others_reach_theirs_under_the_same_load_is_named():
    found = [cause for cause, _ in named(diagnose(on_host(varied_at(OF_N2), EVERY)))]
    assert found
    assert BUSY[0] not in found


def test_a_fault_that_comes_and_goes_on_a_quiet_host_is_no_matter_of_load():
    assert BUSY not in named(diagnose(on_host(varied_at(SCATTERED), set())))


FROM_N2 = {minute for minute, (_, pair, _) in enumerate(TESTS) if pair[0] == "n2"}


def test_a_node_that_sends_as_slowly_each_time_is_no_matter_of_load():
    """Two of its four measurements missed, so that not all of them did."""
    assert 2 <= len(FROM_N2) < len(OF_N2)
    found = [cause for cause, where in named(diagnose(on_host(slow_at(FROM_N2), EVERY)))]
    assert BUSY[0] not in found
    assert named(diagnose(on_host(varied_at(FROM_N2), EVERY))) == [BUSY]


FEW = [test for test in ordered(nics=("mlx5_0",)) if "n2" in test[1] or "n4" in test[1]]
OF_N2_IN_FEW = {minute for minute, (_, pair, _) in enumerate(FEW) if "n2" in pair}


def few_at(value):
    found = run(FEW, lambda minute, *_: value(minute) if minute in OF_N2_IN_FEW else 392.0)
    return on_host(found, range(len(FEW)))


def test_a_node_that_sends_and_receives_as_slowly_is_no_matter_of_load():
    """Each direction was measured once; only both together are alike."""
    ends = [FEW[minute][1].index("n2") for minute in OF_N2_IN_FEW]
    assert sorted(ends) == [0, 1]
    assert BUSY not in named(diagnose(few_at(lambda _: 235.0)))


def test_two_misses_of_a_node_may_still_be_of_the_load():
    """Both of its measurements, where few others tell how often the load makes one miss."""
    (cause,) = diagnose(few_at(lambda minute: 200.0 + 30 * minute))
    assert (named([cause]), cause.confidence) == ([BUSY], OPEN)
    assert "n2" in cause.would_decide


def test_a_slow_node_is_not_excused_by_load_at_another_time():
    quiet = on_host(slow_at(OF_N2), set(EVERY) - OF_N2)
    assert named(diagnose(quiet)) == [("slow-node", "n2")]


def test_a_slow_node_is_not_excused_by_load_at_some_of_its_times():
    """Its other misses show that it is slow; those of a healthy pair are of the host."""
    busy = {min(OF_N2)}
    assert named(diagnose(on_host(slow_at(OF_N2), busy))) == [("slow-node", "n2")]


def test_beside_a_slow_node_the_load_explains_the_misses_of_others_alone():
    other = min(set(EVERY) - OF_N2)
    found = named(diagnose(on_host(slow_at({*OF_N2, other}), {other, min(OF_N2)})))
    assert found[0] == BUSY
    assert ("slow-node", "n2") in found


@pytest.mark.parametrize(
    "lie",
    [
        {"boot": OTHER},  # nodes of their own: the control host cannot slow them down
        {"boot": None},
        {"late_s": 30.0},  # the load of another time
        {"late_s": -30.0},
        {"readings": 0},
        {"readings": 2},  # which of them is it?
        {"of_host": "here"},
    ],
)
def test_without_evidence_of_load_nothing_is_excused(lie):
    assert named(diagnose(on_host(varied_at(SCATTERED), EVERY))) == [BUSY]
    assert BUSY not in named(diagnose(on_host(varied_at(SCATTERED), EVERY, **lie)))


def test_wrong_results_are_no_matter_of_load():
    found = on_host(varied_at(SCATTERED), EVERY)
    wrong = corrupt(("n1", "n2"))
    found = replace(found, records={**found.records, wrong.id: wrong})
    assert "data-corruption" in [cause.cause for cause in diagnose(found)]


def test_a_miss_without_a_measurement_of_its_own_is_not_claimed():
    found = on_host(varied_at(SCATTERED), SCATTERED)
    other = collective(("n1", "n2"), 1.0)
    causes = diagnose(replace(found, records={**found.records, other.id: other}))
    assert other.id not in next(c for c in causes if c.cause == BUSY[0]).evidence

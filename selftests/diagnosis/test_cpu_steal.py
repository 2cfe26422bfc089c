"""Stolen CPU time explains misses where its evidence shows it, and nowhere else."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from testing.diagnose_scenes import corrupt, named
from testing.timed_scenes import NODES, START, ordered, run

from railgauge.core.model import Outcome, Transcript
from railgauge.core.question import CaseResult
from railgauge.core.terms import Role
from railgauge.diagnosis import diagnose, diagnosed
from railgauge.diagnosis.left_open.hidden import hidden
from railgauge.diagnosis.model import LIKELY, OPEN
from railgauge.facts.steal import readers

TESTS = ordered()
EVERY = frozenset(range(len(TESTS)))
OF_N2 = frozenset(minute for minute, (_, pair, _) in enumerate(TESTS) if "n2" in pair)
STEAL = ("cpu-steal", "n2")
FIRST = min(OF_N2)


def read_at(at, node, role, stolen, seconds):
    (command,) = readers((node,), "/")
    text = f"cpu  {1000 - stolen} 0 0 9 0 0 0 {stolen} 0 0\nprocs_running 1\n"
    if role is Role.LOAD_BEFORE:
        text = "cpu  0 0 0 0 0 0 0 0 0 0\nprocs_running 1\n"
    began = (at + timedelta(seconds=seconds)).isoformat()
    return Transcript(node, command.argv, 0, text, "", 0.01, began, role=role)


def on_guests(found, stolen, *, of="n2", virtual=NODES, late_s=0.0, roles=None):
    """The run on virtual nodes, of which one lost a third of its time in the minutes ``stolen``."""
    roles = {Role.LOAD_BEFORE: -0.5, Role.LOAD_AFTER: 1.5} if roles is None else roles

    def kept(case):
        try:
            started = found.starts(case)[0]
        except IndexError:
            return None
        at = datetime.fromisoformat(started)
        minute = (at - START).seconds // 60
        tool = Transcript("n1", ("iperf3",), 0, "", "", 1.0, started)
        taken = {node: 333 if node == of and minute in stolen else 0 for node in case.nodes}
        return CaseResult(
            ((tool, *(
                read_at(at, node, role, taken[node], seconds + late_s)
                for role, seconds in roles.items() for node in case.nodes
            )),)
        )  # fmt: skip

    facts = {n: replace(one, virtual=n in virtual) for n, one in found.found.items()}
    return replace(found, found=facts, kept=kept)


def slow_at(minutes, value=235.0):
    return run(TESTS, lambda minute, *_: value if minute in minutes else 392.0)


def test_steal_is_named_first_and_the_misses_stay_misses():
    found = on_guests(slow_at(OF_N2), OF_N2)
    (cause,) = diagnose(found)
    assert (named([cause]), len(cause.evidence), cause.explains) == ([STEAL], len(OF_N2), ())
    assert cause.says.startswith("33% of the CPU time that this virtual machine wanted went to")
    assert all(found.records[item].outcome is Outcome.FAILED for item in cause.evidence)


def test_without_steal_the_slow_node_is_named():
    assert named(diagnose(on_guests(slow_at(OF_N2), ()))) == [("slow-node", "n2")]


def test_directions_of_which_all_figures_are_doubted_are_unknown():
    found = on_guests(slow_at(OF_N2), OF_N2)
    lines = [line for node, line in hidden(found, diagnosed(found)) if node == "n2"]
    assert lines
    assert {why for _, why in lines} == {"measured only with cpu-steal (n2)"}


def test_it_is_likely_only_if_the_node_was_fine_without_steal():
    (always,) = diagnose(on_guests(slow_at(OF_N2), OF_N2))
    assert always.confidence == OPEN
    assert always.would_decide == "measure n2 again while no CPU time is stolen from it"
    (once,) = diagnose(on_guests(slow_at({FIRST}), {FIRST}))
    assert (named([once]), once.confidence, once.would_decide) == ([STEAL], LIKELY, "")


def test_a_slow_node_is_not_excused_by_steal_at_some_of_its_times():
    assert named(diagnose(on_guests(slow_at(OF_N2), {FIRST}))) == [("slow-node", "n2")]


def test_a_slow_node_is_not_excused_by_steal_at_another_time():
    assert named(diagnose(on_guests(slow_at(OF_N2), EVERY - OF_N2))) == [("slow-node", "n2")]


def test_a_slow_node_is_not_excused_by_the_steal_of_its_partner():
    """n1 loses CPU time always; n2 also misses with others, of whom none does."""
    found = on_guests(slow_at(OF_N2), EVERY, of="n1")
    assert named(diagnose(found)) == [("slow-node", "n2")]


def test_the_miss_of_a_pair_is_that_of_the_node_that_lost_its_time():
    of_both = next(m for m in OF_N2 if "n1" in TESTS[m][1])
    found = on_guests(slow_at({of_both}), {of_both}, of="n1")
    assert named(diagnose(found)) == [("cpu-steal", "n1")]


@pytest.mark.parametrize(
    "lie",
    [
        {"virtual": ()},  # a bare node has no hypervisor that could take anything
        {"late_s": 30.0},  # the readings of another time
        {"late_s": -30.0},
        {"roles": {}},
        {"roles": {Role.LOAD_BEFORE: -0.5}},
        {"roles": {Role.LOAD_AFTER: 1.5}},
        {"roles": {Role.LOAD_BEFORE: -0.5, Role.LOAD_AFTER: 0.5}},  # it ends before the tool does
        {"roles": {Role.LOAD_BEFORE: 0.5, Role.LOAD_AFTER: 1.5}},
    ],
)
def test_without_evidence_of_steal_nothing_is_excused(lie):
    assert named(diagnose(on_guests(slow_at(OF_N2), OF_N2))) == [STEAL]
    assert named(diagnose(on_guests(slow_at(OF_N2), OF_N2, **lie))) == [("slow-node", "n2")]


def test_two_readings_at_once_are_none():
    found = on_guests(slow_at(OF_N2), OF_N2)

    def twice(case):
        (run,) = found.kept(case).runs
        return CaseResult(((*run, run[-1]),))

    assert STEAL not in named(diagnose(replace(found, kept=twice)))


def test_a_command_that_failed_reads_nothing():
    found = on_guests(slow_at(OF_N2), OF_N2)

    def failed(case):
        (run,) = found.kept(case).runs
        return CaseResult(((run[0], *(replace(one, exit_code=2) for one in run[1:])),))

    assert STEAL not in named(diagnose(replace(found, kept=failed)))


def test_wrong_results_are_no_matter_of_steal():
    found = on_guests(slow_at(OF_N2), OF_N2)
    wrong = corrupt(("n1", "n2"))
    found = replace(found, records={**found.records, wrong.id: wrong})
    assert {cause.cause for cause in diagnose(found)} == {"cpu-steal", "data-corruption"}


def test_nothing_is_measured_again_while_the_time_may_still_be_stolen():
    """What was measured again, without the load of its own, named the node as slow."""
    found = on_guests(slow_at(OF_N2), OF_N2)
    diagnose(found)
    assert diagnosed(found).confirmations() == diagnosed(found).follow_ups() == ()
    slow = on_guests(slow_at(OF_N2), ())
    assert diagnosed(slow).confirmations()

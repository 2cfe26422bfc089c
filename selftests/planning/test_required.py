"""The required checks of a level, computed without pytest, and those that records leave open."""

from dataclasses import replace

import pytest
from testing import prepared
from testing.acceptance import environment
from testing.core_values import ROOT, cluster, item, without_closing_items

from railgauge.cli import main
from railgauge.config import thresholds
from railgauge.core.model import Outcome
from railgauge.core.question import LIMITS, Question
from railgauge.diagnosis import RunResults
from railgauge.planning import plan
from railgauge.planning.pairing import DIRECTED
from railgauge.planning.required import LevelScope, count, required_checks
from railgauge.verdict.decision import RunPlan, decide, not_run
from railgauge.verdict.unanswered import (
    NEVER_RAN,
    NOT_ASKED,
    is_of_a_test,
    never_ran,
    unanswered,
)

NODES = ("n1", "n2", "n3", "n4")
PLATFORMS = ("connectx4-homelab", "h100-tcpx", "h200", "metax-c500", "mi300x", "localhost-gpu")


def scope_of(name, level="smoke", nodes=NODES, **changes):
    platform = without_closing_items(thresholds.load(name, ROOT / "thresholds"))
    declared = cluster(*nodes, **changes)
    return LevelScope(platform, declared, plan.level(platform, declared, level))


@pytest.fixture(scope="module")
def homelab():
    return scope_of("connectx4-homelab")


def record_of(check, outcome=Outcome.PASSED, **changes):
    key = check.key
    return item(
        f"{key.subject}-{key.way}-{key.nodes}-{key.part}-{key.size_bytes}",
        outcome,
        rung=check.rung,
        subject=key.subject,
        nodes=key.nodes,
        pairing=key.part,
        size_bytes=key.size_bytes,
        ways=(key.way,),
        questions=(check.question,),
        by_evidence=True,
        **changes,
    )


def records_of(scope, **changes):
    made = [record_of(check, **changes) for check in required_checks(scope)]
    return {record.id: record for record in made}


# --- the list of required checks ---


@pytest.mark.parametrize("level", thresholds.LEVELS)
@pytest.mark.parametrize("name", PLATFORMS)
def test_required_checks_are_listed_once_each_and_their_count_agrees(name, level):
    scope = scope_of(name, level, groups={"leaf": NODES[:3]})
    listed = list(required_checks(scope))
    assert len(listed) == count(scope) == len({check.key for check in listed})
    assert len({check.question for check in listed}) == len(listed)
    made = {check.question.case for check in listed}
    compared = {check.question.other for check in listed if check.question.other}
    smallest = {case for case in compared if scope.platform.measurements[case.measurement].ladder}
    assert compared - smallest <= made


@pytest.mark.parametrize("lab", ["h100-tcpx", "h200", "metax-c500"])
def test_each_required_check_is_an_item_of_the_ladder(lab, capsys):
    """`railgauge plan`, which does not use pytest, counts as many items as pytest collects."""
    hostfile = ["--hostfile", f"{ROOT}/hostfiles/lab-{lab}.yaml", "--level", "signoff"]
    ask = ("--collect-only", "-q", "-p", "no:cacheprovider", *hostfile)
    run = prepared.run(prepared.Request(ask, ROOT, environment(), time_limit_s=300))
    assert run.returncode == 0, run.stdout + run.stderr
    collected = sum("::" in line for line in run.stdout.splitlines())
    assert main(["plan", *hostfile, "--root", str(ROOT)]) == 0
    assert f"judges {collected:,} items" in capsys.readouterr().out.splitlines()


def test_more_rounds_require_more(homelab):
    declared = cluster(*NODES)
    more = plan.level(homelab.platform, declared, "smoke", 3)
    assert count(replace(homelab, level=more)) > count(homelab)


def test_a_platform_without_pairs_requires_no_pair():
    scope = scope_of("connectx4-homelab", nodes=("n1",))
    assert {check.rung for check in required_checks(scope)} == {0}


# --- which records answer a required check ---


def left(scope, records):
    return list(unanswered(required_checks(scope), records))


def test_a_complete_run_leaves_no_required_check_open(homelab):
    assert not left(homelab, records_of(homelab))


def test_each_missing_record_is_listed_as_not_run(homelab):
    whole = records_of(homelab)
    for name, gone in whole.items():
        (absent,) = left(homelab, {k: v for k, v in whole.items() if k != name})
        assert absent.outcome is Outcome.NOT_RUN
        assert absent.reason == NOT_ASKED
        assert (absent.subject, absent.nodes, absent.pairing, absent.size_bytes) == (
            gone.subject,
            gone.nodes,
            gone.pairing,
            gone.size_bytes,
        )


@pytest.mark.parametrize("outcome", sorted(set(Outcome) - {Outcome.PASSED, Outcome.MARGINAL}))
def test_an_item_without_a_pass_answers_the_required_check_of_its_subject(homelab, outcome):
    """It is counted under its own outcome, even if it got to no question."""
    records = {
        name: replace(record, outcome=outcome, questions=())
        for name, record in records_of(homelab).items()
    }
    assert not left(homelab, records)


def test_a_pass_without_the_question_answers_no_required_check(homelab):
    records = {n: replace(r, questions=()) for n, r in records_of(homelab).items()}
    assert len(left(homelab, records)) == count(homelab)


def test_an_error_answers_no_required_check_of_another_subject(homelab):
    """A site's own item asked the same question and ended in an error."""
    check = next(required_checks(homelab))
    own = item("own", Outcome.ERROR, subject="own", questions=(check.question,), ways=("own",))
    assert len(left(homelab, {"own": own})) == count(homelab)


def test_each_open_required_check_has_its_own_id(homelab):
    listed = left(homelab, {})
    ids = [record.id for record in listed]
    assert [record.ways for record in listed] == [(d.key.way,) for d in required_checks(homelab)]
    assert len(ids) == len(set(ids))
    assert "cpu_governor::fact[n1]" in ids
    assert any(name.endswith("-mlx5_0-8MiB]") for name in ids)


@pytest.mark.parametrize(
    ("item_id", "is_so"),
    [
        ("tests/node/test_host.py::test_cpu_governor[n1]", True),
        ("tests/node/test_host.py::test_processes", True),
        ("cpu_governor::fact[n1]", False),
        ("gpu_processes::fact[tests/test_x.py::test_y]", False),
        ("", False),
    ],
)
def test_the_file_in_an_id_marks_a_collected_item(item_id, is_so):
    assert is_of_a_test(item_id) is is_so


def test_other_sizes_nodes_or_repeats_do_not_answer_a_required_check(homelab):
    check = next(d for d in required_checks(homelab) if d.question.kind == LIMITS)
    case = check.question.case
    for case_asked, size in (
        (case, 2),
        (replace(case, nodes=tuple(reversed(case.nodes))), check.question.size_bytes),
        (replace(case, repeats=7), check.question.size_bytes),
        (replace(case, sizes=(2,)), check.question.size_bytes),
    ):
        other = Question(LIMITS, case_asked, size)
        record = replace(record_of(check), questions=(other,))
        assert check.key.subject in {r.subject for r in left(homelab, {"it": record})}
        assert len(left(homelab, {"it": record})) == count(homelab)


def test_a_test_may_be_renamed_and_others_may_be_added(homelab):
    records = {f"site-{n}": replace(r, id=f"site-{n}") for n, r in records_of(homelab).items()}
    assert not left(homelab, {**records, "own": item("own")})


# --- the verdict ---


def judged(scope, records, planned=None):
    run = RunPlan(
        schema_version=2,
        run_id="run",
        evidence="hardware",
        level=scope.level.name,
        rounds=None,
        planned=tuple(records if planned is None else planned),
        software="0",
        directions=DIRECTED,
    )
    results = RunResults(records, {}, scope.platform, scope.cluster)
    return run, results


def test_a_complete_run_is_accepted_and_one_open_required_check_makes_it_incomplete(homelab):
    records = records_of(homelab)
    verdict = decide(*judged(homelab, records))
    assert (verdict.verdict, verdict.counts.not_run) == ("accepted", 0)
    first = next(iter(records))
    rest = {name: record for name, record in records.items() if name != first}
    verdict = decide(*judged(homelab, rest))
    assert (verdict.verdict, verdict.exit_code, verdict.counts.not_run) == ("incomplete", 10, 1)
    assert verdict.counts.planned == count(homelab)


def test_a_shorter_list_of_planned_items_removes_no_required_check(homelab):
    """run.json only lists what the run planned; the required checks are computed from the level."""
    records = records_of(homelab)
    planned = list(records)[:3]
    verdict = decide(*judged(homelab, records, planned))
    assert verdict.counts.not_run == count(homelab) - 3
    assert verdict.verdict == "incomplete"


def test_an_item_that_never_ran_is_counted_once(homelab):
    records = records_of(homelab)
    name, gone = next(iter(records.items()))
    records[name] = never_ran(replace(gone, questions=(), by_evidence=False))
    assert records[name].reason == NEVER_RAN
    assert not list(not_run(*judged(homelab, records)))
    verdict = decide(*judged(homelab, records))
    assert (verdict.counts.not_run, verdict.counts.planned) == (1, count(homelab))


@pytest.mark.parametrize(
    ("name", "nodes", "named"),
    [
        ("connectx4-homelab", NODES, "no GPU"),
        ("connectx4-homelab", ("n1",), "one node, no pair, no GPU"),
        ("h200", ("n1",), "one node, no pair"),
        ("h200", ("n1", "n2"), ""),
    ],
)
def test_a_verdict_for_a_part_of_a_cluster_names_its_scope(name, nodes, named):
    scope = scope_of(name, nodes=nodes)
    assert decide(*judged(scope, records_of(scope))).scope == named

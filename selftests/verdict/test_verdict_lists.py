"""A verdict's lists: counts, smallest margins, failures, absent items."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from testing.core_values import ROOT, cluster, item, judgement

from railgauge.config import thresholds
from railgauge.core.model import Outcome
from railgauge.core.terms import Verdict
from railgauge.diagnosis import STRAGGLER, Cause
from railgauge.diagnosis.model import Where
from railgauge.verdict import counts as verdict
from railgauge.verdict.counts import (
    Counts,
    RunVerdict,
    count,
    failure_groups,
    left_out,
    scope_of,
    verdict_of,
)
from railgauge.verdict.counts import worst_measurements as worst
from railgauge.verdict.history import MergedPart, Remeasured


def counts(**changes):
    names = ("planned", "asserted", "passed", "marginal", "failed", "error", "blocked", "flaky")
    return Counts(**{**dict.fromkeys((*names, "record_only", "not_run"), 0), **changes})


def test_the_number_that_ran_is_that_of_planned_items_less_those_not_run():
    assert counts(planned=5, not_run=2).ran == 3


@pytest.mark.parametrize(
    ("planned", "asserted", "failed", "expected"),
    [
        (0, 0, 0, "incomplete"), (1, 1, 0, "accepted"), (2, 1, 0, "incomplete"),
        (300, 300, 0, "accepted"), (300, 299, 0, "incomplete"), (1, 1, 1, "rejected"),
        (300, 300, 2, "rejected"), (2, 1, 1, "rejected"),
    ],
)  # fmt: skip
def test_the_verdict_follows_from_three_numbers(planned, asserted, failed, expected):
    assert verdict_of(counts(planned=planned, asserted=asserted, failed=failed)) == expected


SHARD, ONE_NODE = {"shard": "1/2"}, {"only": "n1", "partners": "n[2-3]"}


@pytest.mark.parametrize(
    (
        "asserted",
        "failed",
        "covered",
        "expected",
    ),  # of two items: of all, of a shard, of some nodes
    [
        (2, 0, 0, ("accepted", "incomplete", "qualified")),
        (2, 1, 1, ("accepted with deviations", "incomplete", "qualified with deviations")),
        (2, 2, 1, ("rejected", "rejected", "not qualified")),
        (2, 1, 2, ("accepted with deviations", "incomplete", "qualified with deviations")),
        (1, 1, 1, ("incomplete", "incomplete", "incomplete")),
    ],
)
def test_deviations_and_parts_have_verdicts_of_their_own(asserted, failed, covered, expected):
    found = counts(planned=2, asserted=asserted, failed=failed)
    assert tuple(verdict_of(found, covered, part) for part in (None, SHARD, ONE_NODE)) == expected


def test_outcomes_are_counted_under_their_own_names():
    records = {str(outcome): item(str(outcome), outcome) for outcome in Outcome}
    found = count(records, records)
    assert found == counts(
        planned=8, asserted=3, passed=1, marginal=1, failed=1, error=1, blocked=1, flaky=1,
        record_only=1, not_run=1,
    )  # fmt: skip


def listing(level, names):
    return RunVerdict(
        "run-1", "prod", "bench", "hardware", level, "accepted", counts(), {}, {}, not_limited=names
    )


@pytest.mark.parametrize(
    ("level", "names", "line"),
    [
        ("smoke", ("a", "b"), "possible here, not limited: a, b"),
        ("nightly", ("a",), "possible here, not limited: a"),
        ("signoff", ("a",), "excluded from this sign-off, possible here, not limited: a"),
        ("tuned", ("a",), "possible here, not limited: a"),
        ("signoff", (), ""),
        ("signoff", None, ""),
    ],
)
def test_one_line_names_what_is_possible_and_not_limited(level, names, line):
    """``tuned`` comes after ``signoff`` in the alphabet, ``smoke`` too, ``nightly`` before it."""
    assert listing(level, names).excluded == line


MANY = tuple(f"gpu_matrix_{number}" for number in range(43))


@pytest.mark.parametrize(
    ("level", "names", "line"),
    [
        ("smoke", ("a", "b"), "possible here, not limited: a, b"),
        ("smoke", MANY, "possible here, not limited: 43 tests, see not_limited in verdict.json"),
        (
            "signoff",
            MANY,
            "excluded from this sign-off, possible here, not limited: 43 tests, see not_limited in "
            "verdict.json",
        ),
        ("smoke", (), ""),
        ("smoke", None, ""),
    ],
)
def test_a_long_list_is_one_line_on_a_screen_and_says_where_it_is(level, names, line):
    listed = listing(level, names)
    assert listed.excluded_line == line
    assert len(line) <= 101
    assert all(name in listed.excluded for name in names or ()), "other reports name each"


MET = (
    Verdict.ACCEPTED, Verdict.WITH_DEVIATIONS, Verdict.QUALIFIED, Verdict.QUALIFIED_WITH_DEVIATIONS,
)  # fmt: skip


@pytest.mark.parametrize(
    ("verdict", "causes", "line"),
    [
        (Verdict.ACCEPTED, ("zebra", STRAGGLER, "acs-enabled"), "but n2"),
        (Verdict.ACCEPTED, (STRAGGLER, STRAGGLER), "but n1, and 1 more parts are behind"),
        (Verdict.ACCEPTED, (STRAGGLER,) * 4, "but n1, and 3 more parts are behind"),
        (Verdict.ACCEPTED, ("zebra", "acs-enabled"), ""),
        *((one, (STRAGGLER,), "but n1") for one in MET),
        *((one, (STRAGGLER,), "") for one in Verdict if one not in MET),
        (Verdict.ACCEPTED, (), ""),
    ],
)
def test_a_run_that_is_accepted_or_qualified_says_who_is_behind(verdict, causes, line):
    made = [SimpleNamespace(cause=name, headline=f"n{i}") for i, name in enumerate(causes, 1)]
    names = ("run-1", "prod", "bench", "hardware", "smoke")
    run = RunVerdict(*names, verdict, counts(), {}, {}, causes=made)
    assert run.reservation == line


@pytest.mark.parametrize("names", [(), ("a", "b")])
def test_verdict_json_holds_what_is_not_limited_if_the_run_kept_it(names):
    assert listing("smoke", names).to_json()["not_limited"] == names
    assert "not_limited" not in listing("smoke", None).to_json()


@pytest.mark.parametrize(
    ("part", "expected"),
    [(None, "INCOMPLETE"), (SHARD, "INCOMPLETE"), (ONE_NODE, "n1 INCOMPLETE")],
)
def test_a_verdict_of_some_nodes_follows_their_names(part, expected):
    assert (
        replace(listing("smoke", None), verdict=Verdict.INCOMPLETE, part=part).heading == expected
    )


def test_verdict_json_has_soak_part_and_deviations_only_of_a_run_that_has_them():
    plain = listing("smoke", None)
    assert not {"soak", "part", "deviations", "merged"} & set(plain.to_json())
    deviation = SimpleNamespace(to_json=lambda: "as data", __deepcopy__=lambda memo: None)
    full = replace(plain, soak={"rounds": 3}, part=SHARD, deviations=(deviation,)).to_json()
    assert (full["soak"], full["part"], full["deviations"]) == ({"rounds": 3}, SHARD, ["as data"])
    for name in ("soak", "part"):
        (other,) = {"soak", "part"} - {name}
        assert other not in replace(plain, **{name: {"a": "b"}}).to_json()


def test_a_result_that_a_later_run_replaced_is_listed_with_the_first_one():
    one = Remeasured("n1", "r1", "then", {"passed": 2, "failed": 1}, {"passed": 3}, "odd")
    two = Remeasured("n2", "r1", "then", {"not_run": 1, "error": 4}, {"marginal": 5})
    parts = (MergedPart("r1", "", "then"), MergedPart("r2", "now", "later", replaces=(one, two)))
    found = replace(listing("smoke", None), merged=parts)
    assert found.measured_again == (
        "n1: 1 failed, 2 passed (odd) in r1, ended then; 3 passed in r2, begun now",
        "n2: 4 error, 1 not run in r1, ended then; 5 marginal in r2, begun now",
    )
    assert [part["run_id"] for part in found.to_json()["merged"]] == ["r1", "r2"]
    assert listing("smoke", None).measured_again == ()


def test_verdict_json_holds_its_version_and_its_causes_as_plain_data():
    cause = Cause("memlock-limited", Where("n1"), "says", ("a",), (), "certain", "", "", "001: x")
    full = RunVerdict(
        "run-1", "prod", "bench", "hardware", "smoke", "accepted", counts(), {}, {}, causes=(cause,)
    )
    data = full.to_json()
    assert data["schema_version"] == verdict.SCHEMA_VERSION == 2
    assert data["causes"] == [cause.to_json()]
    assert (data["scope"], data["notes"]) == ("", ())


@pytest.mark.parametrize(
    ("names", "gpus", "expected"),
    [
        ("n1", None, "one node, no pair, no GPU"),
        ("n1", 8, "one node, no pair"),
        ("n1 n2", 8, ""),
        ("n1 n2 n3", None, "no GPU"),
    ],
)
def test_the_scope_names_what_the_cluster_lacks(names, gpus, expected):
    assert scope_of(cluster(*names.split()), SimpleNamespace(gpus=gpus)) == expected


# --- coverage ---


def test_coverage_counts_pairs_of_two_and_paths_of_the_rungs_that_have_them():
    platform = thresholds.load("metax-c500", ROOT / "thresholds")
    four = cluster("n1", "n2", "n3", "n4")
    found = [
        item("a", rung=2, pairing="mlx5_0", size_bytes=8),
        item("b", rung=4, nodes=("n1", "n2", "n3"), pairing="mlx5_1"),
        item("c", rung=3, nodes=("n1",), pairing="mlx5_1", size_bytes=8),
        item("d", rung=0, nodes=("n1",), pairing="mlx5_1", size_bytes=16),
        item("e", rung=2, pairing="gpu0-mlx5_0"),
    ]
    shares = {name: share["tested"] for name, share in coverage_of(four, platform, found).items()}
    assert shares == {
        "nodes": 3, "pairs": 1, "pairings": 2, "sizes": 2, "rungs": 4, "rails": 1,
    }  # fmt: skip
    declared = coverage_of(four, platform, [])["pairs"]
    assert declared == {"tested": 0, "declared": 6}


def test_coverage_counts_leaves_where_the_hostfile_has_them():
    platform = thresholds.load("metax-c500", ROOT / "thresholds")
    found = [item("a"), item("b", nodes=("n2", "n3")), item("c", Outcome.ERROR, nodes=("n3", "n4"))]
    four = cluster("n1", "n2", "n3", "n4", groups={"l1": ("n1", "n2"), "l2": ("n3", "n4")})
    shares = coverage_of(four, platform, found)
    assert shares["leaves"] == {"tested": 2, "declared": 2}
    assert shares["pairs_within_leaves"] == {"tested": 1, "declared": 2}
    assert shares["pairs_between_leaves"] == {"tested": 1, "declared": 4}
    without = coverage_of(cluster("n1", "n2", "n3", "n4"), platform, found)
    assert set(without) == {"nodes", "pairs", "pairings", "sizes", "rungs", "rails"}


def coverage_of(*words):
    return verdict.coverage(*words)


# --- the list of the worst ---


def measured(name, margin=0.1, **changes):
    about = {"nodes": ("n1",), "pairing": ""}
    judged = judgement(margin=margin, **{"metric": name, **changes})
    return item(name, judgements=(judged,), **about)


def test_five_measurements_are_listed_with_the_smallest_margin_first():
    lines = worst([measured(str(i), margin=i / 10) for i in range(9, -2, -1)])
    assert [line.id for line in lines] == ["-1", "0", "1", "2", "3"]


def test_a_measurement_is_listed_once_with_its_smallest_margin():
    many = [measured(str(i), margin=i / 10, metric="busbw") for i in range(9, -2, -1)]
    other = measured("z", margin=0.5, metric="algbw")
    assert [line.id for line in worst([*many, other])] == ["-1", "z"]


def test_equal_margins_are_listed_by_id():
    assert [line.id for line in worst([measured("b"), measured("a")])] == ["a", "b"]


def test_counts_and_facts_have_no_margin():
    assert worst([measured("a", unit="count"), measured("b", margin=None)]) == []
    assert worst([measured("a", outcome=Outcome.RECORD_ONLY)]) == []
    assert len(worst([measured("a", margin=0.0)])) == 1
    assert len(worst([measured(unit, unit=unit) for unit in ("Gb/s", "us")])) == 2


def test_a_line_says_where_and_what_physics_allows():
    (line,) = worst([measured("a", physical_ceiling=400.0, unit="Gb/s")])
    assert (line.where, line.measured, line.limit) == ("n1", "390 Gb/s", ">= 372")
    assert (line.ceiling, line.subject) == ("400 Gb/s", "host_write_bandwidth")
    (line,) = worst([measured("a")])
    assert line.ceiling == ""


# --- what went wrong, and what is absent ---


def test_failures_come_before_errors_and_lower_rungs_first():
    listed = failure_groups(
        [
            item("e", Outcome.ERROR, rung=0, reason="lost"),
            item("f4", Outcome.FAILED, rung=4, reason="slow"),
            item("f1", Outcome.FAILED, rung=1, reason="slow"),
            item("ok"),
            item("b", Outcome.BLOCKED),
        ]
    )
    assert [(one.what, one.rung, one.ids) for one in listed] == [
        ("failed", 1, "f1"), ("failed", 4, "f4"), ("could not tell", 0, "e"),
    ]  # fmt: skip


def test_items_with_one_reason_are_one_group():
    names = [f"tests/x.py::test_a[{i}]" for i in range(4)]
    (one,) = failure_groups(
        [item(name, Outcome.FAILED, reason="slow", remedy="r") for name in names]
    )
    assert (one.items, one.ids) == (tuple(names), "test_a[0] and 3 more")
    assert (one.reason, one.remedy) == ("slow", "r")
    assert len(failure_groups([item(n, Outcome.FAILED, reason=n) for n in "ab"])) == 2
    assert len(failure_groups([item(n, Outcome.FAILED, remedy=n) for n in "ab"])) == 2


def test_items_that_did_not_run_are_counted_by_subject_and_reason():
    gone = [item(n, Outcome.NOT_RUN, reason="why", subject=n[0]) for n in ("a", "b1", "b2")]
    assert left_out([*gone, item("c"), item("d", Outcome.ERROR)]) == [("b: why", 2), ("a: why", 1)]

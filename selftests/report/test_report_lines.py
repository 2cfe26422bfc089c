"""Lines of reports: one for each item or, in a very large run, for each test on the same nodes."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from railgauge.core.model import Judgement, Outcome
from railgauge.judging.record import ItemRecord
from railgauge.planning.sub_items import MOST_ITEMS, place_id
from railgauge.report import junit, lines
from railgauge.report.rows import Anchors

TEST = "tests/network/test_rdma.py::test_write_bandwidth"


def judged(margin, outcome=Outcome.PASSED, metric="bw_average"):
    worst = None if margin is None else 100 * (1 + margin)
    return Judgement(
        metric=metric,
        outcome=outcome,
        measured=f"{worst} Gb/s",
        limit=">= 100 Gb/s",
        basis="001",
        margin=margin,
        worst=worst,
        unit="Gb/s",
    )


def item(nic, size, outcome=Outcome.PASSED, margin=0.1, nodes=("a", "b"), **more):
    return ItemRecord(
        id=f"{TEST}[{':'.join(nodes)}-{nic}-{size >> 10}KiB]",
        rung=1,
        subject="host_write_bandwidth",
        title="Writes",
        outcome=outcome,
        nodes=nodes,
        pairing=nic,
        size_bytes=size,
        judgements=(judged(margin, outcome),),
        reason="too slow" if outcome is Outcome.FAILED else "",
        transcript=f"transcripts/{nic}.txt",
        duration_s=2.0,
        **more,
    )


GOOD = [item("mlx5_0", 1 << 16, margin=0.3), item("mlx5_1", 1 << 16), item("mlx5_1", 1 << 20)]
BAD = item("mlx5_0", 1 << 20, Outcome.FAILED, -0.2)


def summed(*records):
    return lines.of_places({one.id: one for one in records})


def only(found):
    (line,) = found.records.values()
    return line


def test_a_line_sums_the_items_of_a_test_on_the_same_nodes():
    found = summed(*GOOD, replace(GOOD[0], id=f"{TEST}[a:c-mlx5_0-64KiB]", nodes=("a", "c")))
    assert list(found.records) == [f"{TEST}[a:b]", f"{TEST}[a:c]"]
    assert found.numbers == {f"{TEST}[a:b]": 3, f"{TEST}[a:c]": 1}
    assert found.records[f"{TEST}[a:b]"].duration_s == 4.0, "two measurements of 2 s"
    assert found.records[f"{TEST}[a:c]"].judgements == GOOD[0].judgements


def test_the_smallest_margin_of_each_metric_is_shown_with_its_item():
    line = only(summed(*GOOD[:2], replace(GOOD[2], judgements=(judged(0.4, metric="bw_peak"),))))
    assert line.outcome is Outcome.PASSED
    assert not line.reason
    assert [(one.metric, one.margin) for one in line.judgements] == [
        ("mlx5_1-64KiB bw_average", 0.1),
        ("mlx5_1-1MiB bw_peak", 0.4),
    ]
    assert line.transcript == "transcripts/mlx5_1.txt"


@pytest.mark.parametrize("outcome", [one for one in Outcome if one not in lines.GOOD])
def test_one_item_that_did_not_pass_is_the_outcome_of_its_line(outcome):
    other = replace(BAD, outcome=outcome, reason="why so")
    for order in ([*GOOD, other], [other, *GOOD]):
        line = only(summed(*order))
        assert line.outcome is outcome
        assert line.reason == "1 of 4 not passed: mlx5_0-1MiB: why so"
        assert line.transcript == other.transcript


def test_failures_precede_the_smallest_margins():
    line = only(summed(*GOOD, BAD))
    assert [(one.metric, one.margin) for one in line.judgements] == [
        ("mlx5_0-1MiB bw_average", -0.2),
        ("mlx5_1-64KiB bw_average", 0.1),
    ]


def test_failures_beyond_twenty_are_counted():
    bad = [item(f"mlx5_{number}", 1 << 16, Outcome.FAILED, -0.1) for number in range(10, 33)]
    line = only(summed(*bad, *GOOD))
    assert line.reason.startswith("23 of 26 not passed: mlx5_10-64KiB: too slow; ")
    assert line.reason.endswith("mlx5_29-64KiB: too slow; and 3 more")
    assert len([one for one in line.judgements if one.outcome is Outcome.FAILED]) == 20


def test_an_item_without_a_place_keeps_its_name():
    scan = ItemRecord("tests/x.py::test_scan[leaf1]", 1, "fabric_links", "t", Outcome.PASSED)
    counters = ItemRecord("counters::growth", 1, "growth", "t", Outcome.FAILED, nodes=("a",))
    assert list(summed(scan, counters).records) == [scan.id, counters.id]


def test_items_and_what_holds_them_lead_to_their_line():
    found = summed(*GOOD, BAD)
    anchors = Anchors(found)
    assert {anchors[one.id] for one in (*GOOD, BAD)} == {"r0"}
    assert anchors[f"{TEST}[a:b-all-pairings-all-sizes]"] == "r0"
    assert anchors.get("tests/other.py::test_x[a]", "none") == "none"
    single = Anchors(lines.of_items({BAD.id: BAD}))
    assert single[BAD.id] == "r0"
    assert single.get(GOOD[0].id, "") == ""


def test_a_deviation_is_shown_where_all_that_did_not_pass_is_accepted():
    other = item("mlx5_2", 1 << 20, Outcome.FAILED, -0.2)
    found = summed(*GOOD, BAD, other)
    half = SimpleNamespace(covers=(BAD.id,))
    whole = SimpleNamespace(covers=(BAD.id, other.id))
    assert found.accepted([half]) == {}
    assert found.accepted([whole]) == {f"{TEST}[a:b]": whole}
    assert lines.of_items({BAD.id: BAD}).accepted([half]) == {BAD.id: half}


def test_a_run_of_few_items_has_a_line_for_each():
    records = {one.id: one for one in (*GOOD, BAD)}
    assert lines.of_run(records, has_sub_items=False).records == records
    assert len(lines.of_run(records, has_sub_items=True).records) == 1
    many = {str(number): BAD for number in range(MOST_ITEMS + 1)}
    assert len(lines.of_run(many, has_sub_items=False).records) == 1


@pytest.mark.parametrize(
    ("item_id", "place"),
    [
        ("t.py::test_x[a:b-all-pairings-all-sizes]", "t.py::test_x[a:b]"),
        ("t.py::test_x[a:b-all-pairings]", "t.py::test_x[a:b]"),
        ("t.py::test_x[a:b-all-sizes]", "t.py::test_x[a:b]"),
        ("t.py::test_x[a:b-mlx5_0-8MiB]", "t.py::test_x[a:b-mlx5_0-8MiB]"),
        ("t.py::test_all_sizes", "t.py::test_all_sizes"),
    ],
)
def test_an_item_that_holds_others_is_a_line_of_its_place(item_id, place):
    assert place_id(item_id) == place


def test_the_junit_message_names_what_did_not_pass():
    text = junit.message(only(summed(*GOOD, BAD)))
    assert text == "limit missed: 1 of 4 not passed: mlx5_0-1MiB: too slow"

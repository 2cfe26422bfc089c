"""Values as plain data and back; what strangers wrote is refused with its place."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railgauge.core.errors import BadInput
from railgauge.core.model import Case, Judgement, Outcome, Pairing
from railgauge.core.plain import from_plain, to_plain
from railgauge.core.question import LIMITS, FactAt, Question
from railgauge.judging.record import ItemRecord

CASE = Case("x", ("a", "b"), Pairing("mlx5_0", 3, "near"), (8, 16), 2)
ITEM = ItemRecord(
    "tests/x.py::test[a]", 1, "x", "title", Outcome.FAILED, ("a", "b"),
    judgements=(
        Judgement("bw", Outcome.FAILED, "1", ">= 2", "derived: x", values=(1.0,), worst=1.0,
                  points_at=(("a", "mlx5_0"),)),
    ),
    questions=(Question(LIMITS, CASE, 8), Question("fact", fact=FactAt("a", ("kernel",)))),
    by_evidence=True,
)  # fmt: skip


def test_there_and_back_through_json():
    assert from_plain(ItemRecord, json.loads(json.dumps(to_plain(ITEM)))) == ITEM


@given(
    st.builds(Case, st.text(), st.tuples(st.text()), st.none(), st.tuples(st.integers(0, 2**60)))
)
def test_any_case_there_and_back(case):
    assert from_plain(Case, to_plain(case)) == case


def test_what_has_a_default_may_be_absent():
    """A record of an earlier version has fewer fields."""
    data = to_plain(ITEM)
    del data["by_evidence"], data["questions"]
    assert from_plain(ItemRecord, data).questions == ()


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda d: d.update(rung="1"), "rung"),
        (lambda d: d.update(rung=True), "rung"),
        (lambda d: d.update(rung=2**63), "rung"),
        (lambda d: d.update(by_evidence=1), "by_evidence"),
        (lambda d: d.update(nodes="ab"), "nodes"),
        (lambda d: d.update(surplus=1), ""),
        (lambda d: d.pop("id"), ""),
        (lambda d: d.update(outcome="grand"), "outcome"),
        (lambda d: d["judgements"][0].update(worst=float("nan")), "judgements[0].worst"),
        (lambda d: d["judgements"][0].update(points_at=[["a"]]), "judgements[0].points_at[0]"),
        (lambda d: d["questions"][0].update(case=[]), "questions[0].case"),
        (lambda d: d["questions"][0]["case"].update(sizes=[1.5]), "questions[0].case.sizes[0]"),
    ],
)
def test_a_wrong_field_is_named(change, where):
    data = to_plain(ITEM)
    change(data)
    with pytest.raises(BadInput) as caught:
        from_plain(ItemRecord, data)
    assert caught.value.where == where


@pytest.mark.parametrize("data", [None, 5, "x", [], [[]], True])
def test_what_is_no_object_is_refused(data):
    with pytest.raises(BadInput):
        from_plain(ItemRecord, data)

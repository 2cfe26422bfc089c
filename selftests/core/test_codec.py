"""Values are converted to plain data and back; wrong data is refused with its location."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railgauge.core.codec import from_plain, to_plain
from railgauge.core.errors import BadInput, NodeUnreachable, NoEvidence
from railgauge.core.model import Case, Judgement, Outcome, Pairing
from railgauge.core.question import LIMITS, FactAt, Question
from railgauge.core.terms import Role, Rung
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


def test_values_come_back_through_json_as_they_were():
    assert from_plain(ItemRecord, json.loads(json.dumps(to_plain(ITEM)))) == ITEM


def test_only_the_simplest_types_are_written():
    """xdist passes only plain types between processes, not even a string enumeration."""

    def kinds(value):
        if isinstance(value, dict):
            return {type(value)}.union(*map(kinds, value), *map(kinds, value.values()))
        return {type(value)}.union(*map(kinds, value)) if isinstance(value, list) else {type(value)}

    terms = {"rung": Rung.NETWORK, "roles": (Role.CLIENT,)}
    assert kinds(to_plain([ITEM, terms])) <= {dict, list, str, int, float, bool, type(None)}


@given(
    st.builds(Case, st.text(), st.tuples(st.text()), st.none(), st.tuples(st.integers(0, 2**60)))
)
def test_any_case_comes_back_as_it_was(case):
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


def test_an_unknown_field_is_named_before_other_faults():
    data = {key: value for key, value in to_plain(ITEM).items() if key != "id"}
    with pytest.raises(BadInput, match=r"^has no field 'id'$"):
        from_plain(ItemRecord, data | {"rung": "1"})
    with pytest.raises(BadInput, match=r"^has an unknown field 'surplus'$"):
        from_plain(ItemRecord, data | {"rung": "1", "surplus": 1})


def test_a_file_that_is_nested_without_end_is_refused():
    """The error is one line: a long location is truncated."""
    data = None
    for _ in range(2000):
        data = {"nic": "mlx5_0", "peer": data}
    with pytest.raises(BadInput, match="is nested too deeply") as caught:
        from_plain(Pairing, data)
    assert len(str(caught.value)) < 300


def test_a_long_list_of_faults_is_read_up_to_the_first():
    """A file of one gigabyte can hold a hundred million of them."""
    began = time.process_time()
    with pytest.raises(BadInput, match="should be text") as caught:
        from_plain(ItemRecord, to_plain(ITEM) | {"nodes": [1] * 10**6})
    assert caught.value.where == "nodes[0]"
    assert time.process_time() - began < 1, "all faults were gathered"


def test_an_error_comes_back_with_its_kind():
    lost = NodeUnreachable("no route", where="a", remedy="look")
    again = from_plain(NoEvidence, to_plain(lost))
    assert (type(again), str(again)) == (NodeUnreachable, "a: no route; look")
    wrong = from_plain(NoEvidence, {**to_plain(lost), "kind": "bad-input"})
    assert (type(wrong), str(wrong)) == (NoEvidence, "a: no route; look")


@pytest.mark.parametrize("data", [{"kind": "tool"}, "tool", {**dict.fromkeys("kwr", "")}])
def test_data_that_are_no_error_are_refused(data):
    with pytest.raises(BadInput):
        from_plain(NoEvidence, data)


def test_numbers_of_a_node_may_be_of_any_size():
    """A counter that a device lacks often reads as all ones; it is judged, not refused."""
    facts = {**to_plain(Judgement("x", Outcome.PASSED, "", "", "")), "worst": 2**64 - 1}
    assert from_plain(Judgement, facts, any_number=True).worst == 2**64 - 1
    with pytest.raises(BadInput):
        from_plain(Judgement, facts)

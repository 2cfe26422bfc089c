"""``junit.xml`` agrees with the record and has the form that Jenkins reads."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from xml.etree import ElementTree as Xml

import pytest

from railgauge.core.model import Judgement, Outcome
from railgauge.judging.record import ItemRecord
from railgauge.report.junit import SessionInfo, document
from railgauge.report.lines import of_items

BEGAN = datetime(2026, 11, 22, 7, 25, 7, 500000, timezone(timedelta(hours=1)))
SESSION = SessionInfo(BEGAN, 61.25, "node & co", "simulated")
ID = "tests/network/test_rdma.py::test_write[n01:n02-mlx5_0-8MiB]"
JUDGED = Judgement(
    metric="bw_average",
    unit="MiB/s",
    values=(1.0,),
    measured="1.00 MiB/s",
    limit=">= 2.00 MiB/s",
    basis="004: says <so>",
    outcome=Outcome.FAILED,
    reason="1.00 MiB/s is less than 2.00 MiB/s",
)
ITEM = ItemRecord(
    id=ID, rung=1, subject="write", title="t", outcome=Outcome.PASSED, judgements=(JUDGED,)
)


def suite(*records):
    root = Xml.fromstring(document(of_items(dict(enumerate(records))), SESSION))
    assert root.tag == "testsuites"
    (found,) = root
    return found


def ended(outcome, **more):
    return replace(ITEM, outcome=outcome, reason="why", **more)


@pytest.mark.parametrize("outcome", Outcome)
def test_nothing_but_a_pass_looks_like_one(outcome):
    (case,) = suite(ended(outcome))
    kinds = [child.tag for child in case if child.tag != "properties"]
    good = outcome in (Outcome.PASSED, Outcome.MARGINAL)
    assert kinds == [] if good else len(kinds) == 1
    if not good:
        assert "why" in case[-1].attrib["message"]
        assert case[-1].text == case[-1].attrib["message"]


def test_the_message_says_kind_reason_and_remedy():
    error = ended(Outcome.ERROR, error_kind="tool-missing", remedy="install it")
    (case,) = suite(error)
    assert case.find("error").attrib["message"] == "tool-missing: why; install it"
    (case,) = suite(ended(Outcome.FAILED))
    assert case.find("failure").attrib["message"] == "limit missed: why"


def test_a_case_has_the_address_and_properties_that_pytest_gives_it():
    (case,) = suite(replace(ITEM, duration_s=1.5))
    assert case.attrib == {
        "classname": "tests.network.test_rdma",
        "name": "test_write[n01:n02-mlx5_0-8MiB]",
        "time": "1.500",
    }
    properties = [(p.attrib["name"], p.attrib["value"]) for p in case.iter("property")]
    assert properties == [
        ("bw_average.measured", "1.00 MiB/s"),
        ("bw_average.limit", ">= 2.00 MiB/s"),
        ("bw_average.basis", "004: says <so>"),
        ("outcome", "passed"),
        ("evidence", "simulated"),
    ]


def test_brackets_and_dots_of_a_parameter_stay_in_the_name():
    (case,) = suite(replace(ITEM, id="tests/a/test_b.py::test_c[x.y::z[1]]"))
    assert (case.attrib["classname"], case.attrib["name"]) == (
        "tests.a.test_b",
        "test_c[x.y::z[1]]",
    )


def test_the_suite_counts_what_it_has():
    outcomes = (Outcome.PASSED, Outcome.FAILED, Outcome.ERROR, Outcome.FLAKY, Outcome.BLOCKED)
    attributes = suite(*map(ended, outcomes)).attrib
    assert attributes == {
        "name": "railgauge",
        "errors": "2",
        "failures": "1",
        "skipped": "1",
        "tests": "5",
        "time": "61.250",
        "timestamp": "2026-11-22T07:25:07.500000+01:00",
        "hostname": "node & co",
    }


def test_what_a_node_prints_breaks_no_file():
    spoilt = "\x1b[31m\x00\ud800\ufffe]]> \u00e9"
    (case,) = suite(replace(ended(Outcome.ERROR), reason=spoilt))
    assert case.find("error").text == "#x1B[31m#x00#xD800#xFFFE]]> \u00e9"

"""The file of ``--deviations``: its entries, and the one line for each that cannot be used."""

from __future__ import annotations

import json

import pytest

from railgauge.config import deviations
from railgauge.config.deviations import Deviation, DeviationError

GOOD = {
    "subject": "mx07, mlx5_3",
    "cause": "link-rate-degraded",
    "reason": "the cable is ordered",
    "who": "A. Engineer",
    "until": "2027-01-31",
}


def read(tmp_path, text):
    path = tmp_path / "accepted.yaml"
    path.write_text(text, encoding="utf-8")
    return deviations.load(path)


def listed(**changes):
    """A file with one deviation; a change to ``None`` leaves a key out."""
    entry = {name: value for name, value in {**GOOD, **changes}.items() if value is not None}
    return json.dumps([entry])  # which is YAML too


def test_a_deviation_is_read_as_it_is_written(tmp_path):
    text = """
- subject: mx07, mlx5_3
  cause: link-rate-degraded
  reason: the cable is ordered
  who: A. Engineer
  until: 2027-01-31
- {subject: "mx[01-04]", item: "tests/x.py::test[mx01]", reason: r, who: w, until: 2027-02-28}
"""
    one, other = read(tmp_path, text)
    assert one == Deviation(**GOOD)
    assert (one.nodes, one.device, one.what) == ({"mx07"}, "mlx5_3", "link-rate-degraded")
    assert other.nodes == {"mx01", "mx02", "mx03", "mx04"}
    assert (other.device, other.what) == ("", "tests/x.py::test[mx01]")


@pytest.mark.parametrize(
    ("subject", "nodes", "device"),
    [
        ("mx01 and mx02, mlx5_0", {"mx01", "mx02"}, "mlx5_0"),
        ("mx01|mx02", {"mx01", "mx02"}, ""),
        ("mx[01-02],gpu7", {"mx01", "mx02", "gpu7"}, ""),
        ("the cluster", set(), ""),
    ],
)
def test_a_subject_is_written_as_reports_write_a_place(tmp_path, subject, nodes, device):
    (one,) = read(tmp_path, listed(subject=subject))
    assert (one.nodes, one.device) == (nodes, device)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "should be a list of deviations"),
        ("[]", "should be a list of deviations"),
        ("deviations: []", "should be a list of deviations"),
        ("- mx07", ":1: each deviation is a mapping"),
        ("- [", "not valid YAML"),
        ("- {subject: a, subject: b}", "key 'subject' is given twice"),
        ("- {on: a}", "key on is not text"),
        (listed(nodes="mx07"), "unknown key 'nodes'; known here: subject, reason, who, until"),
        (listed(reason=None), "reason is missing"),
        (listed(who=None), "who is missing"),
        (listed(until=None), "until is missing"),
        (listed(subject=None), "subject is missing"),
        (listed(reason=""), "reason is empty"),
        (listed(who="   "), "who is empty"),
        (listed(who=5), "who should be one line of text"),
        (listed(reason="a\nb"), "reason should be one line of text"),
        (listed(reason="\x1b[2J"), "reason should be one line of text"),
        (listed(reason="r" * 2001), "reason should be one line of text"),
        (listed(cause=None), "name either a cause or an item"),
        (listed(item="tests/x.py::test[a]"), "name either a cause or an item"),
        (listed(until="next year"), "until is 'next year', not a day"),
        (listed(until="2027-02-30"), "until is '2027-02-30', not a day"),
        (listed(until="20270131"), "until is '20270131', not a day"),
        (listed(until="2027-01-31T10:00:00"), "not a day"),
        ("- {subject: a, cause: b, reason: c, who: d, until: 2027-01-31 10:00:00}", "until"),
        (listed(subject="mx[1-"), "subject: 'mx[1-' is not a set of nodes"),
        (listed(subject="mx[1-999999999]"), "names 999,999,999 nodes, and at most 20,000 are read"),
        (listed(subject=","), "','"),
        (f"[{listed()[1:-1]}, {listed()[1:-1]}]", "link-rate-degraded of mx07, mlx5_3 is there"),
    ],
)
def test_an_unusable_file_gives_one_line_that_names_it(tmp_path, text, says):
    with pytest.raises(DeviationError) as found:
        read(tmp_path, text)
    assert says in str(found.value)
    assert str(found.value).startswith(str(tmp_path / "accepted.yaml"))
    assert "\n" not in str(found.value)


def test_the_line_is_that_of_the_deviation(tmp_path):
    with pytest.raises(DeviationError, match=r"accepted\.yaml:3: who is missing"):
        read(tmp_path, "-\n  {subject: a, cause: b, reason: c, who: d, until: 2027-01-31}\n- {}\n"
             .replace("{}", "{subject: a, cause: c, reason: c, until: 2027-01-31}"))  # fmt: skip


def test_a_missing_file_or_one_that_is_no_text_is_refused(tmp_path):
    with pytest.raises(DeviationError, match="No such file"):
        deviations.load(tmp_path / "absent.yaml")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DeviationError, match="not text in UTF-8"):
        deviations.load(tmp_path / "binary")


def test_the_copy_of_a_run_is_read_back():
    accepted = (Deviation(**GOOD),)
    assert deviations.from_json(deviations.to_json(accepted)) == accepted


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ([], "holds no deviations"),
        ({"schema_version": 1}, "holds no deviations"),
        ({"schema_version": 2, "deviations": [GOOD]}, "schema version 2"),
        ({"schema_version": True, "deviations": [GOOD]}, "schema version True"),
        ({"schema_version": 1, "deviations": []}, "should be a list"),
        ({"schema_version": 1, "deviations": [GOOD, {**GOOD, "until": "never"}]}, "deviation 1"),
        ({"schema_version": 1, "deviations": [GOOD] * 1001}, "more than 1000"),
    ],
)
def test_a_copy_that_was_changed_is_refused(data, says):
    with pytest.raises(DeviationError, match=says):
        deviations.from_json(data)

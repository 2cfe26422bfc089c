"""What the survey of an earlier run tells: reboots, marks of kernel logs, facts that differ."""

from __future__ import annotations

import pytest
from test_earlier_run import ONE, THREE, TWO, refusal
from test_resuming import begun

from railgauge.core.codec import to_plain
from railgauge.core.errors import NodeUnreachable
from railgauge.facts import NodeFacts
from railgauge.facts.boot import KernelMark, Reboot
from railgauge.run.resume import Earlier, differing
from railgauge.run.survey import found_to_json

LOST = NodeUnreachable("no route", where="n1")


@pytest.fixture
def old(tmp_path):
    store = begun(tmp_path, "old")
    (store.folder / "leases").mkdir()
    return store


def surveyed(**facts):
    return NodeFacts("n1", **facts)


def survey(store, **nodes):
    store.write_json("environment.json", {"nodes": found_to_json(nodes)})


def test_reboots_are_those_of_nodes_that_both_surveys_have_reached(old):
    survey(old, n1=surveyed(boot_id=ONE), n2=LOST, n3=surveyed(), n4=surveyed(boot_id=ONE))
    now = {
        "n1": surveyed(boot_id=TWO),
        "n2": surveyed(boot_id=TWO),
        "n3": surveyed(boot_id=TWO),
        "n4": surveyed(boot_id=ONE),
        "n5": surveyed(boot_id=TWO),
    }
    assert list(Earlier(old.folder).reboots(now)) == [Reboot("n1", ONE, TWO, after="old")]


@pytest.mark.parametrize(("was", "now"), [(ONE, TWO), (TWO, ONE)])
def test_a_reboot_is_reported_whichever_id_is_higher(old, was, now):
    survey(old, n1=surveyed(boot_id=was))
    found = list(Earlier(old.folder).reboots({"n1": surveyed(boot_id=now)}))
    assert found == [Reboot("n1", was, now, after="old")]


def test_a_node_that_the_survey_lost_was_last_in_the_boot_that_is_recorded(old):
    survey(old, n1=LOST)
    known = Reboot("n1", ONE, TWO, during="old")
    old.append("reboots.jsonl", to_plain(known))
    found = list(Earlier(old.folder).reboots({"n1": surveyed(boot_id=THREE)}))
    assert found == [known, Reboot("n1", TWO, THREE, after="old")]


def test_marks_of_the_kernels_logs_are_those_of_all_runs_the_oldest_first(tmp_path, old):
    new = begun(tmp_path, "new", "old")
    survey(old, n1=surveyed(boot_id=ONE, kernel_log="10"), n2=surveyed(boot_id=ONE))
    survey(
        new,
        n1=surveyed(boot_id=TWO, kernel_log="7"),
        n2=surveyed(kernel_log="3"),
        n3=LOST,
    )
    assert list(Earlier(tmp_path / "new").kernel_marks()) == [
        KernelMark("n1", "old", ONE, "10"),
        KernelMark("n1", "new", TWO, "7"),
    ]


def test_a_run_that_ended_before_its_survey_has_found_nothing(tmp_path, old):
    survey(begun(tmp_path, "new", "old"), n1=surveyed(boot_id=ONE))
    earlier = Earlier(tmp_path / "new")
    assert [(run, list(found)) for run, found in earlier.surveys()] == [
        ("new", ["n1"]),
        ("old", []),
    ]
    assert list(Earlier(old.folder).reboots({"n1": surveyed(boot_id=ONE)})) == []


@pytest.mark.parametrize(
    ("data", "where", "says"),
    [
        ([], "", "should be an object"),
        ({"nodes": []}, "", "has no nodes"),
        ({"nodes": {"n1": {}}}, ": n1", None),
        ({"nodes": {"n1": "words"}}, ": n1", "should be an object"),
        ({"nodes": {"n1": ["error"]}}, ": n1", "should be an object"),
        ({"nodes": {"n1": {"facts": []}}}, ": n1", "facts: should be an object"),
        ({"nodes": {"n1": {"facts": {"node": "n1"}}}}, ": n1", "lacks facts that every node has"),
        ({"nodes": {"n1": {"error": 3}}}, ": n1", "error: should be an object"),
    ],
)
def test_a_survey_that_holds_something_else_is_refused_or_has_found_nothing(old, data, where, says):
    old.write_json("environment.json", data)
    if says is None:
        assert list(Earlier(old.folder).kernel_marks()) == []
        return
    assert refusal(list, Earlier(old.folder).kernel_marks())[:2] == (
        f"{old.folder / 'environment.json'}{where}",
        says,
    )


@pytest.mark.parametrize(
    ("was", "now", "says"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {}, ["a: 1 -> null"]),
        ({}, {"a": 1}, ["a: null -> 1"]),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, ["a.b: 1 -> 2"]),
        ({"a": [1, 2]}, {"a": [1, 3]}, ["a.1: 2 -> 3"]),
        ({"a": [1]}, {"a": [1, 2]}, ["a: [1] -> [1, 2]"]),
        ({"a": [1, 2]}, {"a": [1]}, ["a: [1, 2] -> [1]"]),
        ({"a": [1]}, {"a": {"0": 1}}, ['a: [1] -> {"0": 1}']),
        ({"a": 1, "boot_id": ONE}, {"a": 1, "boot_id": TWO}, []),
        ({"clock_offset_s": 1, "kernel_log": "1"}, {"clock_offset_s": 2, "kernel_log": "2"}, []),
        ({"a": "é"}, {"a": "x" * 38}, [f'a: "é" -> "{"x" * 38}"']),
        ({"a": ""}, {"a": "x" * 39}, [f'a: "" -> "{"x" * 36}...']),
    ],
)
def test_facts_that_differ_are_reported_with_both_values(was, now, says):
    assert list(differing({"facts": was}, {"facts": now})) == says


def changed(old, was, now):
    survey(old, n1=was)
    return dict(Earlier(old.folder).facts_changed({"n1": now})).get("n1")


def test_a_node_that_was_lost_and_is_there_again_has_changed(old):
    says = changed(old, LOST, surveyed(kernel="6.8"))
    assert says.startswith('error: {"kind": "node-unreachable"')
    assert "facts: null -> {" in says
    assert changed(old, surveyed(kernel="6.8"), surveyed(kernel="6.8")) is None


@pytest.mark.parametrize(("count", "more"), [(8, ""), (9, " and 1 more"), (12, " and 4 more")])
def test_eight_of_many_facts_that_differ_are_reported(old, count, more):
    names = [f"f{number:02}" for number in range(count)]
    says = changed(old, surveyed(), surveyed(missing=dict.fromkeys(names, "")))
    assert says == ", ".join(f'missing.{name}: null -> ""' for name in names[:8]) + more


def test_changes_are_those_since_the_newest_run(tmp_path, old):
    survey(old, n1=surveyed(kernel="1"))
    survey(begun(tmp_path, "new", "old"), n1=surveyed(kernel="2"))
    now = {"n1": surveyed(kernel="3")}
    assert dict(Earlier(tmp_path / "new").facts_changed(now)) == {"n1": 'kernel: "2" -> "3"'}

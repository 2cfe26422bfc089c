"""Bundles of earlier versions verify; what was possible and not limited is part of a bundle."""

from __future__ import annotations

import json

import pytest
from testing.bundle_bench import edit_json, forged


def without_triage(data, most=None):
    for cause in data["causes"][:most]:
        assert cause.pop("severity")
        assert cause.pop("action")


def test_a_bundle_from_before_causes_had_a_severity_verifies(red, verify, tmp_path):
    older = edit_json("run/verdict.json", without_triage)
    code, out, err = verify(forged(red.path, tmp_path / "b", older))
    assert (code, err) == (1, "")
    assert "rejected: it stands" in out


@pytest.mark.parametrize(
    "edit",
    [
        lambda data: data["causes"][0].update(severity="minor"),
        lambda data: data["causes"][0].update(action="measure again"),
        lambda data: data["causes"][0].pop("action"),
        lambda data: (without_triage(data), data["causes"][0].update(remedy="nothing")),
        lambda data: (without_triage(data), data["causes"].pop()),
    ],
)
def test_a_verdict_with_other_triage_or_other_causes_does_not_hold(red, verify, tmp_path, edit):
    code, _, err = verify(forged(red.path, tmp_path / "b", edit_json("run/verdict.json", edit)))
    assert code == 1
    assert "run/verdict.json: differs from the verdict of the evidence" in err


# --- possible here, not limited ---

# What the run itself could judge, and its platform does not limit.
POSSIBLE = ("scaling_all_reduce", "scaling_all_reduce_tree")
WARP = {"name": "warp", "kind": "measures", "needs": ["two nodes"]}


def with_warp(content, listed):
    """A run with a test named warp, and a verdict that lists ``not_limited`` as given."""
    edit_json("run/run.json", lambda data: data["tests"].append(WARP))(content)
    edit_json("run/verdict.json", lambda data: data.update(not_limited=listed))(content)


def test_possible_tests_without_a_limit_are_named(healthy, verify, tmp_path):
    path = forged(
        healthy.path, tmp_path / "b", lambda content: with_warp(content, [*POSSIBLE, "warp"])
    )
    code, out, _ = verify(path)
    assert code == 0
    assert f"\npossible   possible here, not limited: {', '.join(POSSIBLE)}, warp\n" in out
    assert json.loads(verify(path, "--json")[1])["verdict"]["not_limited"] == [*POSSIBLE, "warp"]


def test_a_verdict_that_hides_possible_tests_does_not_hold(healthy, verify, tmp_path):
    path = forged(healthy.path, tmp_path / "b", lambda content: with_warp(content, []))
    code, _, err = verify(path)
    assert code == 1
    assert "run/verdict.json: differs from the verdict of the evidence" in err


def test_the_verifiers_own_tests_find_what_the_run_did_not_know(healthy, verify, tmp_path):
    (tmp_path / "tests").mkdir()
    marks = '@pytest.mark.measures("warp")\n@pytest.mark.needs("two nodes")'
    (tmp_path / "tests" / "test_warp.py").write_text(f"{marks}\ndef test_warp(pair):\n    pass\n")
    out = verify(healthy.path, "--root", tmp_path)[1]
    assert "\npossible   by the tests here, and not named by the run: warp\n" in out
    (tmp_path / "tests" / "test_warp.py").write_text("def test_(:\n")
    assert "by the tests here" not in verify(healthy.path, "--root", tmp_path)[1]


def test_a_bundle_from_before_the_tests_were_kept_verifies_with_a_note(healthy, verify, tmp_path):
    def without_needs(data):
        reasons = data.pop("not_applicable")
        del data["not_limited"]
        unknown = (
            "the platform declares ",
            "the hostfile has ",
            "the hostfile declares ",
            "no launch by ssh ",
        )
        data["not_applicable"] = {k: v for k, v in reasons.items() if not v.startswith(unknown)}

    def older(content):
        edit_json("run/run.json", lambda data: data.pop("tests"))(content)
        edit_json("run/verdict.json", without_needs)(content)

    code, out, err = verify(forged(healthy.path, tmp_path / "b", older))
    assert code == 0, err
    assert "\npossible   here, not limited: the run did not keep which tests there were\n" in out

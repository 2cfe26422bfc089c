"""A level from which ``--rounds`` left pairs out: merged, on paper, and in a forger's hands."""

from __future__ import annotations

import json
import re

import pytest
from testing import bundle_bench as bench
from testing.acceptance import BARE, HOMELAB, make_project
from testing.bundle_bench import edit_json, edit_records, forged
from testing.fewer import measuring

from railgauge.cli import main

FEW = measuring("connectx4-homelab", "host_write_bandwidth", expected=("cpu_governor",))
ONE_ROUND = (*HOMELAB, *BARE, "--level", "signoff", "--lab-nodes", "4", "--rounds", "1")
LESS = "level signoff reduced by --rounds 1: 2 of 6 pairs"
ITEM = "pairs::rounds[all]"


@pytest.fixture(scope="module")
def merged(tmp_path_factory):
    """Two parts of the ladder, in each of which the pairs were left out, as one run."""
    project = make_project(tmp_path_factory.mktemp("reduced") / "site")
    FEW(project)
    parts = []
    for tests in ("tests/preflight", "tests/network"):
        run = project.run(*ONE_ROUND, tests)
        assert run.code == 10, run.output
        parts.append(str(run.latest.resolve()))
    into = project.folder / "reports" / "merged"
    assert main(["merge", *parts, "--into", str(into)]) == 10
    return into


@pytest.fixture(scope="module")
def bundled(merged, tmp_path_factory):
    path = tmp_path_factory.mktemp("reduced") / "merged.railgauge"
    bench.bundle(merged, path, "--unsigned")
    return path


def test_a_reduced_run_in_which_all_items_pass_is_incomplete(merged, verify, bundled):
    verdict = json.loads((merged / "verdict.json").read_text())
    counts = {name: n for name, n in verdict["counts"].items() if n}
    assert counts["asserted"] == counts["passed"] == counts["planned"] - 1
    assert counts["not_run"] == 1
    assert (verdict["verdict"], verdict["scope"]) == ("incomplete", f"{LESS}, no GPU")
    code, out, _ = verify(bundled)
    assert code == 10
    assert f"scope      {LESS}, no GPU\n" in out


def test_the_title_of_the_certificate_names_the_reduction(merged, tmp_path):
    page = tmp_path / "certificate.html"
    assert main(["certificate", str(merged), "-o", str(page)]) == 10
    text = page.read_text()
    assert f"<h1>Test certificate: not accepted, incomplete; {LESS}" in text
    assert re.search(r"signoff, which is no sign-off \(" + re.escape(LESS), text)


def without(name):
    def change(data):
        data["planned"] = [one for one in data["planned"] if one != name]

    return change


def passed(records):
    for one in records:
        if one["id"] == ITEM:
            one.update(outcome="passed", reason="", remedy="")


@pytest.mark.parametrize(
    "changes",
    [
        (edit_records(passed),),
        (
            edit_records(lambda records: [r for r in records if r["id"] != ITEM]),
            edit_json("run/run.json", without(ITEM)),
        ),
        (edit_json("run/run.json", lambda data: data.update(rounds=None)),),
        (edit_json("run/run.json", lambda data: data.update(rounds=3)),),
    ],
    ids=["passed", "no-record", "no-rounds", "all-rounds"],
)
def test_a_bundle_that_hides_the_reduction_does_not_verify(bundled, verify, tmp_path, changes):
    def change(content):
        for one in changes:
            one(content)

    code, out, err = verify(forged(bundled, tmp_path / "forged", change))
    assert (code, out) == (1, ""), err
    assert "NOT VERIFIED" in err

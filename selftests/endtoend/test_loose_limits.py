"""A limit that finds no fault: refused, or declared, listed in every report, and 11 at best."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from testing import bundle_bench as bench
from testing.acceptance import (
    BARE,
    ONE_PAIR,
    Run,
    Runs,
    Scenario,
    assert_sound,
    of_the_tool,
)
from testing.commands import railgauge
from testing.fewer import measuring

PLATFORM = "connectx4-homelab"
LIMIT = "/measurements/host_write_bandwidth/limits/0"
WHO, REASON = "A. Engineer", "shared with storage until May"
SAYS = "floor 400 MiB/s at 64KiB finds no fault: below 1907 MiB/s (mlx5_0: 3815 MiB/s)"
LISTED = f"the cluster: {LIMIT}"


def low(document: dict[str, Any]) -> None:
    document["measurements"]["host_write_bandwidth"]["limits"][0]["floor"] = 400


def declared(document: dict[str, Any]) -> None:
    low(document)
    limit = document["measurements"]["host_write_bandwidth"]["limits"][0]
    limit["loose"] = {"reason": REASON, "who": WHO}


def changed(by: Any) -> Any:
    return measuring(
        PLATFORM, "host_write_bandwidth", more=lambda project: project.edit_platform(PLATFORM, by)
    )


SCENARIOS = {
    "declared": Scenario((*ONE_PAIR, "--lab-fault", "slow-node@viper=50%"), changed(declared)),
    "not declared": Scenario((*ONE_PAIR, *BARE), changed(low)),
}


def test_a_node_at_half_its_speed_is_accepted_with_deviations_at_best(runs: Runs) -> None:
    run = runs["declared"]
    assert (run.code, run.verdict["verdict"]) == (11, "accepted with deviations")
    counts = run.verdict["counts"]
    assert (counts["failed"], counts["asserted"]) == (0, counts["planned"])
    (one,) = run.verdict["deviations"]
    assert (one["state"], one["covers"], one["item"]) == ("loose limit", [], LIMIT)
    assert (one["reason"], one["who"], one["says"]) == (REASON, WHO, SAYS)
    assert_sound(run)


def test_every_report_lists_it_on_its_first_screen(runs: Runs) -> None:
    run = runs["declared"]
    message = f"{LISTED}; LOOSE LIMIT, which the platform file wants; {SAYS}; {WHO}: {REASON}"
    head = run.words.partition("test session starts")[2].partition("collect")[0]
    assert f"loose limit: {LISTED}; {SAYS}; {WHO}: {REASON}" in head
    assert f"accepted: {message}" in run.words
    first = run.html.partition("<h2>Causes")[0]
    assert all(words in first for words in (LIMIT, "LOOSE LIMIT", REASON, WHO))
    properties = run.junit_suite.findall("properties/property")
    assert ("deviation", message) in {(one.get("name"), one.get("value")) for one in properties}
    surroundings = (run.latest / "allure-results" / "environment.properties").read_text()
    assert f"Deviations = {message}" in surroundings


def of(run: Run, *words: str) -> tuple[int, str]:
    done = railgauge(run.project.folder, *words)
    return done.returncode, f"{done.stdout}{done.stderr}"


def test_the_certificate_metrics_and_the_verifier_say_it_too(runs: Runs, tmp_path: Path) -> None:
    run = runs["declared"]
    page = tmp_path / "certificate.html"
    of(run, "certificate", str(run.latest), "-o", str(page))
    first = page.read_text().partition("<h2>Coverage")[0]
    assert "checks passed, 1 limit is loose" in first
    assert all(words in first for words in (LIMIT, "LOOSE LIMIT", REASON, WHO))
    code, metrics = of(run, "metrics", str(run.latest))
    (line,) = (one for one in metrics.splitlines() if 'state="loose limit"' in one)
    assert (code, line.rpartition(" ")[2]) == (0, "1")
    bundle = tmp_path / "loose.railgauge"
    bench.bundle(run.latest, bundle, "--unsigned")
    code, out = of(run, "verify", str(bundle), "--unsigned")
    assert code == 11, out
    assert f"deviation  {LISTED}: LOOSE LIMIT" in out


def test_a_bundle_whose_loose_limit_is_not_declared_does_not_verify(
    runs: Runs, tmp_path: Path
) -> None:
    """As a suite that was changed would make it."""
    run, whole = runs["declared"], tmp_path / "whole"
    bench.bundle(run.latest, whole, "--unsigned")

    def undeclare(document: Any) -> None:
        document["measurements"]["host_write_bandwidth"]["limits"][0].pop("loose")

    path = bench.forged(
        whole, tmp_path / "forged", bench.edit_json("run/thresholds.json", undeclare)
    )
    code, out = of(run, "verify", str(path), "--unsigned")
    assert (code, "finds no fault" in out) == (2, True), out


@pytest.mark.parametrize(
    "words",
    [("plan", "--hostfile", f"hostfiles/lab-{PLATFORM}.yaml"), ("limits", PLATFORM),
     ("judge", "--platform", PLATFORM, "--tool", "perftest", "-")],
)  # fmt: skip
def test_undeclared_it_is_bad_input_before_the_first_node(
    runs: Runs, words: tuple[str, ...]
) -> None:
    run = runs["not declared"]
    assert run.code == 4
    (line,) = (line for line in run.output.splitlines() if "railgauge:" in line)
    assert f"thresholds/{PLATFORM}.json: {LIMIT}: {SAYS}; correct the number" in line
    assert not (run.project.folder / "reports").exists()
    code, message = of(run, *words)
    assert (code, f"{LIMIT}: {SAYS}" in message) == (2, True)


def test_judging_one_output_says_it(runs: Runs) -> None:
    run = runs["declared"]
    printed = next(
        one["stdout"]
        for case, found in run.transcripts.items()
        if "host_write_bandwidth" in case
        for one in of_the_tool(found["runs"][0])
        if one["role"] == "client"
    )
    path = run.project.write("output.txt", printed)
    code, message = of(run, "judge", "--platform", PLATFORM, "--tool", "perftest", str(path))
    assert code == 11
    assert f"{LISTED}: LOOSE LIMIT" in message
    _, table = of(run, "limits", PLATFORM)
    assert f"| {LIMIT} | {SAYS} | {REASON} | {WHO} |" in table

"""Runs with accepted deviations: the verdict, every report, and what no deviation changes."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from testing.acceptance import BARE, ONE_PAIR, Project, Run, Runs, Scenario, assert_sound
from testing.fewer import measuring
from testing.rounds import one_round

ITEM = "tests/preflight/test_host.py::test_cpu_governor[viper]"
FAULT = ("--lab-fault", "governor@viper")
WHO = "A. Engineer, for the customer"
REASON = "the BMC caps the governor, ticket 4711"
GIVEN = ("--deviations", "accepted.yaml")


FEW = measuring("connectx4-homelab", "host_write_bandwidth", "host_send_latency")


def accepting(until: str = "2999-12-31", subject: str = "viper") -> Callable[[Project], None]:
    lines = (
        f"- subject: {subject}", "  cause: cpu-governor", f"  reason: {REASON}", f"  who: {WHO}",
        f"  until: {until}",
    )  # fmt: skip

    def write(project: Project) -> None:
        FEW(project)
        project.write("accepted.yaml", "\n".join(lines) + "\n")

    return write


SCENARIOS = {
    "accepted": Scenario((*ONE_PAIR, "--no-gates", *FAULT, *GIVEN), accepting()),
    "workers": Scenario((*ONE_PAIR, *BARE, "-n", "2", "--no-gates", *FAULT, *GIVEN), accepting()),
    "expired": Scenario((*ONE_PAIR, "--no-gates", *FAULT, *GIVEN), accepting("2020-01-31")),
    "another": Scenario(
        (*ONE_PAIR, *BARE, "--no-gates", *FAULT, *GIVEN), accepting(subject="columbia")
    ),
    "gated": Scenario((*ONE_PAIR, *BARE, *FAULT, *GIVEN), accepting()),
    "beside": Scenario(
        (*ONE_PAIR, *BARE, "--no-gates", *FAULT, "--lab-fault", "memlock@viper", *GIVEN),
        accepting(),
    ),
    "unreachable": Scenario(
        (*ONE_PAIR, *BARE, "--no-gates", *FAULT, "--lab-fault", "unreachable@columbia", *GIVEN),
        accepting(),
    ),
    "healthy": Scenario((*ONE_PAIR, *BARE, *GIVEN), accepting()),
}


def listed(run: Run) -> tuple[str, str]:
    (one,) = run.verdict["deviations"]
    return one["state"], one["says"]


@pytest.mark.parametrize("name", ["accepted", "workers"])
def test_an_accepted_deviation_changes_the_verdict_and_no_item(runs: Runs, name: str) -> None:
    run = runs[name]
    assert (run.code, run.verdict["verdict"]) == (11, "accepted with deviations")
    counts = run.verdict["counts"]
    assert (counts["failed"], counts["asserted"]) == (1, counts["planned"])
    assert run.outcomes[ITEM] == "failed"
    assert run.junit[ITEM].outcome == "failure"
    (one,) = run.verdict["deviations"]
    assert (one["state"], one["covers"], one["until"]) == ("applied", [ITEM], "2999-12-31")
    assert "ACCEPTED WITH DEVIATIONS (SIMULATED evidence)" in run.output


def test_every_report_lists_it_with_its_expiry(runs: Runs) -> None:
    run = runs["accepted"]
    printed = "accepted until 2999-12-31, covers 1 failed item"
    assert f"viper: cpu-governor; {printed}; {WHO}: {REASON}" in run.words
    assert "accepted deviation: viper: cpu-governor, until 2999-12-31" in run.words
    page = run.html
    assert page.count('<div class="wide stack"><table>\n<thead><tr><th scope="col">Subject') == 2
    for words in (
        "ACCEPTED WITH DEVIATIONS",
        printed,
        WHO,
        REASON,
        'verdict accepted-with-deviations"',
    ):
        assert words in page
    properties = {
        (one.get("name"), one.get("value"))
        for one in run.junit_suite.findall("properties/property")
    }
    assert ("deviation", f"viper: cpu-governor; {printed}; {WHO}: {REASON}") in properties
    (of_item,) = run.junit[ITEM].properties["deviation"]
    assert "accepted until 2999-12-31" in of_item
    message = run.allure[ITEM]["statusDetails"]["message"]
    assert "[deviation: viper: cpu-governor] accepted until 2999-12-31" in message
    assert run.allure[ITEM]["status"] == "failed"
    surroundings = (run.latest / "allure-results" / "environment.properties").read_text()
    assert "Verdict = accepted with deviations" in surroundings
    assert f"Deviations = viper: cpu-governor; {printed}" in surroundings


def test_past_its_date_it_counts_no_more(runs: Runs) -> None:
    run = runs["expired"]
    assert (run.code, run.verdict["verdict"]) == (1, "rejected")
    assert listed(run)[0] == "expired"
    assert "EXPIRED on 2020-01-31" in run.words
    assert "EXPIRED on 2020-01-31" in run.html
    assert_sound(run)


def test_about_another_node_it_matches_nothing_and_says_so(runs: Runs) -> None:
    run = runs["another"]
    assert (run.code, listed(run)) == (1, ("matches nothing", ""))
    assert "columbia: cpu-governor; MATCHES NOTHING in this run" in run.words


def test_it_covers_nothing_that_was_blocked(runs: Runs) -> None:
    run = runs["gated"]
    assert run.counts["blocked"] > 0
    assert (run.code, run.verdict["verdict"], listed(run)[0]) == (10, "incomplete", "applied")


def test_it_covers_no_other_failure(runs: Runs) -> None:
    run = runs["beside"]
    assert (run.code, run.verdict["verdict"], listed(run)[0]) == (1, "rejected", "applied")


def test_it_covers_no_error(runs: Runs) -> None:
    run = runs["unreachable"]
    assert run.counts["error"] > 0
    assert (run.code, run.verdict["verdict"]) == (10, "incomplete")


def test_a_healthy_run_is_accepted_and_names_it(runs: Runs) -> None:
    run = runs["healthy"]
    assert (run.code, listed(run)[0]) == (0, "matches nothing")


def test_a_run_that_is_carried_on_keeps_its_deviations(runs: Runs) -> None:
    project = runs["workers"].project
    first = runs["workers"].latest.resolve()
    again = project.run(*BARE, "--resume", first.name)
    assert (again.code, listed(again)[0]) == (11, "applied")
    accepting("2020-01-31")(project)
    one_round("connectx4-homelab")(project)
    other = project.run(*BARE, "--resume", first.name, *GIVEN)
    assert (other.code, listed(other)[0]) == (1, "expired")
    kept = first / "deviations.json"
    data = json.loads(kept.read_text())
    data["deviations"][0]["until"] = "2998-12-31"
    kept.write_text(json.dumps(data))
    refused = project.run(*BARE, "--resume", first.name)
    assert refused.code == 4
    assert "deviations.json: was changed after the run wrote it" in refused.words


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "should be a list of deviations"),
        ("- {subject: viper, cause: cpu-governor, reason: r, who: w}", "until is missing"),
        (
            "- {subject: viper, cause: cpu-govenor, reason: r, who: w, until: 2027-01-31}",
            "no cause is named 'cpu-govenor'; railgauge causes lists them",
        ),
        (
            "- {subject: mx99, cause: cpu-governor, reason: r, who: w, until: 2027-01-31}",
            "has no node mx99",
        ),
        (
            "- {subject: viper, cause: data-corruption, reason: r, who: w, until: 2027-01-31}",
            "wrong results cannot be accepted",
        ),
    ],
)
def test_a_bad_file_is_one_line_before_anything_runs(
    project: Project, text: str, says: str
) -> None:
    project.write("accepted.yaml", text)
    run = project.run(*ONE_PAIR, *BARE, *GIVEN)
    assert run.code == 4
    (line,) = (line for line in run.output.splitlines() if "railgauge:" in line)
    assert says in line
    assert not (project.folder / "reports").exists()


def test_a_file_that_is_not_there_is_one_line(project: Project) -> None:
    run = project.run(*ONE_PAIR, *BARE, *GIVEN)
    assert run.code == 4
    assert "accepted.yaml: cannot be read: No such file or directory" in run.words

"""Healthy labs are accepted, and all reports agree, with -n and without."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from testing.acceptance import (
    HOMELAB,
    METAX,
    SMOKE,
    Project,
    Run,
    Runs,
    Scenario,
    assert_sound,
    of_the_tool,
)
from testing.commands import railgauge

from railgauge.core.terms import WATCHING_ROLES

NIGHTLY = ("--level", "nightly")
LADDER = ("preflight", "network", "gpudirect", "intranode", "collective", "application")


def count_starts(project: Project) -> None:
    """Wraps the tools of the lab's nodes so that each start is logged."""
    log = project.folder / "starts.log"
    verbs = ("write", "read", "send")
    for tool in (f"ib_{verb}_{what}" for verb in verbs for what in ("bw", "lat")):
        path = project.write(f"noted/{tool}", f'#!/bin/sh\necho {tool} >>{log}\nexec {tool} "$@"\n')
        path.chmod(0o755)
    hostfile = project.folder / HOMELAB[1]
    with hostfile.open("a", encoding="utf-8") as file:
        file.write(f"tools: {{perftest: {project.folder / 'noted'}}}\n")


SCENARIOS = {
    "homelab": Scenario((*HOMELAB, *SMOKE), fresh=True),
    "homelab-n2": Scenario((*HOMELAB, *SMOKE, "-n", "2"), fresh=True),
    "homelab-other-noise": Scenario((*HOMELAB, *SMOKE, "-n", "0", "--lab-seed", "7")),
    "metax": Scenario((*METAX, *SMOKE, "--lab-nodes", "2", "-n", "0")),
    "metax-n2": Scenario((*METAX, *SMOKE, "--lab-nodes", "2", "-n", "2")),
    "nightly": Scenario((*HOMELAB, *NIGHTLY, "-n", "2"), count_starts),
}


@pytest.fixture(scope="module", params=SCENARIOS)
def run(request: pytest.FixtureRequest, runs: Runs) -> Run:
    return runs[request.param]


def test_accepted(run: Run) -> None:
    assert_sound(run)
    assert run.code == 0, run.output
    assert run.verdict["verdict"] == "accepted"
    assert run.counts == {"passed": run.verdict["counts"]["planned"]}


def test_evidence_is_simulated_wherever_one_looks(run: Run) -> None:
    assert run.verdict["evidence"] == run.environment["evidence"] == "simulated"
    assert "ACCEPTED (SIMULATED evidence)" in run.words
    assert "evidence: SIMULATED" in run.output
    assert "SIMULATED evidence" in run.html
    properties = (run.latest / "allure-results" / "environment.properties").read_text()
    assert "Evidence = simulated" in properties
    executor = json.loads((run.latest / "allure-results" / "executor.json").read_text())
    assert "simulated evidence" in executor["reportName"]
    for result in run.allure.values():
        labels = {label["name"]: label["value"] for label in result["labels"]}
        assert labels["tag"] == "simulated"
        assert "simulated" in result["description"]


def at_end(run: Run) -> set[str]:
    """The end-of-run checks of a platform, with GPUs or without."""
    limits = json.loads((run.latest / "thresholds.json").read_text())
    kinds = ["kernel::kernel_log", "counters::growth"]
    kinds += ["gpus::telemetry"] if "telemetry" in limits else []
    return {f"{kind}[{node}]" for kind in kinds for node in run.environment["nodes"]}


def test_every_report_knows_every_item(run: Run) -> None:
    ids = set(run.items)
    assert len(run.outcomes) == len(run.order)
    assert len(ids) == run.verdict["counts"]["planned"]
    assert set(run.at_end) == at_end(run)
    assert set(run.junit) == set(run.html_rows) == set(run.allure) == ids
    assert {case.outcome for case in run.junit.values()} == {"passed"}
    assert {result["status"] for result in run.allure.values()} == {"passed"}
    assert int(run.junit_suite.attrib["tests"]) == len(ids)


def test_every_item_was_compared_with_a_limit_that_has_a_basis(run: Run) -> None:
    assert {line["id"] for line in run.measurements} == set(run.items)
    limits = json.loads((run.latest / "thresholds.json").read_text())
    for line in run.measurements:
        assert line["outcome"] == "passed"
        assert line["limit"]
        pointer = line["pointer"] or _PATH_BASIS[line["metric"]].format(line["subject"])
        assert line["basis"] in _basis(limits, pointer)
        properties = run.junit[line["id"]].properties
        assert line["measured"] in properties[f"{line['metric']}.measured"]
        reported = line["measured"]
        assert reported in " ".join(run.html_rows[line["id"]].split()), line["id"]


# Metrics of the path are judged by the measurement's ``traffic`` and ``transport``, not by a limit.
_PATH_BASIS = {
    "traffic": "/measurements/{}/traffic",
    "traffic_spread": "/measurements/{}/traffic",
    "devmem": "/measurements/{}/traffic",
    "link_errors": "/measurements/{}/traffic",
    "transport": "/measurements/{}/transport",
}


def _basis(document: Any, pointer: str) -> str:
    for step in pointer.split("/")[1:]:
        document = document[int(step)] if isinstance(document, list) else document[step]
    return f"{document['basis']['source']}: {document['basis']['says']}"


def test_numbers_hold_by_the_file_of_limits(run: Run) -> None:
    """The item is judged again, with arithmetic that is independent of the suite."""
    numbers = [line for line in run.measurements if line["values"]]
    assert numbers
    for line in numbers:
        floor, ceiling = line["floor"], line["ceiling"]
        assert floor is not None or ceiling is not None
        assert floor is None or min(line["values"]) >= floor
        assert ceiling is None or max(line["values"]) <= ceiling
        if line["physical_ceiling"]:
            assert max(line["values"]) <= line["physical_ceiling"] * 1.0005


@pytest.mark.parametrize("name", ["homelab", "homelab-other-noise", "metax"])
def test_lower_rungs_first(runs: Runs, name: str) -> None:
    folders = [item_id.split("/")[1] for item_id in runs[name].order]
    climbed = [LADDER.index(folder) for folder in folders]
    assert climbed == sorted(climbed)
    assert {"preflight", "network"} <= set(folders)


@pytest.mark.parametrize("name", ["homelab", "homelab-other-noise", "metax"])
def test_preflight_of_a_node_is_judged_before_its_measurements(runs: Runs, name: str) -> None:
    """Workers judge in no order; what is measured first, the engine decides."""
    run = runs[name]
    place = {item_id: number for number, item_id in enumerate(run.order)}
    for line in run.measurements:
        if not line["values"]:
            continue
        below = [
            i for i in place if i.startswith("tests/preflight/") and _is_about(i, line["nodes"])
        ]
        assert len(below) >= len(line["nodes"])
        assert max(place[i] for i in below) < place[line["id"]]


def _is_about(item_id: str, nodes: list[str]) -> bool:
    return any(re.search(rf"\[{node}\b", item_id) for node in nodes)


def test_manifest_has_the_digest_of_every_file(run: Run) -> None:
    files = [path for path in run.latest.rglob("*") if path.is_file()]
    found = {
        path.relative_to(run.latest).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
        if path.name != "manifest.json"
    }
    assert run.manifest == found
    assert {"verdict.json", "junit.xml", "report.html", "measurements.jsonl"} <= set(found)


def test_a_node_does_one_thing_at_a_time(run: Run) -> None:
    for before, after in _neighbours(run):
        assert before[1] <= after[0], (before, after)


def _neighbours(run: Run) -> Iterator[tuple[Any, Any]]:
    """For each node, consecutive pairs of its measurements, in order of time."""
    for node in run.environment["nodes"]:
        spans = sorted(
            _span(case, repeat)
            for case, data in run.transcripts.items()
            for repeat in data["runs"]
            if node in {transcript["node"] for transcript in repeat}
        )
        yield from pairwise(spans)


def _span(case: str, repeat: list[dict[str, Any]]) -> tuple[datetime, datetime, str]:
    """Begin and end of both sides of a measurement, without what watches it for longer."""
    repeat = [one for one in repeat if one["role"] not in WATCHING_ROLES]
    starts = [datetime.fromisoformat(transcript["started_at"]) for transcript in repeat]
    ends = [
        start + timedelta(seconds=transcript["duration_s"])
        for start, transcript in zip(starts, repeat, strict=True)
    ]
    # Starts are recorded to the millisecond.
    return min(starts) + timedelta(milliseconds=2), max(ends), case


def test_sizes_of_a_sweep_share_one_run(runs: Runs) -> None:
    run = runs["nightly"]
    starts = (run.project.folder / "starts.log").read_text().splitlines()
    repeats = [repeat for data in run.transcripts.values() for repeat in data["runs"]]
    sides = [transcript for repeat in repeats for transcript in of_the_tool(repeat)]
    assert len(starts) == len(sides) == 2 * len(run.transcripts)
    measured = [line for line in run.measurements if line["values"]]
    assert len({line["id"] for line in measured}) > len(run.transcripts)


@pytest.mark.parametrize(
    ("one", "other"),
    [("homelab", "homelab-n2"), ("homelab", "homelab-other-noise"), ("metax", "metax-n2")],
)
def test_ids_are_the_same_however_it_is_run(runs: Runs, one: str, other: str) -> None:
    assert set(runs[one].outcomes) == set(runs[other].outcomes)
    for item_id in runs[one].outcomes:
        assert not set(item_id) & set("@~")
        histories = {runs[name].allure[item_id]["historyId"] for name in (one, other)}
        assert len(histories) == 1


def test_noise_differs_and_verdicts_do_not(runs: Runs) -> None:
    values = [
        [line["values"] for line in runs[name].measurements]
        for name in ("homelab", "homelab-other-noise", "homelab-n2")
    ]
    assert values[0] != values[1]
    assert sorted(values[0]) == sorted(values[2])


def test_nothing_is_tested_more_often_than_it_is_declared(run: Run) -> None:
    for name, part in run.verdict["coverage"].items():
        assert 0 < part["tested"] <= part["declared"], name


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("homelab", (*HOMELAB, *SMOKE)),
        ("nightly", (*HOMELAB, *NIGHTLY)),
    ],
)
def test_plan_is_what_is_run(runs: Runs, name: str, options: tuple[str, ...]) -> None:
    run = runs[name]
    plan = _plan(run.project, *options)
    assert set(plan["nodes"]) == set(run.environment["nodes"])
    planned = [
        f"{step['measurement']}[{':'.join(step['nodes'])}-{step['pairing']}]"
        for step in plan["steps"]
    ]
    assert sorted(planned) == sorted(run.transcripts)
    for case, step in zip(planned, plan["steps"], strict=True):
        assert len(run.transcripts[case]["runs"]) == step["repeats"]
        done = [_without_port(t["argv"]) for t in of_the_tool(run.transcripts[case]["runs"][0])]
        # A plan starts the servers first; a transcript begins with the reporting side.
        *servers, client = step["commands"]
        assert done == [_without_port(c["argv"], client=c is client) for c in [client, *servers]]


def _without_port(argv: list[str], client: bool = False) -> list[str]:
    """The port is chosen when it is free, and the lab's addresses when it has started."""
    words = [word for before, word in pairwise(["", *argv]) if before != "-p"]
    return words[:-1] if client or re.match(r"127\.", words[-1]) else words


def _plan(project: Project, *options: str) -> dict[str, Any]:
    done = railgauge(project.folder, "plan", "--json", *options)
    assert done.returncode == 0, done.stderr
    plan: dict[str, Any] = json.loads(done.stdout)
    return plan

"""The Jenkinsfile run for real: the build result for each exit code and verdict of a run."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from nights import (
    GROOVY_OF_JENKINS,
    REPLAY,
    RUN,
    Build,
    Night,
    Request,
    changed,
    jenkinsfile,
    verdict,
)


def cause(name: str, node: str, device: str = "", peer: str = "") -> dict[str, object]:
    return {"cause": name, "where": {"device": device, "node": node, "peer": peer}}


CAUSES = [
    cause("link-down", "mx03", "mlx5_1"),
    cause("slow-path", "mx07", "mlx5_0", "mx08"),
    cause("subnet-manager-missing", ""),
    cause("acs-enabled", "mx05"),
    cause("cpu-governor", "mx[01-04]"),
    cause("ecc", "mx08"),
    cause("numa-balancing-enabled", "mx09"),
]
DEVIATION = {
    "subject": "mx03, mlx5_1",
    "cause": "link-down",
    "item": "",
    "state": "applied",
    "until": "2027-01-31",
}
# 40 causes and 30 deviations of 128 nodes, each of which has a long name.
LONG = [f"acceptance-rack{n:02}-node{n:03}.cluster.example.org" for n in range(128)]
LARGE = [cause("slow-direction", ",".join(LONG), "mlx5_0", LONG[0]) for _ in range(40)]
ACCEPTED_MANY = [{**DEVIATION, "subject": ",".join(LONG)}] * 30
HOSTILE = 'it\'s "$(touch pwned)" `touch pwned`; touch pwned & ${IFS} *.yaml'
ACCEPTED = Night(verdict=verdict("accepted"))
CLEANING = """
trap 'sleep 0.6; echo cleaned >>diary.txt; exit 2' TERM
touch started
while :; do sleep 0.05; done
"""
NIGHTS = {
    "accepted": ACCEPTED,
    "rejected": Night(1, verdict("rejected", CAUSES)),
    "incomplete": Night(10, verdict("incomplete", CAUSES[:1])),
    "deviations": Night(11, verdict("accepted with deviations", CAUSES[:1], [DEVIATION])),
    "large": Night(1, verdict("rejected", LARGE)),
    "large-deviations": Night(11, verdict("accepted with deviations", LARGE, ACCEPTED_MANY)),
    "interrupted": Night(2, verdict("incomplete")),
    "bad-input": Night(4),
    "unknown-code": Night(99),
    "terminated": Night(pytest="kill -TERM $$"),
    "silent": Night(),
    "silent-after-a-good-night": Night(earlier=True),
    "silent-beside-a-replay": Night(pytest=REPLAY),
    "beside-a-replay": Night(10, verdict("incomplete", CAUSES[:1]), pytest=REPLAY),
    "said-and-done-disagree": Night(0, verdict("rejected")),
    "unreadable-verdict": Night(0, '{"verdict": '),
    "no-hostfile": replace(ACCEPTED, parameters={}),
    "no-plan": replace(ACCEPTED, plan="echo 'railgauge: mine.yaml: bad' >&2; exit 2"),
    "nameless-plan": replace(ACCEPTED, plan="echo nothing"),
    "no-installation": replace(ACCEPTED, make="exit 1", earlier=True),
    "no-evidence": replace(ACCEPTED, bundle="exit 2"),
    "signed": replace(
        ACCEPTED,
        parameters={"HOSTFILE": "mine.yaml", "SIGNING_KEY": "night"},
        credentials={"night": "/secret/night.key"},
    ),
    "login": replace(
        ACCEPTED,
        pytest='echo "agent at $SSH_AUTH_SOCK" >>diary.txt',
        parameters={"HOSTFILE": "mine.yaml", "SSH_KEY": "nodes"},
        credentials={"nodes": "/agent/sock"},
    ),
    "no-login": replace(ACCEPTED, parameters={"HOSTFILE": "mine.yaml", "SSH_KEY": "lost"}),
    "options": replace(
        ACCEPTED,
        parameters={
            "HOSTFILE": "mine.yaml",
            "PLATFORM": "h200",
            "LEVEL": "signoff",
            "ROUNDS": "2",
            "WORKERS": "3",
            "PREPARE": True,
        },
    ),
    "hostile": replace(ACCEPTED, parameters={"HOSTFILE": HOSTILE, "PLATFORM": HOSTILE}),
    "aborted": replace(ACCEPTED, pytest=CLEANING, abort_at="started"),
}
# A change to the Jenkinsfile, the night that detects it, and the result that reveals it.
LOCK = 'lock(resource: "railgauge-${cluster}")'
MUTANTS = {
    "newest-run": ("reports/${id ?: 'no-run'}", "reports/latest", "beside-a-replay"),
    "disagreement": ("found.verdict != verdict", "false", "said-and-done-disagree"),
    "green-rejection": ("if (verdict == 'rejected')", "if (false)", "rejected"),
    "green-incomplete": ("unstable(describe", "nameOf(describe", "incomplete"),
    "no-lock": (LOCK, "script", "accepted"),
    "no-waiting": ("if (code == null)", "if (false)", "aborted"),
}


@pytest.fixture(scope="module")
def builds(recorder) -> dict[str, Build]:
    asked = {name: Request(jenkinsfile(), night) for name, night in NIGHTS.items()}
    for name, (old, new, night) in MUTANTS.items():
        asked[f"mutant-{name}"] = Request(changed(old, new), NIGHTS[night])
    return recorder(asked)


@pytest.mark.parametrize(
    ("night", "result", "description"),
    [
        ("accepted", "SUCCESS", "mx: ACCEPTED (hardware evidence), asserted 100 of 100"),
        (
            "rejected",
            "FAILURE",
            "mx: REJECTED (hardware evidence), asserted 90 of 100: link-down at mx03 mlx5_1; "
            "slow-path at mx07 and mx08 mlx5_0; subnet-manager-missing; acs-enabled at mx05; "
            "cpu-governor at mx[01-04]; and 2 more",
        ),
        (
            "incomplete",
            "UNSTABLE",
            "mx: INCOMPLETE (hardware evidence), asserted 90 of 100: link-down at mx03 mlx5_1",
        ),
        (
            "deviations",
            "SUCCESS",
            "mx: ACCEPTED WITH DEVIATIONS (hardware evidence), asserted 90 of 100: "
            "link-down at mx03 mlx5_1. Deviations: mx03, mlx5_1: link-down (applied, until "
            "2027-01-31)",
        ),
        ("interrupted", "FAILURE", "no verdict: the run was interrupted"),
        (
            "bad-input",
            "FAILURE",
            "no verdict: the hostfile, platform file or options cannot be used",
        ),
        ("unknown-code", "FAILURE", "no verdict: unknown exit code 99"),
        (
            "terminated",
            "FAILURE",
            "no verdict: the run was ended by SIGTERM before it could conclude",
        ),
        ("silent", "FAILURE", "no verdict: exit code 0, but the run left no verdict.json"),
        (
            "silent-after-a-good-night",
            "FAILURE",
            "no verdict: exit code 0, but the run left no verdict.json",
        ),
        (
            "silent-beside-a-replay",
            "FAILURE",
            "no verdict: exit code 0, but the run left no verdict.json",
        ),
        (
            "beside-a-replay",
            "UNSTABLE",
            "mx: INCOMPLETE (hardware evidence), asserted 90 of 100: link-down at mx03 mlx5_1",
        ),
        (
            "said-and-done-disagree",
            "FAILURE",
            "no verdict: exit code 0, but verdict.json says rejected",
        ),
        ("unreadable-verdict", "FAILURE", "mx: no verdict"),
        ("no-hostfile", "FAILURE", "no verdict: HOSTFILE is empty"),
        ("no-plan", "FAILURE", "no verdict: nothing was measured, the log says why"),
        ("nameless-plan", "FAILURE", "no verdict: nothing was measured, the log says why"),
        ("no-installation", "FAILURE", "no verdict: nothing was measured, the log says why"),
        ("no-evidence", "FAILURE", "mx: ACCEPTED (hardware evidence), asserted 100 of 100"),
        ("aborted", "ABORTED", "mx: no verdict"),
    ],
)
def test_result(builds: dict[str, Build], night: str, result: str, description: str) -> None:
    build = builds[night]
    assert (build.result, build.description) == (result, description), build.log
    # Groovy itself fails only on text that is not JSON.
    assert bool(build.mistakes) == (night == "unreadable-verdict"), build.mistakes


@pytest.mark.parametrize(
    "night", ["accepted", "rejected", "incomplete", "interrupted", "aborted", "beside-a-replay"]
)
def test_what_was_measured_is_published(builds: dict[str, Build], night: str) -> None:
    build = builds[night]
    assert [entry["files"] for entry in build.called("junit")] == [[f"reports/{RUN}/junit.xml"]]
    assert [entry["args"]["results"] for entry in build.called("allure")] == [
        f"[[path:reports/{RUN}/allure-results]]"
    ]
    assert build.archived == [
        f"evidence/{RUN}.railgauge",
        "evidence/plan.txt",
        "evidence/run-id.txt",
        f"reports/{RUN}/report.css",
        f"reports/{RUN}/report.html",
        f"reports/{RUN}/transcripts/mx.txt",
        f"reports/{RUN}/verdict.json",
    ]


@pytest.mark.parametrize(
    "night",
    [
        "silent",
        "silent-after-a-good-night",
        "silent-beside-a-replay",
        "bad-input",
        "terminated",
        "no-hostfile",
    ],
)
def test_without_a_run_there_is_nothing_to_publish(builds: dict[str, Build], night: str) -> None:
    build = builds[night]
    assert [entry["files"] for entry in build.called("junit")] == [[]]
    assert build.called("allure") == []
    assert build.archived == []
    assert not any("[bundle]" in line for line in build.diary)


def test_evidence_of_an_earlier_night_is_not_published(builds: dict[str, Build]) -> None:
    build = builds["no-installation"]
    assert (build.stages["Install"], build.stages["Measure"]) == ("FAILURE", "skipped")
    assert build.archived == []


def test_no_evidence_is_no_reason_to_hide_the_report(builds: dict[str, Build]) -> None:
    build = builds["no-evidence"]
    assert build.called("junit")
    assert f"reports/{RUN}/report.html" in build.archived


@pytest.mark.parametrize("night", ["no-hostfile", "no-plan", "nameless-plan", "no-installation"])
def test_what_cannot_be_planned_is_not_measured(builds: dict[str, Build], night: str) -> None:
    assert builds[night].measured == []
    assert not builds[night].called("lock")


def in_lock(build: Build) -> bool:
    """Whether the cluster was locked during the whole run."""
    begin, *_, end = [line.split()[0] for line in build.diary if "install" not in line][1:4]
    return (begin, end) == ("locked", "unlocked") and bool(build.measured)


def test_the_cluster_is_locked_by_its_name(builds: dict[str, Build]) -> None:
    build = builds["accepted"]
    assert [entry["args"]["resource"] for entry in build.called("lock")] == ["railgauge-mx"]
    assert in_lock(build)


def test_time_counts_from_when_the_cluster_is_free(builds: dict[str, Build]) -> None:
    (limit,) = builds["accepted"].called("timeout")
    assert limit["args"] == {"time": "8", "unit": "HOURS"}
    assert limit["in"] == ["script", "lock"]


def test_options_of_the_run(builds: dict[str, Build]) -> None:
    assert builds["accepted"].measured == [
        "python [-m] [pytest] [--hostfile] [mine.yaml] [--level] [nightly]"
        " [--run-id-file] [evidence/run-id.txt]"
    ]
    assert builds["options"].measured == [
        "python [-m] [pytest] [--hostfile] [mine.yaml] [--level] [signoff]"
        " [--run-id-file] [evidence/run-id.txt] [--platform] [h200]"
        " [--rounds] [2] [-n] [3] [--prepare]"
    ]
    planned = "railgauge [plan] [--hostfile] [mine.yaml] [--level] [signoff] [--platform] [h200]"
    assert f"{planned} [--rounds] [2]" in builds["options"].diary


def test_parameters_are_never_shell_text(builds: dict[str, Build]) -> None:
    build = builds["hostile"]
    assert build.measured == [
        f"python [-m] [pytest] [--hostfile] [{HOSTILE}] [--level] [nightly]"
        f" [--run-id-file] [evidence/run-id.txt] [--platform] [{HOSTILE}]"
    ]
    assert build.result == "SUCCESS"
    assert not list(build.workspace.rglob("pwned*"))


def test_signature(builds: dict[str, Build]) -> None:
    bundle = f"railgauge [bundle] [reports/{RUN}] [%s] [-o] [evidence/{RUN}.railgauge]"
    assert bundle % "--unsigned" in builds["accepted"].diary
    assert bundle % "--key] [/secret/night.key" in builds["signed"].diary


def test_the_key_of_the_nodes_is_there_for_the_run_alone(builds: dict[str, Build]) -> None:
    build = builds["login"]
    assert build.result == "SUCCESS"
    assert "agent at /agent/sock" in build.diary
    (agent,) = build.called("sshagent")
    assert agent["args"] == {"credentials": "[nodes]"}
    within = {entry["step"] for entry in build.steps if "sshagent" in entry["in"]}
    assert within == {"timeout", "sh"}
    assert not builds["accepted"].called("sshagent")


def test_without_its_key_nothing_is_measured(builds: dict[str, Build]) -> None:
    build = builds["no-login"]
    assert (build.result, build.measured) == ("FAILURE", [])
    assert any("no credentials lost" in line for line in build.log)


@pytest.mark.parametrize("night", ["large", "large-deviations"])
def test_what_jenkins_shows_is_short_at_any_size(builds: dict[str, Build], night: str) -> None:
    build = builds[night]
    assert build.mistakes == []
    assert len(build.description) <= 300
    assert max(len(line) for line in build.log if "asserted" in line or "mx: " in line) <= 300
    assert " more" in build.description
    assert "slow-direction at acceptance-rack00-node000" in build.description


def test_old_runs_are_pruned(builds: dict[str, Build]) -> None:
    assert builds["accepted"].diary[-1] == "railgauge [prune] [--keep] [14] [--yes]"


def test_an_abort_frees_the_cluster_when_the_nodes_are_clean(builds: dict[str, Build]) -> None:
    diary = builds["aborted"].diary
    assert diary.index("cleaned") < diary.index("unlocked railgauge-mx")
    assert builds["aborted"].stages["Verdict"] == "skipped"


@pytest.fixture
def held_hostfile(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "held.yaml"
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield path


def test_somebody_else_measures_the_cluster(recorder, held_hostfile: Path) -> None:
    """It ends at once: Jenkins' lock does not cover runs started without Jenkins."""
    night = replace(ACCEPTED, parameters={"HOSTFILE": str(held_hostfile)})
    build = recorder({"busy": Request(jenkinsfile(), night)})["busy"]
    reason = "no verdict: another run on this machine is measuring the cluster"
    assert (build.result, build.description, build.measured) == ("FAILURE", reason, [])


@pytest.mark.parametrize("name", [n for n in MUTANTS if not n.startswith("no-")])
def test_a_wrong_pipeline_would_be_seen(builds: dict[str, Build], name: str) -> None:
    mutant, right = builds[f"mutant-{name}"], builds[MUTANTS[name][2]]
    assert mutant.problems == []
    assert mutant.result != right.result


def test_a_missing_lock_would_be_seen(builds: dict[str, Build]) -> None:
    assert not in_lock(builds["mutant-no-lock"])
    diary = builds["mutant-no-waiting"].diary
    unlocked = diary.index("unlocked railgauge-mx")
    assert "cleaned" not in diary[:unlocked]


def test_groovy_of_jenkins(recorder, builds: dict[str, Build]) -> None:
    """Jenkins embeds Groovy 2.4; the same nights end the same way on it."""
    names = ("accepted", "rejected", "incomplete", "silent", "aborted")
    asked = {name: Request(jenkinsfile(), NIGHTS[name]) for name in names}
    for name, build in recorder(asked, GROOVY_OF_JENKINS).items():
        for what in ("problems", "tree", "result", "description", "stages", "mistakes"):
            assert getattr(build, what) == getattr(builds[name], what), (name, build.mistakes)
        assert [e["step"] for e in build.steps] == [e["step"] for e in builds[name].steps]

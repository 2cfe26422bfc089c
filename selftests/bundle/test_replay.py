"""``pytest --replay`` gives the same verdict from the same transcripts and contacts no node."""

from __future__ import annotations

import json

import pytest
from testing import bundle_bench as bench
from testing.acceptance import assert_sound, make_project
from testing.bundle_bench import changed, forged

from railgauge.cli import main


@pytest.fixture
def project(tmp_path):
    """A project folder that did not make the run."""
    return make_project(tmp_path / "project")


@pytest.fixture
def replay(project):
    def replay(path, *options):
        run = project.run(f"--replay={path}", *options)
        assert_sound(run)
        return run

    return replay


def decided(verdict):
    return {key: value for key, value in verdict.items() if key not in ("run_id", "evidence")}


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_replayed_healthy_run_has_its_verdict(healthy, replay, workers):
    run = replay(healthy.path, *workers)
    assert run.code == 0
    assert decided(run.verdict) == decided(healthy.run.verdict)
    assert run.verdict["evidence"] == "replayed"
    assert run.outcomes == healthy.run.outcomes
    assert "REPLAYED" in run.output
    assert "replayed" in run.html
    assert run.transcripts.keys() == healthy.run.transcripts.keys()


def test_a_replayed_red_run_has_its_verdict(red, replay):
    run = replay(red.path)
    assert run.code == 1
    assert decided(run.verdict) == decided(red.run.verdict)
    assert run.outcomes == red.run.outcomes


def test_a_replay_can_be_bundled_and_verified(healthy, replay, verify, tmp_path):
    run = replay(healthy.path, "-k", "test_port_state or test_bandwidth and host_write_bandwidth")
    assert run.is_good
    bench.bundle(run.latest, tmp_path / "again", "--unsigned")
    code, out, _ = verify(tmp_path / "again")
    assert code == 10
    assert "REPLAYED evidence" in out


def exchanged(content):
    """The transcript of one pair under the name of another one."""
    one, other = [n for n in content if "transcripts/host_write_bandwidth_" in n and "json" in n][
        :2
    ]
    kept = json.loads(content[other])
    mine = json.loads(content[one]) | {"runs": kept["runs"]}
    content[one] = json.dumps(mine).encode()


def test_a_replay_accepts_nothing_that_verify_refuses(healthy, project, replay, verify, tmp_path):
    """Hashes and statement fit: only judging the evidence again shows it."""
    path = forged(healthy.path, tmp_path / "b", exchanged)
    code, _, err = verify(path)
    assert code == 1
    run = project.run(f"--replay={path}")
    assert run.code == 4
    assert f"does not verify: {err.partition('NOT VERIFIED: ')[2].strip()}" in run.output
    assert "--replay-unverified judges it all the same" in run.output
    assert not (project.folder / "reports").exists()

    run = replay(path, "--replay-unverified", "-n", "2")
    assert run.code == 10
    assert (run.verdict["verdict"], run.verdict["evidence"]) == ("incomplete", "not verified")
    assert "NOT VERIFIED, so nothing is accepted: run/transcripts/" in run.output
    assert "INCOMPLETE (NOT VERIFIED evidence)" in run.output
    assert "not verified" in run.html.lower()
    metrics = tmp_path / "metrics.prom"
    assert main(["metrics", str(run.latest), "-o", str(metrics)]) == 0
    text = metrics.read_text()
    assert 'evidence="not verified"' in text
    assert [x for x in text.splitlines() if "accepted" in x and x.endswith(" 1")] == []
    # Nobody can vouch for it.
    assert main(["bundle", str(run.latest), "-o", str(tmp_path / "c"), "--unsigned"]) == 2


def test_the_option_alone_and_a_bundle_that_verifies(healthy, project, replay):
    run = project.run("--replay-unverified")
    assert run.code == 4
    assert "--replay-unverified: needs --replay" in run.output
    assert replay(healthy.path, "--replay-unverified").code == 0


def test_a_transcript_that_is_not_there_is_an_error(healthy, replay, tmp_path):
    def change(content):
        for name in [n for n in content if "host_write_bandwidth_" in n]:
            del content[name]

    run = replay(forged(healthy.path, tmp_path / "b", change), "--replay-unverified")
    assert run.code == 10
    wanting = {
        i
        for i in run.outcomes
        if "test_bandwidth[host_write_bandwidth-" in i or "test_traffic[host_write_bandwidth-" in i
    }
    assert run.with_outcome("error") == wanting
    assert all("there is no transcript" in run.junit[i].message for i in wanting)


def test_named_limits_of_the_project_judge_the_replay(healthy, project, replay):
    def raise_floor(document):
        for limit in document["measurements"]["host_write_bandwidth"]["limits"]:
            limit["floor"] = 3800.0

    project.edit_platform("connectx4-homelab", raise_floor)
    assert replay(healthy.path).code == 0
    run = replay(healthy.path, "--platform", "connectx4-homelab")
    assert run.code == 1
    assert {i.split("-")[0].rsplit("::")[-1] for i in run.with_outcome("failed")} == {
        "test_bandwidth[host_write_bandwidth"
    }


def test_a_bundle_that_does_not_verify_is_not_replayed(healthy, project, tmp_path):
    def change(content):
        content["run/environment.json"] += b" "

    bad = changed(healthy.path, tmp_path / "b", change)
    run = project.run(f"--replay={bad}")
    assert run.code == 4
    assert "run/environment.json" in run.output
    assert not (project.folder / "reports").exists()
    for option in (("--prepare",), ("--hostfile", "hostfiles/lab-h200.yaml")):
        run = project.run(f"--replay={healthy.path}", *option)
        assert run.code == 4
        assert "cannot be combined with a replay" in run.output

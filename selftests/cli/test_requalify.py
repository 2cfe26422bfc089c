"""``railgauge requalify``: repaired nodes complete their sign-off, and nothing else does."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys

import pytest
from testing import commands
from testing.acceptance import BARE, HOMELAB, SMOKE, environment, make_project
from testing.core_values import one_line
from testing.fewer import measuring
from testing.waiting import wait_until

FEW = measuring("connectx4-homelab", "host_write_bandwidth")
PLAIN = (*HOMELAB, *SMOKE, *BARE)
BROKEN = ("--lab-fault", "governor@columbia")
CABLE = (
    "- {subject: 'viper, mlx5_0', cause: link-flap, reason: a cable is ordered, who: A. E.,"
    " until: 2999-01-31}\n"
)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    made = make_project(tmp_path_factory.mktemp("requalify") / "site")
    FEW(made)
    return made


@pytest.fixture(scope="module")
def signed(project):
    """A sign-off that columbia has spoiled, with a deviation that another node may have."""
    accepted = project.write("accepted.yaml", CABLE)
    done = project.run(*PLAIN, "--deviations", str(accepted), *BROKEN)
    assert done.code == 1, done.output
    return (project.folder / "reports" / "latest").resolve()


@pytest.fixture
def own_interpreter():
    """Pytest is started as at a user's, and not in a process that need not import anything."""


@pytest.fixture
def requalify(railgauge, project, monkeypatch, request):
    if "own_interpreter" not in request.fixturenames:
        monkeypatch.setattr("railgauge.cli.pytest_session.ended", commands.session)

    def requalify(*words, added=()):
        monkeypatch.setenv("PYTEST_ADDOPTS", shlex.join((*BARE, *added)))
        return railgauge("requalify", "--root", project.folder, *words)

    return requalify


@pytest.fixture
def refused(requalify, project):
    """Requalify, and return the one line that refuses it; nothing was measured."""

    def refused(*words):
        before = sorted((project.folder / "reports").iterdir())
        code, out, err = requalify(*words)
        assert (code, out) == (2, "")
        assert sorted((project.folder / "reports").iterdir()) == before
        return one_line(err)

    return refused


def digests(folder):
    return {
        path.relative_to(folder): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_repaired_node_completes_its_sign_off_which_stays_as_it_is(
    requalify, project, signed, own_interpreter
):
    before = digests(signed)
    code, out, _ = requalify(signed.name, "columbia", "--json")
    report = json.loads(out)
    assert (code, report["was"], report["found"]) == (0, "rejected", "qualified")
    assert (report["run"], report["nodes"]) == (signed.name, ["columbia"])
    assert report["verdict"] == "accepted"
    completed = json.loads((project.folder / report["folder"] / "verdict.json").read_text())
    assert completed["verdict"] == report["verdict"]
    assert [one["state"] for one in completed["deviations"]] == ["matches nothing"]
    assert [part["run_id"] for part in completed["merged"]] == [signed.name, report["measured"]]
    assert digests(signed) == before


def test_a_node_that_is_still_broken_completes_nothing(requalify, project, signed):
    before = digests(signed)
    into = project.folder / "reports" / "20300101-000000-still"
    code, out, _ = requalify(signed.name, "columbia", "--into", into, added=BROKEN)
    assert code == 1
    last = out.splitlines()[-1]
    assert last.startswith(f"{signed.name} was rejected. columbia: not qualified in ")
    assert last.endswith(f"The run of both is rejected: {into}")
    assert digests(signed) == before


def test_a_good_node_in_place_of_the_broken_one_completes_nothing(requalify, signed):
    code, out, _ = requalify(signed.name, "prometheus", "--json")
    assert (code, json.loads(out)["found"]) == (1, "qualified")
    assert json.loads(out)["verdict"] == "rejected"


def test_options_cannot_weaken_the_terms_of_the_sign_off(requalify, signed):
    weaker = ("--level", "nightly", "--only", "viper")
    code, out, _ = requalify(signed.name, "columbia", "--json", added=weaker)
    assert (code, json.loads(out)["verdict"]) == (0, "accepted")


def test_a_run_that_reaches_no_verdict_is_merged_with_nothing(requalify, project, signed):
    before = {*(project.folder / "reports").iterdir()}
    code, out, err = requalify(signed.name, "columbia", "--json", added=("--at-once", "none"))
    assert (code, out) == (4, "")
    assert err.splitlines()[-1] == "railgauge: columbia: no verdict, exit code 4"
    assert {*(project.folder / "reports").iterdir()} == before


def test_a_signal_ends_the_measurement_and_leaves_the_sign_off(project, signed, tmp_path):
    before = digests(signed)
    argv = (sys.executable, "-c", "from railgauge.cli import main; raise SystemExit(main())")
    words = ("requalify", signed.name, "columbia")
    runs = {*(project.folder / "reports").iterdir()}

    def measured():
        new = {*(project.folder / "reports").iterdir()} - runs
        return [path for run in new for path in run.glob("transcripts/*write*")]

    with (tmp_path / "err").open("w+") as err:
        begun = subprocess.Popen(
            [*argv, *words], cwd=project.folder, env=environment(), stderr=err,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        wait_until(measured, 60, "the first measurement")
        os.kill(begun.pid, signal.SIGINT)
        assert begun.wait(60) == 2
        err.seek(0)
        (run,) = {path.parents[1].name for path in measured()}
        assert f"columbia: no verdict, exit code 2: carry it on with pytest --resume {run}" in (
            err.read()
        )
    assert digests(signed) == before


# --- what is refused, before a node is touched ---


def test_unknown_nodes_are_refused(refused, signed):
    assert f"NODES: mx99 is no node of {signed}" in refused(signed.name, "mx99")
    assert "NODES: " in refused(signed.name, "columbia[")


def test_unknown_and_unfinished_runs_are_refused(refused, signed, tmp_path):
    assert "nothing is neither a run nor a bundle" in refused("nothing", "columbia")
    begun = tmp_path / "begun"
    shutil.copytree(signed, begun)
    (begun / "manifest.json").unlink()
    assert "has no manifest.json: the run did not end" in refused(begun, "columbia")


def test_a_run_that_was_changed_is_refused(refused, signed, tmp_path):
    changed = tmp_path / "changed"
    shutil.copytree(signed, changed)
    records = changed / "records.jsonl"
    records.write_text(records.read_text().replace('"failed"', '"passed"'))
    assert "records.jsonl" in refused(changed, "columbia")


def test_a_run_of_some_nodes_is_no_sign_off(refused, project):
    done = project.run(*PLAIN, "--only", "columbia", "--partners", "viper")
    assert done.code == 0, done.output
    message = refused("latest", "columbia")
    assert "is only columbia, with viper, and no sign-off" in message


def test_a_run_without_a_good_partner_is_refused(refused, signed):
    message = refused(signed.name, "viper,columbia,prometheus")
    assert "shows no node to be good" in message


def test_a_run_under_another_hostfile_or_other_limits_is_refused(refused, project, signed):
    for name, change in (
        (HOMELAB[1], lambda text: f"# another one\n{text}"),
        ("thresholds/connectx4-homelab.json", lambda text: text.replace("Three nodes", "3 nodes")),
    ):
        path = project.folder / name
        kept = path.read_text(encoding="utf-8")
        path.write_text(change(kept), encoding="utf-8")
        try:
            message = refused(signed.name, "columbia")
        finally:
            path.write_text(kept, encoding="utf-8")
        assert f"{name}: is not as it was in the run" in message
    metax = str(project.folder / "hostfiles" / "lab-metax-c500.yaml")
    message = refused(signed.name, "columbia", "--hostfile", metax)
    assert f"{metax}: is not as it was in the run" in message


def test_a_hostfile_that_is_none_of_the_site_has_to_be_named(refused, signed, tmp_path, railgauge):
    """A hostfile can run programs: the folder of a run may not choose one."""
    for name in ("thresholds", "hostfiles", "tests"):
        shutil.copytree(signed.parents[1] / name, tmp_path / name)
    code, out, err = railgauge("requalify", "--root", tmp_path, signed, "columbia")
    assert (code, out) == (2, "")
    assert f"is not in {tmp_path} or its folder hostfiles" in one_line(err)

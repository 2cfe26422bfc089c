"""What an earlier run found wrong is in the bundle of the run that carries it on, and counts."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from testing.acceptance import HOMELAB, Project
from testing.bundle_bench import Bundled, bundle, edit_json, forged

from railgauge.run.store import Store

FLAPPED = "mlx5_core 0000:02:00.0 mlx5_0: Port: 1 Link DOWN"
FACT, LOG = "cpu_governor[viper]", "kernel::kernel_log[columbia]"


@pytest.fixture(scope="module")
def project(healthy: Bundled, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with one run, in which a fact and a line of a kernel's log were wrong."""
    folder = tmp_path_factory.mktemp("earlier") / "project"
    shutil.copytree(healthy.project.folder, folder, symlinks=True)
    run = (folder / "reports" / "latest").resolve()
    _edit(run / "environment.json", _slow_governor)
    _edit(run / "transcripts" / "kernel_log_columbia.json", _flapped)
    Store(run).write_manifest({})
    return Project(folder)


def _edit(path, change):
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def _slow_governor(data):
    data["nodes"]["viper"]["facts"]["governors"] = ["powersave"]


def _flapped(data):
    """The last line that the kernel has logged is another one."""
    (transcript,) = data["runs"][0]
    lines = transcript["stdout"].splitlines()
    last = max(at for at, line in enumerate(lines) if ",-;" in line)
    lines[last] = f"4,{lines[last].partition(',')[2].partition(';')[0]};{FLAPPED}"
    transcript["stdout"] = "\n".join([*lines, ""])


@dataclass(frozen=True)
class CarriedOn:
    verdict: dict[str, Any]
    folder: Path
    path: Path


@pytest.fixture(scope="module")
def carried_on(project: Project, tmp_path_factory: pytest.TempPathFactory) -> CarriedOn:
    run = project.run("--resume", "latest", *HOMELAB)
    assert run.code == 1, run.output[-3000:]
    path = tmp_path_factory.mktemp("carried") / "on.railgauge"
    folder = run.latest.resolve()
    bundle(folder, path, "--unsigned")
    return CarriedOn(run.verdict, folder, path)


def first_run(folder: Path) -> str:
    """The name of the run that was carried on."""
    return str(json.loads((folder / "invocation.json").read_text())["resumes"])


def reasons(folder: Path) -> dict[str, str]:
    lines = (folder / "records.jsonl").read_text().splitlines()
    found = [one for one in map(json.loads, lines) if one["outcome"] == "failed"]
    return {one["id"].rpartition("::test_")[2] or one["id"]: one["reason"] for one in found}


def test_both_runs_count_and_both_results_are_reported(carried_on):
    verdict, folder = carried_on.verdict, carried_on.folder
    found, before = reasons(folder), first_run(folder)
    assert verdict["verdict"] == "rejected"
    assert found[FACT].startswith(f"failed in {before}: cpu_governor is powersave, should be")
    assert found[FACT].endswith("; now passed")
    assert found[LOG].startswith(f"failed in {before}: link-down at mlx5_0")
    assert {one["cause"] for one in verdict["causes"]} >= {"cpu-governor", "link-flap"}
    assert f"failed in {before}" in (folder / "junit.xml").read_text()
    assert f"failed in {before}" in (folder / "report.html").read_text()


def test_the_bundle_of_a_resumed_run_verifies(carried_on, verify):
    code, out, err = verify(carried_on.path)
    assert (code, err) == (1, "")
    assert "rejected: it stands" in out


def test_its_replay_is_rejected_too(carried_on, project):
    again = project.run(f"--replay={carried_on.path}")
    assert (again.code, again.verdict["verdict"]) == (1, "rejected")
    assert reasons(again.latest) == reasons(carried_on.folder)


def test_the_redacted_bundle_has_the_same_verdict(carried_on, verify, tmp_path):
    path = tmp_path / "redacted.railgauge"
    bundle(carried_on.folder, path, "--unsigned", "--redact", "hosts")
    assert "rejected: it stands" in verify(path)[1]


def test_a_third_run_keeps_what_the_first_one_found(carried_on, project):
    run = project.run("--resume", carried_on.folder.name, *HOMELAB, "-n", "2")
    assert (run.code, run.verdict["verdict"]) == (1, "rejected"), run.output[-3000:]
    assert reasons(run.latest) == reasons(carried_on.folder)


def without(*parts):
    def change(content):
        gone = [name for name in content if all(part in name for part in ("earlier/", *parts))]
        assert gone
        for name in gone:
            del content[name]

    return change


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        ([], "is missing: the run carries it on"),
        (["environment.json"], "environment.json: is missing: the run left it"),
        (["kernel_log_columbia"], "kernel_log_columbia.json: is missing: the run left it"),
    ],
)
def test_a_bundle_without_the_earlier_run_does_not_verify(
    carried_on, verify, tmp_path, parts, complaint
):
    code, _, err = verify(forged(carried_on.path, tmp_path / "b", without(*parts)))
    assert code == 1
    assert complaint in err


def test_a_bundle_with_a_changed_earlier_run_does_not_verify(carried_on, verify, tmp_path):
    def heal(data):
        data["nodes"]["viper"]["facts"]["governors"] = ["performance"]

    change = edit_json(f"run/earlier/{first_run(carried_on.folder)}/environment.json", heal)
    code, _, err = verify(forged(carried_on.path, tmp_path / "b", change))
    assert code == 1
    assert f"{FACT} is recorded as failed, but its evidence gives passed" in err


def test_a_bundle_with_an_unrelated_earlier_run_does_not_verify(healthy, verify, tmp_path):
    def change(content):
        content["run/earlier/20200101-000000-x/cluster.json"] = content["run/cluster.json"]

    code, _, err = verify(forged(healthy.path, tmp_path / "b", change))
    assert code == 1
    assert "is of no run that this one carries on" in err


def test_a_record_that_hides_the_earlier_run_does_not_verify(carried_on, verify, tmp_path):
    def change(content):
        lines = [json.loads(line) for line in content["run/records.jsonl"].splitlines()]
        for line in lines:
            if LOG in line["id"]:
                kept = [one for one in line["judgements"] if one["outcome"] != "failed"]
                line.update(outcome="passed", reason="", earlier=[], judgements=kept)
        text = "".join(json.dumps(line) + "\n" for line in lines)
        content["run/records.jsonl"] = text.encode()

    code, _, err = verify(forged(carried_on.path, tmp_path / "b", change))
    assert code == 1
    assert f"{LOG} is recorded as passed, but its evidence gives failed" in err

"""Every file of a run carries its schema version, and every reader refuses a newer one."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from testing import published
from testing.acceptance import HOMELAB, SMOKE, make_project
from testing.bundle_bench import bundle, files, forged, payload

from railgauge.core import run_files
from railgauge.core.errors import BadInput
from railgauge.judging import record
from railgauge.run.case_files import case_file
from railgauge.run.store import Store

FORMATS_OF_OTHERS = {"allurerc.json"}
"""Allure's own settings."""


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """A rejected run with a confirmation."""
    project = make_project(tmp_path_factory.mktemp("versions") / "project")
    fault = ("--lab-fault", "slow-node@viper", "--confirm")
    run = project.run(*HOMELAB, *SMOKE, *fault)
    assert run.code == 1, run.output[-3000:]
    return run


@pytest.fixture
def copy(ended, tmp_path):
    """The project and the folder of its run, to be changed."""
    project = tmp_path / "project"
    shutil.copytree(ended.project.folder, project, symlinks=True)
    return (project / "reports" / "latest").resolve()


def objects(path):
    text = path.read_text(encoding="utf-8")
    return (
        [json.loads(text)] if path.suffix == ".json" else list(map(json.loads, text.splitlines()))
    )


def test_every_file_of_a_run_carries_its_version(ended):
    folder = ended.latest.resolve()
    seen = set()
    for path in sorted(folder.rglob("*.json*")):
        inner = path.relative_to(folder)
        if inner.parts[0] == "allure-results" or inner.name in FORMATS_OF_OTHERS:
            continue
        name = run_files.TRANSCRIPTS if "transcripts" in inner.parts else inner.name
        known = run_files.VERSIONS.get(name, 1)
        assert {one.get("schema_version") for one in objects(path)} == {known}, inner
        seen.add(name)
    assert seen >= {
        "cluster.json", "measurements.jsonl", "vouched.jsonl", "records.jsonl",
        "verdict.json", "run.json", "manifest.json", "invocation.json", "environment.json",
        "transcripts", "thresholds.json",
    }  # fmt: skip


def newer(path):
    """The first object of a file becomes one of version 99."""
    first, *rest = objects(path)
    first["schema_version"] = 99
    text = "\n".join(map(json.dumps, [first, *rest])) + "\n"
    path.write_text(text, encoding="utf-8")


COMMANDS = {
    "triage": ("triage", "RUN"),
    "metrics": ("metrics", "RUN"),
    "bundle": ("bundle", "RUN", "--unsigned", "-o", "x.railgauge"),
    "derive": ("thresholds", "derive", "RUN"),
    "undo": ("undo", "--hostfile", "mine.yaml", "RUN"),
    "certificate": ("certificate", "RUN"),
    "inventory": ("inventory", "RUN"),
}
READ = ("cluster.json", "verdict.json", "run.json", "measurements.jsonl", "records.jsonl")


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_newer_file_is_refused_in_one_line(railgauge, copy, monkeypatch, command, name):
    newer(copy / name)
    monkeypatch.chdir(copy.parent.parent)
    words = [str(copy) if word == "RUN" else word for word in COMMANDS[command]]
    code, out, err = railgauge(*words)
    assert (code, out) == (2, "")
    message = err.replace(f"{name}: ", f"{name} ")
    assert f"{name} has schema version 99, but this version of railgauge reads" in message
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("name", sorted({*READ, "vouched.jsonl", "manifest.json"}))
def test_resume_refuses_a_newer_file(ended, copy, name):
    newer(copy / name)
    project = type(ended.project)(copy.parent.parent)
    run = project.run(
        *HOMELAB, *SMOKE, "--lab-fault", "slow-node@viper", "--confirm", "--resume", copy.name
    )
    assert run.code == 4, run.output[-2000:]
    assert "has schema version 99" in run.words


def test_a_newer_transcript_is_not_taken_for_none(copy):
    """It would be measured again, and the evidence that it holds would be lost."""
    lines = map(json.loads, (copy / "records.jsonl").read_text(encoding="utf-8").splitlines())
    items = (record.from_json(run_files.unstamped("records.jsonl", line)) for line in lines)
    case = next(q.case for item in items for q in item.questions if q.case)
    assert Store(copy).load(case) is not None
    newer(copy / case_file(case))
    with pytest.raises(BadInput, match="has schema version 99"):
        Store(copy).load(case)


@pytest.mark.parametrize("version", [0, -1, 1.0, True, "1", None, 10**30])
def test_a_value_that_is_no_version_is_refused(version):
    with pytest.raises(BadInput, match="schema version"):
        run_files.refuse_newer("cluster.json", {"schema_version": version})


def test_files_of_earlier_versions_have_none(copy):
    """Cluster, lines and transcripts without a version are read as version 1."""
    assert run_files.unstamped("cluster.json", {"name": "a"}) == {"name": "a"}
    store = Store(copy)
    assert store.read_json("cluster.json")["schema_version"] == 1


def without_versions(content):
    """The bundle as an earlier version of the package would have made it."""
    for name, data in content.items():
        file = Path(name).name
        if file in ("cluster.json", "measurements.jsonl") or "/transcripts/" in name:
            text = data.decode("utf-8")
            text = text.replace('"schema_version": 1, ', "").replace(', "schema_version": 1', "")
            content[name] = re.sub(r'\n *"schema_version": 1,', "", text).encode()


def test_a_bundle_without_the_new_versions_verifies(railgauge, ended, tmp_path):
    path = tmp_path / "x.railgauge"
    bundle(ended.latest, path, "--unsigned")
    old = forged(path, tmp_path / "old.railgauge", without_versions)
    assert not any(
        b'"schema_version": 1' in files(old)[f"run/{n}"]
        for n in ("cluster.json", "measurements.jsonl")
    )
    code, out, _ = railgauge("verify", old, "--unsigned")
    assert code == 1, out
    assert "rejected: it stands, asserted " in out


@pytest.mark.parametrize("name", ["cluster.json", "measurements.jsonl"])
def test_verify_refuses_a_newer_file(railgauge, ended, tmp_path, name):
    path = tmp_path / "x.railgauge"
    bundle(ended.latest, path, "--unsigned")

    def make_newer(content):
        data = content[f"run/{name}"]
        content[f"run/{name}"] = data.replace(b'"schema_version": 1', b'"schema_version": 99', 1)

    code, _, err = railgauge("verify", forged(path, tmp_path / "new.railgauge", make_newer))
    assert code == 2
    assert "has schema version 99" in err


# --- the published schemas ---


def test_a_run_and_its_bundle_keep_to_the_published_schemas(railgauge, ended, tmp_path):
    published.refuse_unpublished(ended.latest)
    path = tmp_path / "x.railgauge"
    railgauge(
        "bundle",
        ended.latest,
        "--unsigned",
        "-o",
        path,
        "--redact",
        "hosts",
        "--redact",
        "addresses",
    )
    statement = payload(files(path))
    assert list(published.complaints("bundle-1", [statement])) == []
    assert statement["predicate"]["railgauge"]["redacted"]["on_request"] == ["addresses", "hosts"]


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("verdict-2", lambda data: data.update(verdict="fine")),
        ("verdict-2", lambda data: data.update(extra=1)),
        ("verdict-2", lambda data: data["counts"].pop("failed")),
        ("verdict-2", lambda data: data["causes"][0].pop("remedy")),
        ("verdict-2", lambda data: data.update(schema_version=3)),
    ],
)
def test_the_schema_refuses_another_verdict(ended, name, spoil):
    data = json.loads(json.dumps(ended.verdict))
    spoil(data)
    assert list(published.complaints(name, [data]))


@pytest.mark.parametrize(
    "change", [{"unit": None}, {"better": "up"}, {"values": ["3"]}, {"chain": ""}, {"more": 1}]
)
def test_the_schema_refuses_another_line(ended, change):
    assert list(published.complaints("measurements-1", [{**ended.measurements[0], **change}]))


def test_the_schemas_are_those_of_the_versions_that_are_written():
    for name in ("verdict", "measurements"):
        file = "verdict.json" if name == "verdict" else "measurements.jsonl"
        schema = published.validator(f"{name}-{run_files.VERSIONS[file]}").schema
        assert schema["properties"]["schema_version"] == {"const": run_files.VERSIONS[file]}

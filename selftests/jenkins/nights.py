"""A Jenkins workspace with a stand-in for the suite, and the recorder that runs builds in it."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
JARS = ROOT / ".cache" / "jars"
GROOVY_4 = ("groovy-4.0.24.jar", "groovy-json-4.0.24.jar")
# The Groovy that Jenkins embeds: the recorder runs on it too, so newer syntax is detected.
GROOVY_OF_JENKINS = ("groovy-all-2.4.21.jar",)
TIME_LIMIT_S = 900.0  # a generous limit, for a busy machine
RUN = "20260102-010000-mx"
# Shell text that leaves a replay of somebody else, begun after this run: reports/latest is that.
REPLAY = """
mkdir -p reports/20260102-020000-mx/allure-results; ln -sfn 20260102-020000-mx reports/latest
echo '{"verdict": "accepted"}' >reports/latest/verdict.json
"""

Json = dict[str, Any]


def verdict(word: str, causes: Sequence[Json] = (), deviations: Sequence[Json] = ()) -> str:
    """The parts of ``verdict.json`` that the job reads."""
    counts = {"planned": 100, "asserted": 100 if word == "accepted" else 90}
    found = {"verdict": word, "cluster": "mx", "evidence": "hardware", "counts": counts}
    listed = {"deviations": list(deviations)} if deviations else {}
    return json.dumps(found | {"causes": list(causes)} | listed)


@dataclass(frozen=True)
class Night:
    """The stand-ins' behaviour: pytest's exit code and verdict, and the other commands' exit codes.

    ``pytest`` is shell text that comes before the exit.
    """

    code: int = 0
    verdict: str | None = None
    pytest: str = ""
    plan: str = 'echo "mx: 4 nodes, platform h200, level nightly"'
    bundle: str = 'echo evidence >"$last"'
    prune: str = ":"
    make: str = "touch .venv/.ready"
    earlier: bool = False
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"HOSTFILE": "mine.yaml"})
    credentials: Mapping[str, str] = field(default_factory=dict)
    abort_at: str | None = None


def make_workspace(folder: Path, night: Night) -> Path:
    """A workspace with stand-ins for make's recipe, the suite and ``railgauge``.

    All of them write into ``diary.txt`` what they were called with.
    """
    (folder / ".venv" / "bin").mkdir(parents=True)
    (folder / "reports").mkdir()
    (folder / "mine.yaml").write_text("cluster: mx\n", encoding="utf-8")
    (folder / "Makefile").write_text(
        f".venv/.ready:\n\techo install >>diary.txt\n\t{night.make}\n", encoding="utf-8"
    )
    _command(folder / ".venv" / "bin" / "python", _leave(night))
    _command(
        folder / ".venv" / "bin" / "railgauge",
        f'for last; do :; done\ncase "$1" in\nplan) {night.plan};;\nbundle) {night.bundle};;\n'
        f"prune) {night.prune};;\nesac",
    )
    if night.earlier:
        _earlier(folder)
    return folder


def _command(path: Path, body: str) -> None:
    note = f"{{ printf '{path.name}'; printf ' [%s]' \"$@\"; echo; }} >>diary.txt"
    path.write_text(f"#!/bin/sh\n{note}\n{body}\n", encoding="utf-8")
    path.chmod(0o755)


def _leave(night: Night) -> str:
    """Shell text that leaves a run's files; without a verdict it leaves nothing."""
    if night.verdict is None:
        return night.pytest + f"\nexit {night.code}"
    folder = f"reports/{RUN}"
    return "\n".join(
        [
            'for word; do case "$before" in --run-id-file)',
            f'echo {RUN} >"$word";; esac; before=$word; done',
            f"mkdir -p {folder}/allure-results; ln -sfn {RUN} reports/latest",
            f"cat >{folder}/verdict.json <<'END'\n{night.verdict}\nEND",
            f"echo '<testsuite failures=\"1\"/>' >{folder}/junit.xml",
            f"mkdir -p {folder}/transcripts; echo '<html>' >{folder}/report.html",
            f"echo '.rg {{}}' >{folder}/report.css; echo 'a b' >{folder}/transcripts/mx.txt",
            f"echo '{{}}' >{folder}/transcripts/mx.json",
            night.pytest,
            f"exit {night.code}",
        ]
    )


def _earlier(folder: Path) -> None:
    """The files of last night's run in the same workspace."""
    run = folder / "reports" / "20260101-010000-mx"
    (run / "allure-results").mkdir(parents=True)
    (run / "verdict.json").write_text(verdict("accepted"), encoding="utf-8")
    (run / "junit.xml").write_text("<testsuite/>", encoding="utf-8")
    (folder / "reports" / "latest").symlink_to(run.name)
    (folder / "evidence").mkdir()
    (folder / "evidence" / "old.railgauge").write_text("old", encoding="utf-8")


@dataclass(frozen=True)
class Request:
    """A Jenkinsfile to check and, with a night, to run."""

    jenkinsfile: str
    night: Night | None = None


@dataclass(frozen=True)
class Build:
    """What the recorder says about one Jenkinsfile, and about its build if there was one."""

    answer: Json
    workspace: Path

    def __getattr__(self, name: str) -> Any:
        return self.answer[name]

    @property
    def diary(self) -> list[str]:
        path = self.workspace / "diary.txt"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def called(self, step: str) -> list[Json]:
        return [entry for entry in self.steps if entry["step"] == step]

    @property
    def archived(self) -> list[str]:
        return sorted(n for entry in self.called("archiveArtifacts") for n in entry["files"])

    @property
    def measured(self) -> list[str]:
        """The arguments of the suite's call."""
        return [line for line in self.diary if line.startswith("python ")]


def missing_jars(names: Sequence[str]) -> list[str]:
    return [name for name in names if not (JARS / name).exists()]


def wrong_jars(names: Sequence[str]) -> list[str]:
    """The jars that differ from those in ``jars.txt``."""
    lines = (HERE / "jars.txt").read_text(encoding="utf-8").splitlines()
    pinned = {name: sha256 for sha256, name, _ in (line.split() for line in lines)}
    digests = {name: hashlib.sha256((JARS / name).read_bytes()).hexdigest() for name in names}
    return [name for name in names if digests[name] != pinned[name]]


def record(folder: Path, jars: Sequence[str], asked: Mapping[str, Request]) -> dict[str, Build]:
    """The recorder checks and runs all Jenkinsfiles in one Java process."""
    folder.mkdir(parents=True, exist_ok=True)
    request, answer = folder / "request.json", folder / "answer.json"
    requests = [_request(folder / name, one) for name, one in asked.items()]
    request.write_text(json.dumps(requests), encoding="utf-8")
    classes = ":".join([*(str(JARS / name) for name in jars), str(HERE)])
    script = str(HERE / "recorder.groovy")
    recorder = ["groovy.ui.GroovyMain", script, str(request), str(answer)]
    done = subprocess.run(
        # Groovy 2.4 reads java.lang by reflection.
        [
            "java",
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "--add-opens=java.base/java.lang=ALL-UNNAMED",
            "-cp",
            classes,
            *recorder,
        ],
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    answers = json.loads(answer.read_text(encoding="utf-8"))
    return {
        name: Build(answer, folder / name / "workspace")
        for name, answer in zip(asked, answers, strict=True)
    }


def _request(folder: Path, asked: Request) -> Json:
    folder.mkdir()
    path = folder / "Jenkinsfile"
    path.write_text(asked.jenkinsfile, encoding="utf-8")
    if asked.night is None:
        return {"jenkinsfile": str(path), "scenario": None}
    night = asked.night
    scenario = {
        "workspace": str(make_workspace(folder / "workspace", night)),
        "parameters": dict(night.parameters),
        "credentials": dict(night.credentials),
        "abort_at": night.abort_at,
    }
    return {"jenkinsfile": str(path), "scenario": scenario}


def jenkinsfile() -> str:
    return (ROOT / "Jenkinsfile").read_text(encoding="utf-8")


def changed(old: str, new: str) -> str:
    """The Jenkinsfile with one place changed."""
    text = jenkinsfile()
    assert text.count(old) >= 1, f"the Jenkinsfile no longer has {old!r}"
    return text.replace(old, new, 1)

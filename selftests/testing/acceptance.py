"""A user's project folder, a run of pytest in it, and everything that the run leaves behind."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from railgauge.config import thresholds
from railgauge.core.terms import BESIDE_ROLES
from testing import prepared, published
from testing.places import ROOT
from testing.rounds import ONE_ROUND, one_round

HOMELAB = ("--hostfile", "hostfiles/lab-connectx4-homelab.yaml")
METAX = ("--hostfile", "hostfiles/lab-metax-c500.yaml")
MI300X = ("--hostfile", "hostfiles/lab-mi300x.yaml")
TCPX = ("--hostfile", "hostfiles/lab-h100-tcpx.yaml")
H200 = ("--hostfile", "hostfiles/lab-h200.yaml")
SMOKE = ("--level", "smoke")
# For runs whose HTML and Allure reports no test reads. Setting up pytest's capture of log messages
# for each phase of each item takes a twentieth of a run; without it warnings are on stderr.
BARE = ("-p", "no:html", "-p", "no:allure_pytest", "-p", "no:logging")
BARE_SMOKE = (*SMOKE, *BARE)
# Users do not have Hypothesis, whose plugin takes most of a second at the end of a run.
_AS_INSTALLED = ("-p", "no:hypothesispytest")
# Two nodes and one round, so that there is one pair: viper sends to columbia.
ONE_PAIR = (*HOMELAB, *SMOKE, ONE_ROUND)
HOMELAB_NODES = ("viper", "columbia", "prometheus")
# A limit for a run that hangs; a busy machine stays below it.
TIME_LIMIT_S = 400.0
# The folders of the items that no test makes.
# The readings of end-of-run checks, which are no cases of a test.
_OF_NODES = ("kernel_log_", "growth_")
_AT_END = ("kernel::kernel_log[", "gpus::telemetry[", "counters::growth[", "peers::", "soak/")

Change = Callable[["Project"], None]


@dataclass(frozen=True)
class Project:
    """The files of a user who runs the suite: copies, which a test may change."""

    folder: Path

    def edit_platform(self, name: str, change: Callable[[dict[str, Any]], object]) -> None:
        """Changes its long form, which replaces it from then on."""
        folder = self.folder / "thresholds"
        document = json.loads(thresholds.load(name, folder).text)
        change(document)
        (folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def command(self, *options: str) -> list[str]:
        return [sys.executable, "-m", "pytest", *_AS_INSTALLED, *options]

    def run(self, *options: str, fresh: bool = False) -> Run:
        """Run pytest; ``fresh``: in a new interpreter that does its own imports, as for users."""
        carry_out = prepared.fresh if fresh else prepared.run
        request = prepared.Request(self._asked(options), self.folder, environment(), TIME_LIMIT_S)
        return self._run_of(lambda: carry_out(request))

    def start(
        self, output: Path, *options: str, new_session: bool = False, **more: str
    ) -> prepared.Started | subprocess.Popen[bytes]:
        """Run pytest in the background; it prints to a file. ``more`` are variables of the run."""
        request = prepared.Request(
            self._asked(options), self.folder, environment(), TIME_LIMIT_S, new_session, more
        )
        with output.open("wb") as file:
            return prepared.start(request, file)

    def _asked(self, options: tuple[str, ...]) -> tuple[str, ...]:
        if ONE_ROUND in options:
            one_round("connectx4-homelab")(self)
        return (*_AS_INSTALLED, *options)

    def execute(self, command: Iterable[str]) -> Run:
        return self._run_of(
            lambda: subprocess.run(
                list(command),
                cwd=self.folder,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=TIME_LIMIT_S,
                stdin=subprocess.DEVNULL,
                env=environment(),
                check=False,
            )
        )

    def _run_of(self, carry_out: Callable[[], subprocess.CompletedProcess[str]]) -> Run:
        started, before = time.monotonic(), self._latest()
        done = carry_out()
        took_s = time.monotonic() - started
        if (latest := self._latest()) and latest != before:
            published.refuse_unpublished(latest)
        return Run(self, done.returncode, done.stdout, done.stderr, took_s)

    def _latest(self) -> Path | None:
        link = self.folder / "reports" / "latest"
        return link.resolve() if link.exists() else None


# Importing hypothesis costs a run a second, and no run of the ladder uses it; nor has the ladder
# any ``assert`` that pytest would have to rewrite in each copy of it.
QUICK = {"PYTEST_ADDOPTS": "-p no:hypothesispytest --assert=plain"}


def environment() -> dict[str, str]:
    """This process's environment, without the variables that the outer pytest sets.

    pytest sets its own meanwhile: they are not even read. Temporary files are where the tests' are.
    """
    root = os.environ.get("PYTEST_DEBUG_TEMPROOT")
    names = [name for name in list(os.environ) if not name.startswith("PYTEST_")]
    own = {name: value for name in names if (value := os.environ.get(name)) is not None}
    if root:
        own.setdefault("TMPDIR", root)
    return own | QUICK


def make_project(folder: Path) -> Project:
    folder.mkdir(parents=True)
    for name in ("conftest.py", "tox.ini"):
        shutil.copy(ROOT / name, folder)
    for name in ("tests", "thresholds", "hostfiles"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return Project(folder)


@dataclass(frozen=True)
class Scenario:
    """A run: its options, and changes of the user's project before it.

    ``waits`` says that it mostly waits for something to time out: such a run is started early.
    ``fresh`` is explained at ``Project.run``.
    """

    options: tuple[str, ...]
    change: Change = lambda project: None
    waits: bool = False
    fresh: bool = False


class Runs:
    """The runs of one module's scenarios by name; each scenario runs once."""

    def __init__(self, started: Mapping[str, Future[Run]]) -> None:
        self._started = started

    def __getitem__(self, name: str) -> Run:
        return self._started[name].result()


class Background:
    """Runs scenarios of several modules while tests read those that have ended."""

    def __init__(self, folder: Path, pool: ThreadPoolExecutor) -> None:
        self._folder = folder
        self._pool = pool
        self._started: dict[tuple[str, str], Future[Run]] = {}

    def start(self, scenarios: Mapping[str, Mapping[str, Scenario]]) -> None:
        """``scenarios`` by module and name; each is started once."""
        wanted = [
            (module, name, scenario)
            for module, named in scenarios.items()
            for name, scenario in named.items()
            if (module, name) not in self._started
        ]
        for module, name, scenario in sorted(wanted, key=lambda one: not one[2].waits):
            folder = self._folder / module / name
            self._started[module, name] = self._pool.submit(_carry_out, scenario, folder)

    def of(self, module: str) -> Runs:
        return Runs({name: run for (of, name), run in self._started.items() if of == module})


def _carry_out(scenario: Scenario, folder: Path) -> Run:
    project = make_project(folder)
    scenario.change(project)
    return project.run(*scenario.options, fresh=scenario.fresh)


@dataclass(frozen=True)
class Run:
    """One run that has ended, with the contents of ``reports/latest``."""

    project: Project
    code: int
    stdout: str
    stderr: str
    duration_s: float

    @property
    def output(self) -> str:
        return self.stdout + self.stderr

    @property
    def words(self) -> str:  # without line breaks: the terminal wraps long reasons
        return " ".join(self.output.split())

    @property
    def latest(self) -> Path:
        return self.project.folder / "reports" / "latest"

    def _json(self, name: str) -> Any:
        return json.loads((self.latest / name).read_text(encoding="utf-8"))

    @cached_property
    def verdict(self) -> dict[str, Any]:
        found: dict[str, Any] = self._json("verdict.json")
        return found

    @property
    def counts(self) -> dict[str, int]:
        """The counts other than 0, without planned and asserted."""
        counts = self.verdict["counts"]
        return {k: n for k, n in counts.items() if n and k not in ("planned", "asserted")}

    @property
    def is_good(self) -> bool:
        """Whether every item that ran passed, for a run of a part of the level."""
        return self.code == 10 and set(self.counts) <= {"passed", "marginal", "not_run"}

    @cached_property
    def measurements(self) -> list[dict[str, Any]]:
        return _lines(self.latest / "measurements.jsonl")

    @property
    def order(self) -> list[str]:
        """The ids of the items of tests, in the order in which they ended."""
        return [item for item, _ in self._ended if ".py::" in item]

    @cached_property
    def outcomes(self) -> dict[str, str]:
        """The outcome of each item of a test, by id."""
        return {item: outcome for item, outcome in self._ended if ".py::" in item}

    @cached_property
    def at_end(self) -> dict[str, str]:
        """The outcome of each item that is judged when all tests have ended, by id."""
        return {item: outcome for item, outcome in self._ended if item.startswith(_AT_END)}

    @cached_property
    def items(self) -> dict[str, str]:
        return {**self.outcomes, **self.at_end}

    @cached_property
    def _ended(self) -> list[tuple[str, str]]:
        return [(line["id"], line["outcome"]) for line in _lines(self.latest / "records.jsonl")]

    def with_outcome(self, outcome: str) -> set[str]:
        return {item_id for item_id, found in self.outcomes.items() if found == outcome}

    @cached_property
    def environment(self) -> dict[str, Any]:
        found: dict[str, Any] = self._json("environment.json")
        return found

    @cached_property
    def manifest(self) -> dict[str, str]:
        found: dict[str, str] = self._json("manifest.json")["sha256"]
        return found

    @cached_property
    def transcripts(self) -> dict[str, dict[str, Any]]:
        """By case of a test: the error, and the transcripts of each repeat."""
        every = sorted((self.latest / "transcripts").glob("*.json"))
        own = (path.read_text("utf-8") for path in every if not path.name.startswith(_OF_NODES))
        found = list(map(json.loads, own))
        assert len({data["case"]["key"] for data in found}) == len(found)
        return {data["case"]["key"]: data for data in found}

    @cached_property
    def junit(self) -> dict[str, JunitCase]:
        return {case.id: case for case in map(_junit_case, self.junit_suite.iter("testcase"))}

    @cached_property
    def junit_suite(self) -> ElementTree.Element:
        return ElementTree.parse(self.latest / "junit.xml").getroot()[0]

    @cached_property
    def allure(self) -> dict[str, dict[str, Any]]:
        results: dict[str, dict[str, Any]] = {}
        for file in (self.latest / "allure-results").glob("*-result.json"):
            result = json.loads(file.read_text(encoding="utf-8"))
            path = _path_of(result["fullName"].partition("#")[0])
            assert results.setdefault(f"{path}::{result['name']}", result) is result
        return results

    @property
    def html(self) -> str:
        return (self.latest / "report.html").read_text(encoding="utf-8")

    @cached_property
    def html_rows(self) -> dict[str, str]:
        """The texts of each row in the table of the HTML report."""
        rows = re.findall(
            r"<tr id=r\d+[^>]*><th scope=row>([^<]*)(<.*?)(?=<tr id=r|</table>)",
            self.html,
            re.DOTALL,
        )
        names = (html.unescape(name) for name, _ in rows)
        ids = (f"tests/{name}" if ".py::" in name else name for name in names)
        texts = (html.unescape(re.sub(r"<[^>]*>", " ", cells)) for _, cells in rows)
        return dict(zip(ids, texts, strict=True))


@dataclass(frozen=True)
class JunitCase:
    id: str
    outcome: str
    message: str
    properties: Mapping[str, Sequence[str]]


def _junit_case(case: ElementTree.Element) -> JunitCase:
    path = _path_of(case.attrib["classname"])
    bad = [child for child in case if child.tag in ("failure", "error", "skipped")]
    assert len(bad) <= 1, "an item that ends twice"
    return JunitCase(
        id=f"{path}::{case.attrib['name']}",
        outcome=bad[0].tag if bad else "passed",
        message=bad[0].attrib.get("message", "") if bad else "",
        properties=_properties(case),
    )


def _path_of(module: str) -> str:
    """The first part of an id; a required check without a collected item is in no file."""
    path = module.replace(".", "/")
    if module.startswith("tests."):
        return f"{path}.py"
    return path if module.startswith("soak.") else module


def _properties(case: ElementTree.Element) -> dict[str, list[str]]:
    """All values of each name; the traffic of a pair is listed once for each of its nodes."""
    found: dict[str, list[str]] = {}
    for one in case.iter("property"):
        found.setdefault(one.attrib["name"], []).append(one.attrib["value"])
    return found


def of_the_tool(repeat: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The transcripts of the tool, without what the suite itself runs beside it."""
    return [one for one in repeat if one["role"] not in BESIDE_ROLES]


_CODES = {"accepted": 0, "rejected": 1, "incomplete": 10, "accepted with deviations": 11}


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def assert_sound(run: Run) -> None:
    """What holds for every run with a verdict, whatever the verdict."""
    assert_counted(run)
    counts, suite = run.verdict["counts"], run.junit_suite.attrib
    assert int(suite["failures"]) == counts["failed"]
    assert int(suite["skipped"]) == counts["blocked"] + counts["record_only"] + counts["not_run"]


def assert_counted(run: Run) -> None:
    """What holds also for a run whose reports sum the items of a test at one place."""
    assert_clean(run)
    counts = run.verdict["counts"]
    assert run.code in (_CODES[run.verdict["verdict"]], 2)  # or interrupted
    assert sum(run.counts.values()) == counts["planned"]
    assert counts["asserted"] == counts["passed"] + counts["marginal"] + counts["failed"]
    assert (run.verdict["verdict"] == "accepted") <= (counts["asserted"] == counts["planned"])
    judged = {line["id"] for line in run.measurements if line["outcome"] in ("passed", "marginal")}
    assert run.with_outcome("passed") | run.with_outcome("marginal") <= judged


def assert_clean(run: Run) -> None:
    """Whatever fails on a node, the output shows no traceback."""
    for word in ("Traceback", "INTERNALERROR", "KeyError", "AttributeError"):
        assert word not in run.output, run.output[-3000:]

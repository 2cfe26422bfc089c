"""Samples of GPUs as evidence: in bundles, in replays, in runs that are carried on, and forged."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from test_resume import START_LIMIT_S, started
from testing import forger_bench as forger
from testing.acceptance import BARE, SMOKE, TCPX, Project, Run, Runs, Scenario, assert_sound
from testing.bundle_bench import Files
from testing.fewer import measuring
from testing.waiting import wait_until

from railgauge.bundle import signing
from railgauge.cli import main

TWO = (*TCPX, "--lab-nodes", "2", *SMOKE, *BARE)
SAMPLED = measuring("h100-tcpx", "gpu_host_bandwidth", "node_all_reduce", "pair_all_reduce")
SCENARIOS = {
    "healthy": Scenario(TWO, SAMPLED),
    "throttled": Scenario((*TWO, "--lab-fault", "throttle@tcpx02:3"), SAMPLED),
}
FIRST, SECOND = "gpus::telemetry[tcpx01]", "gpus::telemetry[tcpx02]"
PAIR = "run/transcripts/pair_all_reduce_tcpx01+tcpx02.json"
Samples = dict[str, Any]


def own(run: Run) -> Path:
    """The folder of the scenario's own run; later ones of the project are left out."""
    return min(p.parent for p in run.project.folder.glob("reports/2*/invocation.json"))


def verdict(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((own(run) / "verdict.json").read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def bundles(runs: Runs, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("bundles")

    def bundle(name: str) -> Path:
        path = folder / f"{name}.railgauge"
        if not path.exists():
            assert main(["bundle", str(own(runs[name])), "-o", str(path), "--unsigned"]) == 0
        return path

    return bundle


def samples_of(data: dict[str, Any]) -> Iterator[Samples]:
    return (one for run in data["runs"] for one in run if one["role"] == "telemetry")


# --- as it was measured ---


@pytest.mark.parametrize(("name", "code"), [("healthy", 0), ("throttled", 1)])
def test_a_bundle_of_it_verifies(bundles: Callable[[str], Path], name: str, code: int) -> None:
    assert main(["verify", str(bundles(name)), "--unsigned"]) == code


def test_one_sampler_a_node_watches_the_whole_run(runs: Runs) -> None:
    started: dict[str, set[str]] = {}
    for path in (own(runs["healthy"]) / "transcripts").glob("*.json"):
        for one in samples_of(json.loads(path.read_text(encoding="utf-8"))):
            started.setdefault(one["node"], set()).add(one["started_at"])
    assert {node: len(times) for node, times in started.items()} == {"tcpx01": 1, "tcpx02": 1}


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_a_replay_says_the_same(runs: Runs, bundles: Callable[[str], Path], name: str) -> None:
    replay = runs[name].project.run(f"--replay={bundles(name)}", *SMOKE, *BARE)
    assert_sound(replay)
    was = verdict(runs[name])
    assert (replay.verdict["evidence"], was["evidence"]) == ("replayed", "simulated")
    for part in ("causes", "counts", "verdict"):
        assert replay.verdict[part] == was[part]
    assert list((replay.latest / "transcripts").glob("node_all_reduce*.csv"))


@pytest.mark.parametrize("fault", [(), ("--lab-fault", "throttle@tcpx02:3")])
def test_a_run_that_is_carried_on_judges_the_samples_of_both(
    runs: Runs, project: Project, fault: tuple[str, ...]
) -> None:
    """The nodes of the lab are started anew, so that they have other boots in the second run."""
    whole = runs["throttled" if fault else "healthy"]
    SAMPLED(project)
    before = killed_once_sampled(project, *TWO, *fault)
    run = project.run("--resume", "latest")
    assert_sound(run)
    assert before < {path.name for path in (run.latest / "transcripts").glob("*.csv")}
    was = verdict(whole)
    assert run.verdict["verdict"] == was["verdict"]
    assert [c["cause"] for c in run.verdict["causes"]] == [c["cause"] for c in was["causes"]]
    assert run.junit[FIRST].outcome == "passed"


def killed_once_sampled(project: Project, *options: str) -> set[str]:
    """Kill a run when it has the samples of two cases, or a few more; returns their files."""

    def sampled() -> set[str]:
        return {path.name for path in project.folder.glob("reports/2*/transcripts/*.csv")}

    with started(project, *options) as process:
        wait_until(
            lambda: len(sampled()) > 1 or process.poll() is not None, START_LIMIT_S, "two cases"
        )
        assert process.poll() is None, "it ended before it was killed"
        process.send_signal(signal.SIGKILL)
    return sampled()


# --- forged ---


def swapped(content: Files) -> None:
    """The samples of the other node in the transcript of each."""
    data = json.loads(content[PAIR])
    for run in data["runs"]:
        one, other = (t for t in run if t["role"] == "telemetry")
        one["stdout"], other["stdout"] = other["stdout"], one["stdout"]
    content[PAIR] = json.dumps(data).encode()


def each(change: Callable[[Samples], object]) -> Callable[[Files], None]:
    """Change the samples of the second node during the reduction of both."""

    def forge(content: Files) -> None:
        data = json.loads(content[PAIR])
        for one in samples_of(data):
            if one["node"] == "tcpx02":
                change(one)
        content[PAIR] = json.dumps(data).encode()

    return forge


def without(content: Files) -> None:
    data = json.loads(content[PAIR])
    data["runs"] = [[t for t in run if t["role"] != "telemetry"] for run in data["runs"]]
    content[PAIR] = json.dumps(data).encode()


def of_another_measurement(content: Files) -> None:
    name = "run/transcripts/node_all_reduce_tcpx02.json"
    (theirs, *_) = samples_of(json.loads(content[name]))
    each(lambda one: one.update(stdout=theirs["stdout"], duration_s=theirs["duration_s"]))(content)


def shifted(seconds: float) -> Callable[[Files], None]:
    def change(one: Samples) -> None:
        moment = datetime.fromisoformat(one["started_at"]) + timedelta(seconds=seconds)
        one["started_at"] = moment.isoformat(timespec="milliseconds")

    return each(change)


def cooled(content: Files) -> None:
    """Every sample of every measurement shows a GPU that is not throttled."""
    for name in forger.transcripts(content):
        data = json.loads(content[name])
        for one in samples_of(data):
            one["stdout"] = _healthy(one["stdout"])
        content[name] = json.dumps(data).encode()


def _healthy(text: str) -> str:
    """The rows of GPU 2, which is healthy, in place of those of GPU 3."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        at, _, row = line.partition(",")
        if row.startswith("3,"):
            lines[number] = f"{at},3,{lines[number - 1].split(',', 2)[2]}"
    return "\n".join([*lines, ""])


@pytest.fixture
def refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], bundles: Callable[[str], Path]
) -> Callable[[str, Callable[[Files], None]], str]:
    """Forges a bundle, all hashes and a signature included; returns the line that refuses it."""
    key = Ed25519PrivateKey.generate()
    public = tmp_path / "forger.pub"
    public.write_text(signing.public_line(key))

    def refused(name: str, change: Callable[[Files], None]) -> str:
        path = forger.sealed(bundles(name), tmp_path / "forged", key, change)
        capsys.readouterr()
        assert main(["verify", str(path), "--key", str(public)]) == 1
        out, err = capsys.readouterr()
        assert (out, len(err.splitlines())) == ("", 1)
        assert err.startswith("railgauge: NOT VERIFIED: ")
        return err

    return refused


Refused = Callable[[str, Callable[[Files], None]], str]


@pytest.mark.parametrize(
    "change",
    [
        swapped,
        without,
        shifted(100.0),
        shifted(-100.0),
        each(lambda one: one.update(exit_code=1)),
        each(lambda one: one.update(error="connection-lost")),
        each(lambda one: one.update(stdout="\n".join(one["stdout"].split("\n")[:2]) + "\n")),
        each(lambda one: one.update(started_at="")),
    ],
    ids=["swapped", "without", "later", "earlier", "died", "cut off", "no sample", "no time"],
)
def test_samples_that_prove_nothing(refused: Refused, change: Callable[[Files], None]) -> None:
    printed = refused("healthy", change)
    assert "is recorded as passed, but its evidence gives error" in printed
    assert FIRST in printed or SECOND in printed


def test_samples_of_another_measurement(refused: Refused) -> None:
    assert "has the same output as" in refused("healthy", of_another_measurement)


def test_a_throttled_gpu_that_is_made_healthy(refused: Refused) -> None:
    printed = refused("throttled", cooled)
    assert f"{SECOND} is recorded as failed, but its evidence gives passed" in printed

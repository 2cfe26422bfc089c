"""``--confirm``: suspects are measured again after the rest, and the verdict can be reproduced."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from testing.acceptance import HOMELAB, SMOKE, Project, Run, Runs, Scenario, assert_sound

from railgauge.bundle import archive, check
from railgauge.cli import main
from railgauge.judging.confirmation import FILE, FOLDER
from railgauge.run.kept_text import json_text
from railgauge.run.run_folder import RunFolder
from railgauge.run.store import Store
from railgauge.verdict.decision import decide

SOME = ("--confirm", "-k", "bandwidth")
SCENARIOS = {
    "slow": Scenario((*HOMELAB, *SMOKE, *SOME, "--lab-fault", "slow-node@prometheus", "-n", "2")),
    "healthy": Scenario((*HOMELAB, *SMOKE, *SOME)),
}


def asked(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / FILE).read_text().splitlines()]


def the_cause(run: Run) -> dict[str, Any]:
    (cause,) = run.verdict["causes"]
    found: dict[str, Any] = cause
    return found


def test_a_slow_node_is_confirmed(runs: Runs) -> None:
    run = runs["slow"]
    assert_sound(run)
    assert run.verdict["verdict"] == "rejected"
    assert (the_cause(run)["where"]["node"], the_cause(run)["confidence"]) == (
        "prometheus",
        "likely",
    )
    confirmation = the_cause(run)["confirmation"]
    assert confirmation["state"] == "confirmed"
    (line,) = confirmation["seen"]
    pairs = [f"{a}:{b}" for a, b in permutations(("columbia", "prometheus", "viper"), 2)]
    assert any(f"{pair} mlx5_0: bw_average " in line for pair in pairs if "prometheus" in pair)
    assert "MiB/s (>= " in line
    assert line.endswith(": slow again")
    cases = list((run.latest / FOLDER / "transcripts").glob("*.json"))
    assert len(cases) == 1, "no more than it takes"


def test_it_is_told_everywhere(runs: Runs) -> None:
    run = runs["slow"]
    (line,) = the_cause(run)["confirmation"]["seen"]
    lines = run.output.splitlines()
    assert [one.partition(": host")[0] for one in lines if one.startswith("confirm: ")] == [
        "confirm: 1 of 1"
    ]
    assert line in run.words
    assert line.replace(">", "&gt;") in run.html
    messages = [found.get("statusDetails", {}).get("message", "") for found in run.allure.values()]
    reported = [
        message for message in messages if "[cause: slow-node, prometheus] confirmed; " in message
    ]
    assert len(reported) == run.counts["failed"]
    assert any(name.startswith(f"{FOLDER}/transcripts/") for name in run.manifest)


def test_where_nothing_is_wrong_nothing_more_is_measured(runs: Runs) -> None:
    run = runs["healthy"]
    assert_sound(run)
    assert run.is_good, run.output
    assert not (run.latest / FILE).exists()
    assert not (run.latest / FOLDER).exists()
    assert "confirm: no suspect can be measured again" in run.output


def bundled(folder: Path, path: Path, *options: str) -> Path:
    assert main(["bundle", str(folder), "-o", str(path), "--unsigned", *options]) == 0
    return path


def test_a_bundle_of_it_holds_and_can_be_replayed(runs: Runs, tmp_path: Path) -> None:
    run = runs["slow"]
    path = bundled(run.latest, tmp_path / "run.railgauge")
    replay = run.project.run(f"--replay={path}", "-k", "bandwidth")
    assert_sound(replay)
    assert replay.verdict["causes"] == json.loads(run_text(run))["causes"]
    assert main(["verify", str(bundled(replay.latest, tmp_path / "again.railgauge"))]) == 1


def run_text(run: Run) -> str:
    """The verdict of a run that is no longer the newest one of its project."""
    (folder,) = [p.parent for p in run.project.folder.glob("reports/2*/invocation.json")]
    return (folder / "verdict.json").read_text(encoding="utf-8")


def test_names_may_be_redacted(runs: Runs, tmp_path: Path) -> None:
    path = bundled(_folder(runs), tmp_path / "run.railgauge", "--redact", "hosts,addresses")
    with archive.opened(path) as held:
        report = check.verify(held)
    (cause,) = report.verdict.causes
    assert cause.confirmation
    assert cause.confirmation.state == "confirmed"
    assert "prometheus" not in str(cause.to_json())


def _folder(runs: Runs) -> Path:
    (folder,) = [p.parent for p in runs["slow"].project.folder.glob("reports/2*/invocation.json")]
    return folder


@pytest.fixture
def copied(runs: Runs, tmp_path: Path) -> Path:
    """A copy of the run's folder that a test may change."""
    folder = tmp_path / "run"
    shutil.copytree(_folder(runs), folder)
    return folder


def again_at_full_speed(folder: Path) -> None:
    """The node was slow in the run and fast when it was measured again."""
    (good,) = json.loads(_transcripts(folder, "viper+columbia").read_text())["runs"][:1]
    for path in (folder / FOLDER / "transcripts").glob("*.json"):
        data = json.loads(path.read_text())
        for run in data["runs"]:
            for own, fast in zip(run, good, strict=False):
                own["stdout"] = _with_addresses(fast["stdout"], own["stdout"])
        path.write_text(json.dumps(data))


_ADDRESS = re.compile("^ (?:local|remote) address: .*$", re.MULTILINE)


def _with_addresses(text: str, own: str) -> str:
    """The output with the addresses of another one: each measurement has its own."""
    addresses = iter(_ADDRESS.findall(own))
    return _ADDRESS.sub(lambda found: next(addresses, found[0]), text)


def _transcripts(folder: Path, pair: str) -> Path:
    case = asked(folder)[0]["question"]["case"]["measurement"]
    return next((folder / "transcripts").glob(f"{case}_{pair}*.json"))


def judged_again(folder: Path) -> dict[str, Any]:
    contents = RunFolder(folder)
    results = contents.results(contents.records(), contents.platform())
    found: dict[str, Any] = json.loads(json_text(decide(contents.plan(), results).to_json()))
    return found


def test_the_verdict_follows_from_what_is_kept(copied: Path) -> None:
    assert judged_again(copied) == json.loads((copied / "verdict.json").read_text())
    again_at_full_speed(copied)
    verdict = judged_again(copied)
    (cause,) = verdict["causes"]
    assert cause["confirmation"]["state"] == "not reproduced"
    assert cause["timing"]["kind"] == "intermittent"
    assert verdict["verdict"] == "rejected"
    assert verdict["counts"] == json.loads((copied / "verdict.json").read_text())["counts"]


def without_transcripts(folder: Path) -> None:
    shutil.rmtree(folder / FOLDER)


def test_what_was_broken_off_says_nothing(copied: Path) -> None:
    without_transcripts(copied)
    (cause,) = judged_again(copied)["causes"]
    assert cause["confirmation"]["state"] == "not measured"
    assert cause["confidence"] == "likely"


def rewritten(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def rewrite(folder: Path) -> None:
        lines = asked(folder)
        change(lines[0])
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        (folder / FILE).write_text(text, encoding="utf-8")

    return rewrite


def one_too_many(folder: Path) -> None:
    path = next((folder / FOLDER / "transcripts").glob("*.json"))
    shutil.copy(path, path.with_name("other.json"))


def case_of(line: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = line["question"]["case"]
    return found


@pytest.mark.parametrize(
    "change",
    [
        again_at_full_speed,
        without_transcripts,
        one_too_many,
        lambda folder: (folder / FILE).unlink(),
        rewritten(lambda line: case_of(line).update(repeats=2)),
        rewritten(lambda line: case_of(line).update(nodes=["viper", "nobody"])),
        rewritten(lambda line: case_of(line).update(measurement="nothing")),
        rewritten(lambda line: line.update(suspects=["columbia2"])),
        rewritten(lambda line: line["question"].update(case=None)),
        rewritten(lambda line: line["question"].update(kind="read")),
        rewritten(lambda line: line.update(more=1)),
        rewritten(lambda line: line.update(node="viper")),
    ],
)  # fmt: skip
def test_nothing_of_it_can_be_changed(
    copied: Path, change: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    change(copied)
    Store(copied).write_manifest({})  # or it would tell of the change
    assert main(["bundle", str(copied), "-o", str(copied.parent / "x"), "--unsigned"]) == 2
    printed = capsys.readouterr().err
    is_missed = change is without_transcripts and "is missing: it is in vouched.jsonl" in printed
    assert is_missed or "does not make a bundle that verifies" in printed
    assert len(printed.splitlines()) == 1


def test_a_run_that_is_carried_on_asks_nothing_twice(runs: Runs, tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    before = runs["slow"].project.folder
    shutil.copytree(before, project.folder, symlinks=True)
    run = project.run("--resume", _folder(runs).name, *HOMELAB)
    assert_sound(run)
    assert the_cause(run) == the_cause_of(_folder(runs))
    taken = (run.latest / "resumed.jsonl").read_text(encoding="utf-8")
    assert taken.count(f'"case": "{FOLDER}/') == 1


def the_cause_of(folder: Path) -> dict[str, Any]:
    (cause,) = json.loads((folder / "verdict.json").read_text())["causes"]
    found: dict[str, Any] = cause
    return found

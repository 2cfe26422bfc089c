"""How launchers get to other nodes, on the lab: both ways of ``launch``, and none set."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from testing.acceptance import (
    BARE_SMOKE,
    METAX,
    Change,
    Project,
    Run,
    Runs,
    Scenario,
    assert_sound,
    make_project,
)
from testing.fewer import measuring

from railgauge.cli import main

FEW = measuring("metax-c500", "host_write_bandwidth", "node_all_reduce", "pair_all_reduce")


def saying(text: str) -> Change:
    def change(project: Project) -> None:
        FEW(project)
        path = project.folder / "hostfiles" / "lab-metax-c500.yaml"
        path.write_text(f"{path.read_text(encoding='utf-8')}\n{text}\n", encoding="utf-8")

    return change


def two(text: str, *options: str) -> Scenario:
    return Scenario((*METAX, *BARE_SMOKE, "--lab-nodes", "2", *options), saying(text))


SCENARIOS = {
    "unset": two("", "-n", "2"),
    "through-suite": two("launch: through-suite", "-n", "2"),
    "ssh": two("launch: ssh"),
}
PLACED = two("ranks: beside-gpu", "-n", "2")


@pytest.fixture(params=SCENARIOS)
def run(request: pytest.FixtureRequest, runs: Runs) -> Run:
    return runs[request.param]


@pytest.fixture
def placed_run(tmp_path: Path) -> Run:
    project = make_project(tmp_path / "project")
    PLACED.change(project)
    return project.run(*PLACED.options)


def test_each_way_is_accepted(run: Run) -> None:
    assert_sound(run)
    assert run.code == 0, run.output


def test_ranks_beside_their_gpus_are_accepted_and_say_where_they_run(
    placed_run: Run, tmp_path: Path
) -> None:
    assert_sound(placed_run)
    assert placed_run.code == 0, placed_run.output
    texts = [path.read_text() for path in placed_run.latest.glob("transcripts/*.json")]
    reported = [text for text in texts if "railgauge: rank 7 of mx02: GPU 0000:" in text]
    assert len(reported) == 2, "inside the node, and between both"
    assert all("--bind-to none" in " ".join(argv) for text in reported for argv in _launched(text))

    bundle = str(tmp_path / "run.railgauge")
    assert main(["bundle", str(placed_run.latest.resolve()), "-o", bundle, "--unsigned"]) == 0
    assert main(["verify", bundle, "--unsigned"]) == 0


def _launched(text: str) -> list[list[str]]:
    commands = [made[0]["argv"] for made in json.loads(text)["runs"]]
    return [argv for argv in commands if argv[0] == "mpirun"]


def test_logins_are_required_with_launch_ssh_only(runs: Runs) -> None:
    plain, through, ssh = (runs[name].verdict["counts"] for name in SCENARIOS)
    assert plain == through
    assert ssh["planned"] == plain["planned"] + 2  # one for each node
    named = {i for i in runs["ssh"].outcomes if "node_login" in i}
    assert len(named) == 2
    assert "node_login" in runs["unset"].verdict["not_applicable"]


def test_the_way_of_the_launch_is_kept_and_the_commands_are_the_same(runs: Runs) -> None:
    printed = {name: launches(runs[name]) for name in SCENARIOS}
    assert {name: way for name, (way, _) in printed.items()} == {
        "unset": "", "through-suite": "through-suite", "ssh": "ssh",
    }  # fmt: skip
    words = [argv for _, argv in printed.values()]
    assert words[0]
    assert words[1:] == words[:-1]


def launches(run: Run) -> tuple[str, list[list[str]]]:
    """The launch of the run's cluster, and the words and variables of its launches."""
    (folder,) = {p.parent for p in run.project.folder.glob("reports/2*/cluster.json")}
    cluster = json.loads((folder / "cluster.json").read_text(encoding="utf-8"))
    found = []
    for path in sorted(folder.glob("transcripts/*.json")):
        for made in json.loads(path.read_text(encoding="utf-8"))["runs"]:
            if made[0]["argv"][0] == "mpirun":
                words = made[0]["argv"]
                values = [f"{name}={value}" for name, value in made[0]["environment"].items()]
                assert values
                assert not set(values) & set(words)  # other users of the node could read them
                found.append([*(word for word in words if not word.startswith("127.")), *values])
    return cluster["launch"], found

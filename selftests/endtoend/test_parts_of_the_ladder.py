"""The whole ladder on every lab: each rung that a platform file measures is asserted."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from testing.acceptance import (
    BARE,
    H200,
    METAX,
    ROOT,
    SMOKE,
    Change,
    Project,
    Run,
    Runs,
    Scenario,
    assert_sound,
)
from testing.commands import railgauge
from testing.core_values import long_form
from testing.fewer import measuring
from testing.rounds import one_round

LABS = sorted(path.stem for path in (ROOT / "hostfiles").glob("lab-*.yaml"))
LADDER = ("preflight", "network", "gpudirect", "intranode", "collective", "application")
COLLECTIVES = ("tests/intranode/test_node_collectives.py", "tests/collective")
NO_PAGE = ("-p", "no:html")  # Allure's results are read
REDUCTIONS = ("pair_all_reduce", "pair_all_reduce_one_gpu", "group_all_reduce")
TUNING = {
    "NCCL_MIN_NCHANNELS": "32",
    "NCCL_IB_QPS_PER_CONNECTION": "4",
    "NCCL_P2P_NET_CHUNKSIZE": "524288",
    "NCCL_IGNORE_CPU_AFFINITY": "1",
}


def appended(options: tuple[str, str], text: str) -> Change:
    """Appends lines to the hostfile that ``options`` name."""

    def change(project: Project) -> None:
        with (project.folder / options[1]).open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")

    return change


def of_four_nodes(project: Project) -> None:
    project.write(
        "four.yaml",
        "cluster: four\nplatform: h200\ntransport: lab\nnodes: h200-[01-04]\n"
        'groups: {most: "h200-[01-03]", two: "h200-[01-02]", whole: "h200-[01-04]"}\n',
    )


def of(name: str) -> tuple[str, str]:
    return ("--hostfile", f"hostfiles/{name}.yaml")


def nodes_of(name: str) -> str:
    """Three nodes are a group, of which one pair is measured; the other clusters are kept small."""
    return "3" if name in ("lab-h200", "lab-connectx4-homelab") else "2"


def launched(lab: tuple[str, str], launcher: str) -> Scenario:
    options = (*lab, *SMOKE, *BARE, "--lab-nodes", "2", *COLLECTIVES)
    return Scenario(options, appended(lab, f"launcher: {launcher}"))


def whole(name: str) -> Scenario:
    """The smoke level of a lab; HTML and Allure are a third of a run, and read in one of them."""
    reports = () if name == "lab-h100-tcpx" else BARE
    words = (*of(name), *SMOKE, *reports, "--lab-nodes", nodes_of(name))
    return Scenario(words) if nodes_of(name) == "2" else Scenario(words, one_round(name[4:]))


SCENARIOS = {
    **{name: whole(name) for name in LABS},
    "nightly": Scenario(
        (*of("lab-h100-tcpx"), "--level", "nightly", "--lab-nodes", "2", "-n", "2", *NO_PAGE)
    ),
    "groups": Scenario(
        ("--hostfile", "four.yaml", *SMOKE, *BARE, "tests/collective"),
        measuring("h200", *REDUCTIONS, more=of_four_nodes),
    ),
    "untuned": Scenario(
        (*H200, *SMOKE, *BARE, "--lab-nodes", "2", "tests/preflight/test_host.py", *COLLECTIVES),
        appended(H200, 'environment: {NCCL_MIN_NCHANNELS: "16"}'),
    ),
    "h200-mpich": launched(H200, "mpich"),
    "h200-slurm": launched(H200, "slurm"),
    "metax-mpich": launched(METAX, "mpich"),
    "metax-slurm": launched(METAX, "slurm"),
}


def declared(name: str) -> dict[str, Any]:
    """The platform file of a lab."""
    return long_form(name.removeprefix("lab-"))


def measurements(name: str) -> dict[str, Any]:
    """The expectations that a lab can have; no lab declares a subnet."""
    every = declared(name)["measurements"].items()
    return {measurement: one for measurement, one in every if one.get("scope") != "fabric"}


def applicable(run: Run) -> dict[str, Any]:
    """The measurements of the platform file that this cluster has places for."""
    measurements = json.loads((run.latest / "thresholds.json").read_text())["measurements"]
    left_out = set(run.verdict["not_applicable"])
    return {name: one for name, one in measurements.items() if name not in left_out}


def test_there_are_labs_of_several_platforms() -> None:
    assert len({declared(name)["platform"] for name in LABS}) >= 5


@pytest.mark.parametrize("name", [*LABS, "nightly"])
def test_a_healthy_lab_is_accepted(runs: Runs, name: str) -> None:
    run = runs[name]
    assert_sound(run)
    assert run.code == 0, run.output
    assert run.verdict["verdict"] == "accepted"
    assert run.verdict["evidence"] == "simulated"
    assert run.counts == {"passed": run.verdict["counts"]["planned"]}
    assert run.verdict["counts"]["not_run"] == 0


@pytest.mark.parametrize("name", [*LABS, "nightly"])
def test_every_rung_of_the_platform_is_asserted(runs: Runs, name: str) -> None:
    run = runs[name]
    measured = measurements("lab-h100-tcpx" if name == "nightly" else name)
    rungs = {0} | {one["rung"] for one in measured.values()}
    folders = {item_id.split("/")[1] for item_id in run.with_outcome("passed")}
    assert folders == {LADDER[rung] for rung in rungs}
    assert run.verdict["coverage"]["rungs"]["tested"] == len(rungs)


@pytest.mark.parametrize("name", [*LABS, "nightly"])
def test_every_measurement_has_an_item_that_passed(runs: Runs, name: str) -> None:
    run = runs[name]
    passed = run.with_outcome("passed")
    found = {line["subject"] for line in run.measurements if line["id"] in passed}
    assert set(applicable(run)) <= found


def test_the_front_page_shows_what_a_run_prints(runs: Runs) -> None:
    """That run takes minutes: it has the items of its plan, and those of each node at its end."""
    run = runs["lab-h200"]
    at_end, rest = divmod(len(run.at_end), 3)
    assert (at_end > 1, rest) == (True, 0)
    done = railgauge(ROOT, "plan", *H200)
    (judged,) = re.findall(r"^judges ([\d,]+) items$", done.stdout, re.MULTILINE)
    number = int(judged.replace(",", "")) + 4 * at_end
    (message,) = re.findall(r"^lab-h200: .*", run.stdout, re.MULTILINE)
    (shown,) = re.findall(r"^lab-h200: .*", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    assert shown == re.sub(r"\d+ of \d+", f"{number} of {number}", message)


def test_nothing_of_the_h200_is_left_out_for_want_of_nodes(runs: Runs) -> None:
    at_smoke = {name for name, one in measurements("lab-h200").items() if "smoke" in one["levels"]}
    assert set(applicable(runs["lab-h200"])) == at_smoke


IDS = {
    "lab-h200": (
        "tests/intranode/test_gpu_links.py::test_copy_between_gpus[h200-02-gpu7>gpu0]",
        "tests/intranode/test_gpu_links.py::test_copy_between_gpu_and_host[h200-01-gpu3]",
        "tests/intranode/test_node_collectives.py::test_collective[node_all_reduce-h200-01-8GiB]",
        "tests/collective/test_groups.py::test_collective[group_all_reduce-all-8GiB]",
        "tests/collective/test_groups.py::test_traffic[group_all_reduce-all]",
    ),
    "lab-mi300x": (
        "tests/intranode/test_gpu_links.py::test_every_gpu_link[mi01-gpu0>gpu7]",
        "tests/intranode/test_gpu_links.py::test_gpu_aggregate[mi02-gpu7]",
        "tests/intranode/test_gpu_links.py::test_all_to_all_average[mi01]",
    ),
    "groups": (
        "tests/collective/test_groups.py::test_collective[group_all_reduce-most-8GiB]",
        "tests/collective/test_groups.py::test_all_reduce_transport[all]",
    ),
}


@pytest.mark.parametrize("name", IDS)
def test_ids_of_links_gpus_and_groups(runs: Runs, name: str) -> None:
    run = runs[name]
    assert set(IDS[name]) <= set(run.outcomes)
    assert not any(set(item_id) & set("@~ ") for item_id in run.outcomes)


def test_ids_are_stable_between_levels(runs: Runs) -> None:
    smoke, nightly = runs["lab-h100-tcpx"], runs["nightly"]
    shared = {item_id for item_id in smoke.outcomes if "gpu" in item_id}
    assert any(">" in item_id for item_id in shared)
    assert shared <= set(nightly.outcomes)
    for item_id in shared:
        assert smoke.allure[item_id]["historyId"] == nightly.allure[item_id]["historyId"]


def test_collectives_on_pairs_groups_and_all_nodes(runs: Runs) -> None:
    run = runs["groups"]
    assert_sound(run)
    assert run.is_good, run.output
    nodes = [f"h200-0{number}" for number in (1, 2, 3, 4)]
    # Two nodes are a pair, and a group of all nodes is "all": neither is measured twice.
    places = {tuple(key.partition("[")[2].rstrip("]").split(":")) for key in run.transcripts}
    assert {tuple(nodes), tuple(nodes[:3])} == {place for place in places if len(place) > 2}
    assert len([place for place in places if len(place) == 2]) == 4
    groups = {i.partition("[")[2] for i in run.outcomes if "test_groups" in i}
    own = {one.removeprefix("group_all_reduce-") for one in groups}
    assert own == {"all-8GiB]", "all]", "most-8GiB]", "most]"}
    ranks = {place: 8 * len(place) for place in places}
    for key, case in run.transcripts.items():
        place = tuple(key.partition("[")[2].rstrip("]").split(":"))
        wanted = len(place) if "one_gpu" in key else ranks[place]
        assert f"-np {wanted} " in " ".join(case["runs"][0][0]["argv"]), key


@pytest.mark.parametrize("measurement", ["pair_all_reduce", "group_all_reduce"])
def test_every_iteration_is_a_sample(runs: Runs, measurement: str) -> None:
    run = runs["lab-h200"]
    cycles = applicable(run)[measurement]["options"]["cycles"]
    lines = [
        line
        for line in run.measurements
        if line["subject"] == measurement and line["metric"] == "busbw"
    ]
    assert lines
    for line in lines:
        assert len(line["values"]) == 2 * cycles  # out of place and in place
        assert len(set(line["values"])) > cycles
        printed = run.transcripts[f"{measurement}[{':'.join(line['nodes'])}]"]
        rows = re.findall(r"^ +8589934592 .*", printed["runs"][0][0]["stdout"], re.MULTILINE)
        columns = [row.split() for row in rows]
        assert sorted(line["values"]) == sorted(float(c[i]) for c in columns for i in (7, 11))


def test_the_environment_that_was_used_is_in_the_transcript(runs: Runs) -> None:
    for key, case in runs["lab-h200"].transcripts.items():
        if key.startswith(("pair_", "group_")):
            first = case["runs"][0][0]
            argv = first["argv"]
            used = [argv[at + 1] for at, word in enumerate(argv) if word == "-x"]
            assert set(TUNING) <= set(used), key
            assert TUNING.items() <= first["environment"].items(), key


def test_the_hostfile_overrides_the_environment_of_the_platform(runs: Runs) -> None:
    run = runs["untuned"]
    assert_sound(run)
    assert run.code == 1
    failed = run.with_outcome("failed")
    assert all(item_id.startswith("tests/collective/") for item_id in failed)
    assert run.with_outcome("passed") == set(run.outcomes) - failed
    slow = "tests/collective/test_pairs.py::test_collective[pair_all_reduce-h200-01:h200-02-8GiB]"
    assert slow in failed
    line = next(line for line in run.measurements if line["id"] == slow)
    # Document 001: about 337 GB/s, with some rows far below.
    assert max(line["values"]) == pytest.approx(337, rel=0.005)
    launch = run.transcripts["pair_all_reduce[h200-01:h200-02]"]["runs"][0][0]
    assert launch["environment"]["NCCL_MIN_NCHANNELS"] == "16"
    assert launch["environment"]["NCCL_IB_QPS_PER_CONNECTION"] == "4"
    assert "NCCL_MIN_NCHANNELS" in launch["argv"]


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("h200-mpich", "mpiexec"),
        ("h200-slurm", "srun"),
        pytest.param("metax-mpich", "mpiexec"),
        pytest.param("metax-slurm", "srun"),
    ],
)
def test_other_launchers_are_accepted(runs: Runs, name: str, program: str) -> None:
    run = runs[name]
    assert_sound(run)
    assert run.is_good, run.output
    collectives = [case["runs"][0][0]["argv"] for case in run.transcripts.values()]
    assert {argv[0] for argv in collectives} == {program}
    assert not any("-mca" in argv for argv in collectives)


@pytest.mark.parametrize("name", ["h200-mpich", "h200-slurm"])
def test_other_launchers_hand_on_the_environment(runs: Runs, name: str) -> None:
    case = runs[name].transcripts["pair_all_reduce[h200-01:h200-02]"]
    launch = case["runs"][0][0]
    assert TUNING.items() <= launch["environment"].items()
    words = " ".join(launch["argv"])
    assert all(value not in words.replace("=", " ").split() for value in map(str, TUNING))

"""Half of the nodes die at once, one is frozen, names stop to resolve: the others are measured."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from testing.acceptance import BARE_SMOKE, Project, Run, assert_sound, environment, make_project
from testing.fewer import measuring
from testing.held_tool import HeldTool, held_run, held_tool
from testing.standing_lab import StandingLab, standing_lab
from testing.wires import Wire, hostfile_over, wired

HELD, DIES_TOO = "columbia", "node04"
FEW = measuring(
    "connectx4-homelab",
    "host_write_bandwidth",
    "host_read_bandwidth",
    "host_send_bandwidth",
    "host_send_latency",
)
SILENCE_LIMIT_S = 45  # after which a connection counts as lost


@dataclass(frozen=True)
class Field:
    lab: StandingLab
    tool: HeldTool
    wires: dict[str, Wire]

    def project(self, folder: Path) -> tuple[Project, tuple[str, ...]]:
        project = make_project(folder)
        FEW(project)
        return project, (*hostfile_over(self.lab, self.wires, project, 2), *BARE_SMOKE)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Field]:
    folder = tmp_path_factory.mktemp("together") / "lab"
    with (
        standing_lab(folder, "connectx4-homelab", "--nodes", "4") as lab,
        wired(lab) as wires,
    ):
        yield Field(lab, held_tool(lab, HELD), wires)


@pytest.fixture
def field(whole: Field) -> Iterator[Field]:
    yield whole
    for wire in whole.wires.values():
        wire.release()
        wire.cut()
        wire.mend()


def assert_others_measured(run: Run, *lost: str) -> None:
    """What needs no lost node has passed, what needs one is an error that names it, or passed."""
    assert_sound(run)
    assert run.code == 10, run.output
    assert run.verdict["verdict"] == "incomplete"
    assert {one["where"]["node"] for one in run.verdict["causes"]} == set(lost)
    for item, outcome in run.outcomes.items():
        needs = [node for node in lost if node in item]
        assert outcome == "passed" or needs, (item, outcome)
        if outcome != "passed":
            assert outcome == "error"
            assert any(f"{node}: " in run.junit[item].message for node in needs), item
    for node in lost:
        assert any(node in item for item in run.with_outcome("error"))
        assert run.at_end[f"counters::growth[{node}]"] == "error"


def test_half_of_the_nodes_die_at_once(field: Field, tmp_path: Path) -> None:
    project, words = field.project(tmp_path / "site")
    with held_run(field.tool, project, *words) as held:
        for node in (HELD, DIES_TOO):
            field.wires[node].cut()
        field.tool.go()
        run = held.end()
    assert_others_measured(run, HELD, DIES_TOO)
    assert {one["cause"] for one in run.verdict["causes"]} == {"node-unreachable"}


def test_a_node_is_frozen(field: Field, tmp_path: Path) -> None:
    """Its kernel still takes what is sent; the node is waited for once, not at each measurement."""
    project, words = field.project(tmp_path / "site")
    with held_run(field.tool, project, *words) as held:
        field.wires[HELD].hold()
        field.tool.go()
        run = held.end(300)
    assert_others_measured(run, HELD)
    at_once = [run.transcripts[case] for case in run.transcripts if HELD in case]
    assert sum(data["error"] is not None for data in at_once) > 5
    assert run.duration_s < 10 * SILENCE_LIMIT_S, "each measurement waited for it"


def start_with_own_names(project: Project, output: Path, *options: str) -> subprocess.Popen[bytes]:
    """Start a run for which /etc/hosts is the project's file ``hosts``."""
    script = 'mount --bind hosts /etc/hosts && exec "$@"'
    own = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh")
    with output.open("wb") as file:
        return subprocess.Popen(
            [*own, *project.command(*options)],
            cwd=project.folder, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
            env=environment(),
        )  # fmt: skip


def test_names_do_not_resolve_any_more(field: Field, tmp_path: Path, cannot_run) -> None:
    """Open connections go on; a node that needs a new one is lost, and the reason is its name."""
    probe = ["unshare", "--user", "--map-root-user", "--mount", "true"]
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        cannot_run("user namespaces are restricted")
    project, words = field.project(tmp_path / "site")
    hosts = give_names(field, project)
    with held_run(field.tool, project, *words, start=start_with_own_names) as held:
        hosts.write_text("127.0.0.1 localhost\n")
        field.wires[HELD].cut()
        field.wires[HELD].mend()
        field.tool.go()
        run = held.end()
    assert_others_measured(run, HELD)
    printed = {run.junit[item].message for item in run.with_outcome("error")}
    assert any(f"the name {HELD}.railgauge.test does not resolve" in one for one in printed), (
        printed
    )


def give_names(field: Field, project: Project) -> Path:
    """Have the hostfile reach each node by a name; returns the file that tells their addresses."""
    hostfile, known = project.folder / "wired.yaml", project.folder / "known_hosts"
    text, trusted = hostfile.read_text(), known.read_text()
    for node, wire in field.wires.items():
        name = f"{node}.railgauge.test"
        place = rf"(name: {node}\n    address:) 127\.0\.0\.1"
        text = re.sub(place, rf"\1 {name}", text)
        trusted = trusted.replace(f"[127.0.0.1]:{wire.port} ", f"[{name}]:{wire.port} ")
    hostfile.write_text(text)
    known.write_text(trusted)
    names = "".join(f"127.0.0.1 {node}.railgauge.test\n" for node in field.wires)
    return project.write("hosts", f"127.0.0.1 localhost\n{names}")

"""A rebooted node, a lost network: no measurement is lost, and none is made up."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from test_resume import log, measured_at, settled
from testing.acceptance import BARE_SMOKE, Project, Run, assert_sound, make_project
from testing.commands import railgauge
from testing.held_tool import HeldTool, held_run, held_tool
from testing.standing_lab import StandingLab, standing_lab
from testing.waiting import pass_time
from testing.wires import Wire, hostfile_over, wired

NODES = ("viper", "columbia", "prometheus")
LOST = "columbia"
# Rung 1 only, so that a loss there blocks nothing.
SOME = (*BARE_SMOKE, "-k", "bandwidth")


@dataclass(frozen=True)
class Field:
    """A lab whose network can be cut, and the result of an undisturbed run of it."""

    lab: StandingLab
    tool: HeldTool
    wires: dict[str, Wire]
    undisturbed: Run

    def boot(self) -> str:
        """The trace of a reboot: a new boot id."""
        new = str(uuid.uuid4())
        self.lab.file(LOST, "proc/sys/kernel/random/boot_id").write_text(f"{new}\n")
        return new

    @contextmanager
    def another_machine(self) -> Iterator[None]:
        """In the block, another machine with the same image, name and SSH host key answers."""
        root = self.lab.home(LOST) / "root"
        found = [root / "sys/class/dmi/id/product_uuid", *root.glob("**/node_guid")]
        kept = {path.resolve(): path.read_text() for path in found}
        assert len(kept) > 1
        for path, text in kept.items():
            path.write_text(text.translate(str.maketrans("0123456789abcdef", "123456789abcdef0")))
        try:
            yield
        finally:
            for path, text in kept.items():
                path.write_text(text)

    def project(self, folder: Path, patience_s: float = 60) -> tuple[Project, tuple[str, ...]]:
        project = make_project(folder)
        return project, (*hostfile_over(self.lab, self.wires, project, patience_s), *SOME)


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Field]:
    folder = tmp_path_factory.mktemp("loss")
    options = ("--nodes", "3", "--seed", "0", "--fault", "slow-node@prometheus")
    with standing_lab(folder / "lab", "connectx4-homelab", *options) as lab, wired(lab) as wires:
        tool = held_tool(lab, LOST)
        project = make_project(folder / "undisturbed")
        whole = project.run(*hostfile_over(lab, wires, project, 60), *SOME)
        assert_sound(whole)
        assert whole.verdict["verdict"] == "rejected", whole.output
        yield Field(lab, tool, wires, whole)


@contextmanager
def disturbed(field: Field, project: Project, *options: str) -> Iterator[Callable[[], Run]]:
    """A run that waits in a measurement on the node to be lost; the call waits for its end."""
    try:
        with held_run(field.tool, project, *options) as held:
            yield held.end
    finally:
        for wire in field.wires.values():
            wire.release()


def of_the_lost(run: Run) -> dict[str, str]:
    """The errors of a run: id and reason. Each names the node that was lost."""
    found = {item: run.junit[item].message for item in run.with_outcome("error")}
    assert found
    assert all(LOST in item and f"{LOST}: " in printed for item, printed in found.items()), found
    return found


def assert_carried_on(field: Field, project: Project, before: Run, *options: str) -> Run:
    """The second run ends like the undisturbed one, and measures only what was lost."""
    kept = measured_at(before.latest.resolve())
    again = project.run("--resume", "latest", *options)
    assert_sound(again)
    assert of_the_tests(again) == of_the_tests(field.undisturbed)
    assert again.outcomes == field.undisturbed.outcomes
    now = measured_at(again.latest)
    assert all(now[case] == times for case, times in kept.items())
    assert len(now) > len(kept)
    return again


def of_the_tests(run: Run) -> dict[str, Any]:
    """The verdict without what a reboot leaves in it: a note, and a log and counters with a gap."""
    return {key: value for key, value in settled(run).items() if key not in ("notes", "counts")}


def test_a_node_is_rebooted(field: Field, tmp_path: Path) -> None:
    project, options = field.project(tmp_path / "project")
    with disturbed(field, project, *options) as ended:
        field.wires[LOST].cut()
        field.tool.go()
        first = field.boot()
        pass_time(2.0, "it is away for longer than one attempt takes")
        field.wires[LOST].mend()
        run = ended()
    name = run.latest.resolve().name
    assert_sound(run)
    assert all("connection-lost" in printed for printed in of_the_lost(run).values())
    assert run.counts["error"] < len([item for item in run.outcomes if LOST in item])
    assert run.verdict["verdict"] == "rejected", "the slow node was measured all the same"
    (note,) = run.verdict["notes"]
    assert note.startswith(f"{LOST} was rebooted during {name}: ")
    assert note in run.words
    lost = next(c for c in run.verdict["causes"] if c["where"]["node"] == LOST)
    assert lost["cause"] == "node-unreachable"
    assert "it was rebooted" in lost["says"]
    assert run.environment["nodes"][LOST]["facts"]["boot_id"] != first

    second = field.boot()
    again = assert_carried_on(field, project, run)
    gap = {f"{kind}[{LOST}]": "marginal" for kind in ("kernel::kernel_log", "counters::growth")}
    assert again.at_end == {**field.undisturbed.at_end, **gap}
    assert f"resume: {LOST} was rebooted since that run" in again.output
    assert "boot_id" not in again.output
    assert again.environment["nodes"][LOST]["facts"]["boot_id"] == second
    assert [n.split(":")[0].split(",")[0] for n in sorted(again.verdict["notes"])] == [
        f"{LOST} was rebooted after {name}",
        f"{LOST} was rebooted during {name}",
    ]
    assert_bundle_holds(project)


def test_a_node_comes_back_as_another_machine(field: Field, tmp_path: Path) -> None:
    """With the same host key and machine id, as copies of one image have."""
    project, options = field.project(tmp_path / "project")
    with disturbed(field, project, *options) as ended, field.another_machine():
        field.wires[LOST].cut()
        field.tool.go()
        field.boot()
        pass_time(2.0, "it is away for longer than one attempt takes")
        field.wires[LOST].mend()
        run = ended()
        name = run.latest.resolve().name
        assert_told_of_another_machine(run)
        for _ in range(2):
            refused = project.run("--resume", "latest")
            assert refused.code == 4, refused.output
            assert f"railgauge: --resume {name}: {LOST}: another machine answers" in refused.words

    field.boot()
    again = project.run("--resume", name)
    assert_sound(again)
    assert of_the_tests(again) == of_the_tests(field.undisturbed)
    assert_bundle_holds(project)


def assert_told_of_another_machine(run: Run) -> None:
    assert_sound(run)
    printed = of_the_lost(run).values()
    others = [one for one in printed if "another machine answers" in one]
    assert len(others) > 1
    assert f"{LOST}: another machine answers than the one that was surveyed" in others[0]
    assert "its node, mlx5_0 are others" in others[0]
    assert all("connection-lost" in one for one in printed if one not in others)
    lost = next(c for c in run.verdict["causes"] if c["where"]["node"] == LOST)
    assert lost["cause"] == "other-machine"
    assert run.verdict["notes"] == [], "it is no reboot"


def assert_bundle_holds(project: Project) -> None:
    """Recorded reboots are part of the evidence: the bundle reproduces the verdict."""
    for command in (["bundle", "--unsigned", "-o", "run.railgauge"], ["verify", "run.railgauge"]):
        done = railgauge(project.folder, *command)
        assert "it stands" in done.stdout + done.stderr, done


def test_the_network_is_gone_for_a_while(field: Field, tmp_path: Path) -> None:
    """First for a moment, which has no effect; then until every connection breaks."""
    project, options = field.project(tmp_path / "project")
    with disturbed(field, project, *options, "-n", "2") as ended:
        for wire in field.wires.values():
            wire.hold()
        pass_time(1.0, "a moment that nobody notices")
        for wire in field.wires.values():
            wire.release()
        for wire in field.wires.values():
            wire.cut()
        field.tool.go()
        pass_time(2.5, "so long that every connection breaks")
        for wire in field.wires.values():
            wire.mend()
        run = ended()
    assert_sound(run)
    errors = {item: run.junit[item].message for item in run.with_outcome("error")}
    assert errors
    assert all("connection-lost" in printed for printed in errors.values()), errors
    assert len({item.rpartition("-")[0] for item in errors}) <= 2, "what was running, no more"
    assert run.verdict["notes"] == []
    again = assert_carried_on(field, project, run, "-n", "2")
    assert again.at_end == field.undisturbed.at_end


def test_a_node_does_not_come_back(field: Field, tmp_path: Path) -> None:
    """The node is waited for once; the other nodes continue, and the run ends."""
    project, options = field.project(tmp_path / "project", patience_s=2)
    with disturbed(field, project, *options) as ended:
        field.wires[LOST].cut()
        field.tool.go()
        run = ended()
    field.wires[LOST].mend()
    name = run.latest.resolve().name
    assert_sound(run)
    printed = set(of_the_lost(run).values())
    assert any("connection-lost" in one for one in printed)
    assert any(re.search("tried for [12] s", one) for one in printed), printed
    others = [item for item in run.outcomes if LOST not in item]
    assert {run.outcomes[i] for i in others} == {field.undisturbed.outcomes[i] for i in others}
    again = assert_carried_on(field, project, run)
    assert again.at_end == field.undisturbed.at_end
    assert {line["run"] for line in log(again) if "case" in line} == {name}

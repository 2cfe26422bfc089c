"""The machine on which a run was started runs out of something: one line, and no node is blamed."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from test_interrupt import processes_of
from test_resume import measured_at
from testing.acceptance import (
    BARE_SMOKE,
    Project,
    Run,
    assert_clean,
    assert_sound,
    environment,
    make_project,
)
from testing.held_tool import LIMIT_S, HeldTool, Start, held_run, held_tool
from testing.standing_lab import StandingLab, standing_lab
from testing.waiting import wait_until

NODE = "columbia"
SOME = (*BARE_SMOKE, "-k", "bandwidth")
STRANGER = "nobody"


@dataclass(frozen=True)
class Field:
    lab: StandingLab
    tool: HeldTool


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Field]:
    folder = tmp_path_factory.mktemp("exhaustion") / "lab"
    with standing_lab(folder, "connectx4-homelab", "--nodes", "3") as lab:
        yield Field(lab, held_tool(lab, NODE))


def no_more_files(pid: int) -> None:
    count = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (count, count))


def no_more_memory(pid: int) -> None:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
    size = pages * resource.getpagesize()
    resource.prlimit(pid, resource.RLIMIT_AS, (size, size))


def children_of(pid: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == pid:
            found.append(int(path.parent.name))
    return found


def as_stranger() -> list[str]:
    if os.geteuid() != 0:
        return []
    may = "+dac_override,+dac_read_search"
    return ["setpriv", f"--reuid={STRANGER}", f"--inh-caps={may}", f"--ambient-caps={may}"]


def no_more_processes(pid: int) -> None:
    subprocess.run([*as_stranger(), "prlimit", f"--pid={pid}", "--nproc=1:1"], check=True)


def start_as_stranger(project: Project, output: Path, *options: str) -> subprocess.Popen[bytes]:
    """Start a run as a user who may read and write all files; root has no limit on processes."""
    with output.open("wb") as file:
        return subprocess.Popen(
            [*as_stranger(), *project.command(*options)],
            cwd=project.folder, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
            env=environment(),
        )  # fmt: skip


@dataclass(frozen=True)
class Lack:
    """What a process of the run gets no more of, and how the run is started."""

    of: Callable[[int], None]
    words: tuple[str, ...]
    options: tuple[str, ...] = ()
    start: Start = Project.start


FILES = ("open files", "ulimit -n")
THREADS = ("threads or processes", "ulimit -u")
MEMORY = ("memory", "ulimit -v")
LACKS = {
    "files": Lack(no_more_files, FILES),
    "files of a worker": Lack(no_more_files, FILES, ("-n", "1")),
    "files at once": Lack(no_more_files, FILES, ("--at-once", "2")),
    "memory": Lack(no_more_memory, MEMORY),
    "processes": Lack(no_more_processes, THREADS, (), start_as_stranger),
    "processes at once": Lack(no_more_processes, THREADS, ("--at-once", "2"), start_as_stranger),
}


@pytest.mark.parametrize("lack", LACKS.values(), ids=list(LACKS))
def test_it_ends_with_one_line_and_is_carried_on(field: Field, tmp_path: Path, lack: Lack) -> None:
    project = make_project(tmp_path / "site")
    words = (*field.lab.hostfile(project), *SOME, *lack.options)
    with held_run(field.tool, project, *words, start=lack.start) as held:
        workers = children_of(held.pid) if "-n" in lack.options else []
        for pid in workers or [held.pid]:
            lack.of(pid)
        field.tool.go()
        run = held.end()
        assert_ended_with_one_line(run, lack.words)
        wait_until(lambda: not tools_on(field), LIMIT_S, "the end of its commands on the nodes")
    kept = measured_at(run.latest.resolve())
    again = project.run("--resume", "latest")
    assert_sound(again)
    assert set(again.outcomes.values()) == {"passed"}
    assert kept.items() <= measured_at(again.latest).items()


def assert_ended_with_one_line(run: Run, words: tuple[str, ...]) -> None:
    assert run.code == 3, run.output
    assert_clean(run)
    (line,) = [line for line in run.output.splitlines() if "railgauge: " in line]
    for word in ("this machine has run out of", *words, f"--resume {run.latest.resolve().name}"):
        assert word in line, line
    assert not any((run.latest / name).exists() for name in ("verdict.json", "junit.xml"))
    for word in ("ACCEPTED", "REJECTED", "INCOMPLETE", "node-unreachable", "connection-lost"):
        assert word not in run.output


def tools_on(field: Field) -> list[str]:
    return [one for one in processes_of(field.tool.home.parent) if "ib_write_bw" in one]

"""Ranks that a launcher should bind to one core each print their core.

Real Open MPI and MPICH start them. The lab's ``mpirun`` names the cores that Open MPI itself
chooses on the same topology.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from railgauge.core.problems import ProblemKind
from railgauge.launchers import on_core
from railgauge.launchers.failures import find_failures
from railgauge.launchers.on_core import RankOnCore, read
from railgauge_lab.sim import cores

PROGRAM = ("sh", "-c", "echo program $1", "sh", "a b")
LAUNCHES = {
    "mpirun.openmpi": ("--allow-run-as-root", "-np", "2"),
    "mpiexec.hydra": ("-n", "2"),
}
TIME_LIMIT_S = 60


def run(*argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, capture_output=True, text=True, timeout=TIME_LIMIT_S, check=False)


@pytest.fixture(params=LAUNCHES)
def launched(
    request: pytest.FixtureRequest, cannot_run: Callable[[str], NoReturn]
) -> Callable[..., list[RankOnCore]]:
    """Start two ranks with some options; return the places that they print."""
    if shutil.which(request.param) is None:
        cannot_run(f"{request.param} is not installed")
    if len(os.sched_getaffinity(0)) < 2:
        cannot_run("two CPUs are needed")

    def launch(*options: str) -> list[RankOnCore]:
        argv = (request.param, *LAUNCHES[request.param], *options, *on_core.on_core(PROGRAM))
        done = run(*argv)
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        assert lines.count("program a b") == 2
        return sorted((one for line in lines if (one := read(line))), key=lambda one: one.rank)

    return launch


def test_each_rank_names_its_own_core(launched: Callable[..., list[RankOnCore]]) -> None:
    first, second = launched("-bind-to", "core")
    assert (first.rank, second.rank) == (0, 1)
    assert first.host == second.host == os.uname().nodename
    assert first.core != second.core
    for one in (first, second):
        cpu = re.split("[-,]", one.cpus)[0]
        siblings = f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
        assert one.core == Path(siblings).read_text(encoding="ascii").strip()


def test_ranks_that_nothing_binds_name_all_cpus(launched: Callable[..., list[RankOnCore]]) -> None:
    first, second = launched("-bind-to", "none")
    assert first.cpus == second.cpus != first.core


def test_open_mpi_puts_two_ranks_on_the_one_core_that_it_may_use(
    cannot_run: Callable[[str], NoReturn],
) -> None:
    """It is asked to bind each rank to a core, and silently binds both to the same."""
    if shutil.which("mpirun.openmpi") is None:
        cannot_run("mpirun.openmpi is not installed")
    options = ("--cpu-set", "1", "--bind-to", "core")
    done = run("mpirun.openmpi", *LAUNCHES["mpirun.openmpi"], *options, *on_core.on_core(PROGRAM))
    assert done.returncode == 0, done.stderr
    placed = [one for line in done.stdout.splitlines() if (one := read(line))]
    assert len(placed) == 2
    assert len({one.core for one in placed}) == 1


@pytest.mark.parametrize("program", ["no-such-test", "/opt/nowhere/all_reduce_perf"])
def test_a_missing_program_is_reported_as_one(program: str) -> None:
    done = run(*on_core.on_core((program, "-g", "1")))
    assert done.returncode == 127
    first, *_ = find_failures(done.stdout + done.stderr)
    assert first.kind is ProblemKind.TOOL_MISSING
    assert f" of {os.uname().nodename}: {program}: not found" in first.message


def test_lines_of_ranks_are_read() -> None:
    line = "railgauge: rank 3 of gpu01: core 4,60, CPUs 4,60"
    assert read(line) == RankOnCore(3, "gpu01", "4,60", "4,60")
    assert read("railgauge: rank 0 of n: core none, CPUs 0-1") == RankOnCore(0, "n", "", "0-1")
    for other in ("", "railgauge: rank 0 of n: GPU none, CPUs 0", f"# {line}", "rank 3 of gpu01"):
        assert read(other) is None


@pytest.mark.parametrize(
    "options",
    [
        ("--bind-to", "core"),
        ("-bind-to", "core", "--map-by", "socket"),
        ("--bind-to", "none", "--bind-to", "core"),
        ("-bind-to", "core:1"),
        ("-bind-to=core",),
        ("--cpu-bind=cores",),
        ("--cpu-bind=verbose,cores",),
        ("-mca", "pml", "^ucx", "--bind-to", "core"),
    ],
)
def test_options_that_bind_each_rank_to_a_core_are_recognised(options: tuple[str, ...]) -> None:
    assert on_core.is_asked(options)


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--bind-to",),
        ("--bind-to", "none"),
        ("--bind-to", "numa"),
        ("--bind-to", "core", "--bind-to", "none"),
        ("-bind-to", "core:2"),
        ("--bind-to", "core:overload-allowed"),
        ("--bind-to", "core:if-supported"),
        ("--bind-to", "core", "--map-by", "slot:PE=2"),
        ("--bind-to", "core", "--map-by", "ppr:1:node:pe=4"),
        ("--bind-to", "core", "--cpus-per-proc", "2"),
        ("--cpu-bind=none",),
        ("--cpu-bind=cores", "--cpus-per-task=7"),
        ("--cpu-bind=cores", "-c7"),
        ("--cpu-bind=cores", "--ntasks-per-core=2"),
        ("-mca", "core", "1"),
    ],
)
def test_other_options_of_binding_are_not_taken_for_it(options: tuple[str, ...]) -> None:
    assert not on_core.is_asked(options)


# --- the lab's ranks, and where Open MPI itself puts them ---

# Two sockets of four cores with two threads each, numbered as Linux does.
SOCKETS = {"host": {"numa_nodes": ["0-3,8-11", "4-7,12-15"]}}
THREADS = ",".join(f"{core},{core + 8}" for core in range(8))
_BOUND = re.compile(r" PROC \[\[\d+,1\],(\d+)\] (?:BITMAP|TO) ([0-9,-]+)")


@pytest.fixture(scope="module")
def topology(
    tmp_path_factory: pytest.TempPathFactory, cannot_run: Callable[[str], NoReturn]
) -> Path:
    if lacking := [name for name in ("lstopo", "mpirun.openmpi") if shutil.which(name) is None]:
        cannot_run(f"not installed: {', '.join(lacking)}")
    path = tmp_path_factory.mktemp("topology") / "two-sockets.xml"
    made = f"pack:2 numa:1 core:4 pu:2(indexes={THREADS})"
    done = run("lstopo", "-i", made, "--of", "xml", str(path))
    assert done.returncode == 0, done.stderr
    return path


def chosen(topology: Path, count: int, *options: str) -> dict[int, str]:
    """The CPUs that Open MPI chooses for each rank; it fails to bind them to CPUs of this machine
    that are not there, and says so in its log before."""
    log = ("--mca", "hwloc_base_topo_file", str(topology), "--mca", "rmaps_base_verbose", "10")
    argv = ("mpirun.openmpi", "--allow-run-as-root", *log, "-np", str(count), *options, "true")
    return {int(rank): cpus for rank, cpus in _BOUND.findall(run(*argv).stderr)}


@pytest.mark.parametrize(
    ("bind", "mapping"), [("core", "socket"), ("core", "slot"), ("core", "core"), ("numa", "slot")]
)
def test_the_lab_binds_as_open_mpi_does(topology: Path, bind: str, mapping: str) -> None:
    real = chosen(topology, 5, "--bind-to", bind, "--map-by", mapping)
    node: dict[str, Any] = SOCKETS
    assert real == {rank: cores.given(node, rank, bind, mapping) for rank in range(5)}


def test_the_lab_binds_to_none_as_open_mpi_does(topology: Path) -> None:
    assert chosen(topology, 2, "--bind-to", "none") == {}
    assert cores.given(SOCKETS, 1, "none", "slot") == "0-3,8-11,4-7,12-15"

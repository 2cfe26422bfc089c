"""``launcher: slurm`` with a real Slurm: ranks in a step of the allocation, and failures."""

from __future__ import annotations

import ctypes.util
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from testing import pci_bus
from testing.slurm_cluster import Slurm, cluster

from railgauge.core.model import Command, Transcript
from railgauge.launchers import Host, Launch, launcher
from railgauge.launchers.beside_gpu import beside_gpu, read
from railgauge.launchers.slurm_failures import find
from railgauge.transport.registry import connect, opened

Launched = Callable[..., Transcript]

SUM = Path(__file__).with_name("mpich_sum.py")


def hosts(*names: str, ranks: int = 2) -> tuple[Host, ...]:
    return tuple(Host(name, "127.0.0.1", ranks) for name in names)


@pytest.fixture(scope="module")
def launched(running_slurm: Slurm) -> Iterator[Launched]:
    """Carries out a ``Launch`` as a run does: on its first node, through the transport."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in running_slurm.environment.items():
            patch.setenv(name, value)
        with opened(cluster("n01", "n02", "n03")) as reached:
            sessions = {n.name: connect("slurm", n) for n in reached.nodes}

            def launch(*arguments: object, **options: object) -> Transcript:
                wanted = Launch(*arguments, **options)  # type: ignore[arg-type]
                argv = launcher("slurm").argv(wanted)
                first = wanted.hosts[0].name
                command = Command(first, argv, wanted.by_name, time_limit_s=40.0)
                return sessions[first].run(command)

            yield launch
            for session in sessions.values():
                session.close()


def kinds(transcript: Transcript) -> list[str]:
    return [kind for kind, _ in find(f"{transcript.stdout}\n{transcript.stderr}")]


def line(transcript: Transcript) -> str:
    _, position = next(iter(find(transcript.stderr)))
    return transcript.stderr[position:].partition("\n")[0]


def test_ranks_run_on_their_nodes_with_their_environment(launched: Launched) -> None:
    script = 'echo "$SLURM_PROCID/$SLURM_NTASKS $SLURMD_NODENAME $PLAIN $AWKWARD"'
    environment = {"PLAIN": "1", "AWKWARD": "a,b \"c\" 'd'"}
    done = launched(hosts("n02", "n03"), ("sh", "-c", script), environment)
    assert done.exit_code == 0, done
    printed = "1 a,b \"c\" 'd'"
    assert sorted(done.stdout.splitlines()) == [
        f"0/4 n02 {printed}",
        f"1/4 n02 {printed}",
        f"2/4 n03 {printed}",
        f"3/4 n03 {printed}",
    ]
    assert kinds(done) == []


def test_mpi_ranks_find_each_other(
    launched: Launched, cannot_run: Callable[[str], NoReturn]
) -> None:
    if ctypes.util.find_library("mpich") is None:
        cannot_run("MPICH is not installed")
    program = (sys.executable, str(SUM))
    done = launched(hosts("n01", "n02"), program, options=("--mpi=pmi2",))
    assert done.exit_code == 0, done
    assert sorted(done.stdout.splitlines()) == ["0/4 6 n01", "1/4 6 n01", "2/4 6 n02", "3/4 6 n02"]


def test_each_rank_runs_beside_the_gpu_of_its_number(
    launched: Launched, cannot_run: Callable[[str], NoReturn], tmp_path: Path
) -> None:
    """srun binds nothing, and each rank finds its GPU by its number on its node."""
    if os.geteuid() != 0 or not pci_bus.PLACE.is_dir():
        cannot_run("a PCI bus can only be mounted by root, over one that is there")
    if len(os.sched_getaffinity(0) & {0, 1}) < 2:
        cannot_run("CPUs 0 and 1 cannot both be used")
    bus = pci_bus.write(tmp_path)
    program = ("sh", "-c", 'echo "$SLURMD_NODENAME $SLURM_LOCALID"')
    beside = beside_gpu(program, pci_bus.NVIDIA, pci_bus.VISIBLE)
    done = launched(hosts("n02", "n03"), pci_bus.on(bus, *beside), {}, "none")
    assert done.exit_code == 0, done
    lines = done.stdout.splitlines()
    placed = sorted((one.rank, one.gpu, one.cpus) for text in lines if (one := read(text)))
    assert placed == [
        *[(0, "0000:1b:00.0", "0")] * 2,
        *[(1, "0000:5d:00.0", "1")] * 2,
    ]
    own = sorted(text for text in lines if read(text) is None)
    assert own == ["n02 0", "n02 1", "n03 0", "n03 1"]


TWO = hosts("n01", "n02")
FAILURES = {
    "not-enough-slots": (hosts("n01", ranks=9), ("true",), (), "More processors requested"),
    "node-outside-allocation": (hosts("n01", "n04"), ("true",), (), "Unable to create step"),
    "mpi-unsupported": (TWO, ("true",), ("--mpi=no",), "Invalid MPI type"),
    "tool-missing": (TWO, ("/no/such",), (), "execve(): /no/such: No such"),
    "rank-died": (
        TWO,
        ("sh", "-c", "[ $SLURM_PROCID = 2 ] && kill -9 $$; sleep 60"),
        (),
        "srun: error: n02: task 2: Killed",
    ),
    "rank-died by itself": (
        TWO,
        ("sh", "-c", "[ $SLURM_PROCID = 1 ] && exit 7; sleep 60"),
        (),
        "srun: error: n01: task 1: Exited with exit code 7",
    ),
}


@pytest.mark.parametrize("name", FAILURES)
def test_failures_are_recognised(launched: Launched, name: str) -> None:
    nodes, program, options, printed = FAILURES[name]
    done = launched(nodes, program, options=options)
    assert done.exit_code not in (0, None), done
    assert done.error == ""
    assert kinds(done)[0] == name.split(maxsplit=1)[0], done.stderr
    assert printed in line(done)


CANCELLED = """\
srun: Job step aborted: Waiting up to 32 seconds for job step to finish.
slurmstepd-n01: error: *** STEP 19.0 ON n01 CANCELLED AT 2026-11-21T17:03:56{why} ***
srun: error: n02: task 1: Terminated
srun: error: n01: task 0: Terminated
"""


@pytest.mark.parametrize(
    ("why", "kind"),
    [
        ("", "job-cancelled"),
        (" DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS", "node-failed"),
        (" DUE TO TIME LIMIT", "job-time-limit"),
        (" DUE TO PREEMPTION", "job-cancelled"),
    ],
)
def test_steps_that_somebody_ended(why: str, kind: str) -> None:
    assert [found for found, _ in find(CANCELLED.format(why=why))] == [kind]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("srun: error: Unable to allocate resources: Invalid node name specified", "unknown-host"),
        ("srun: error: Unable to allocate resources: Requested nodes are busy", "node-unavailable"),
        ("srun: error: Memory specification can not be satisfied", "not-enough-slots"),
        (
            "srun: error: Unable to confirm allocation for job 3: Invalid job id specified",
            "allocation-over",
        ),
        ("srun: error: n02: task 3: Out Of Memory", "out-of-memory"),
        (
            "srun: error: Task launch for StepId=8.1 failed on node n04: Communication connection "
            "failure",
            "launcher-daemon",
        ),
        ("but OMPI was not built with SLURM's PMI support and therefore", "mpi-unsupported"),
    ],
)
def test_recorded_complaints(text: str, kind: str) -> None:
    assert [found for found, _ in find(f"before\n{text}\nafter\n")] == [kind]


def test_what_a_benchmark_prints_is_no_complaint() -> None:
    assert list(find("# nThread 1 nGpus 1\n 8388608  float  sum  -1  390.12  0\n")) == []

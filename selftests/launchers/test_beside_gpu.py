"""Ranks on the CPUs beside their GPU: the shell's own binding, and real Open MPI and MPICH.

The PCI bus is a made-up one, mounted over that of this machine in a namespace of its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from testing import pci_bus
from testing.pci_bus import NVIDIA, VISIBLE

from railgauge.core.problems import ProblemKind
from railgauge.launchers.beside_gpu import PlacedRank, beside_gpu, read
from railgauge.launchers.failures import find_failures

SEEN = ("sh", "-c", "sed -n s/Cpus_allowed_list:.//p /proc/self/status")
LAUNCHES = {
    "mpirun.openmpi": ("--allow-run-as-root", "--oversubscribe", "-np", "2", "--bind-to", "none"),
    "mpiexec.hydra": ("-n", "2", "-bind-to", "none"),
}
TIME_LIMIT_S = 60


@pytest.fixture(scope="module")
def bus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pci_bus.write(tmp_path_factory.mktemp("devices"))


def run(bus: Path, *argv: str, **environment: str) -> list[str]:
    """The lines that a command prints in a namespace with that PCI bus."""
    own = {k: v for k, v in os.environ.items() if k != VISIBLE} | environment
    made = subprocess.run(
        pci_bus.on(bus, *argv),
        env=own, capture_output=True, text=True, timeout=TIME_LIMIT_S, check=True,
    )  # fmt: skip
    return made.stdout.splitlines()


@pytest.fixture(scope="module", autouse=True)
def can_mount(bus, cannot_run):
    if os.geteuid() != 0 or not pci_bus.PLACE.is_dir():
        cannot_run("a PCI bus can only be mounted by root, over one that is there")
    if len(os.sched_getaffinity(0) & {0, 1}) < 2:
        cannot_run("CPUs 0 and 1 cannot both be used")
    try:
        run(bus, "true")
    except (OSError, subprocess.CalledProcessError) as error:
        cannot_run(f"no namespace with mounts of its own: {error}")


def placed(bus: Path, *argv: str, **environment: str) -> dict[int, tuple[str, str]]:
    """GPU and CPUs that each rank names, after comparing the CPUs with the program's own."""
    lines = run(bus, *argv, *beside_gpu(SEEN, NVIDIA, VISIBLE), **environment)
    found = [one for line in lines if (one := read(line))]
    own = [line for line in lines if read(line) is None]
    assert sorted(one.cpus for one in found) == sorted(own), "what the program may use itself"
    return {one.rank: (one.gpu, one.cpus) for one in found}


@pytest.mark.parametrize("mpi", LAUNCHES)
def test_each_rank_runs_beside_the_gpu_of_its_number(bus, cannot_run, mpi):
    if shutil.which(mpi) is None:
        cannot_run(f"{mpi} is not installed")
    assert placed(bus, mpi, *LAUNCHES[mpi]) == {
        0: ("0000:1b:00.0", "0"), 1: ("0000:5d:00.0", "1"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"SLURM_LOCALID": "1"}, {1: ("0000:5d:00.0", "1")}),
        ({VISIBLE: "1"}, {0: ("0000:5d:00.0", "1")}),
        ({VISIBLE: "1,0", "SLURM_LOCALID": "1"}, {1: ("0000:1b:00.0", "0")}),
        ({}, {0: ("0000:1b:00.0", "0")}),
    ],
)
def test_the_number_of_the_rank_and_the_visible_gpus_choose(bus, environment, expected):
    assert placed(bus, "env", **environment) == expected


@pytest.mark.parametrize(
    "environment",
    [{"SLURM_LOCALID": "2"}, {VISIBLE: "GPU-5f2b"}, {VISIBLE: "0", "SLURM_LOCALID": "1"}],
)
def test_a_rank_without_a_gpu_on_the_bus_is_not_bound(bus, environment):
    ((gpu, cpus),) = placed(bus, "env", **environment).values()
    assert gpu == ""
    assert cpus != "1"


def test_a_rank_that_may_not_use_the_cpus_says_which_it_has(bus, tmp_path):
    """The GPU's CPUs do not exist here; the program runs, and the claim is that of the caller."""
    other = shutil.copytree(bus, tmp_path / "devices")
    (other / "0000:1b:00.0" / "local_cpulist").write_text("5000-5001\n", encoding="ascii")
    ((gpu, cpus),) = placed(other, "env").values()
    assert gpu == "0000:1b:00.0"
    assert not cpus.startswith("5000")


def test_arguments_and_the_exit_code_of_the_program_are_kept(bus):
    words = ("printf", "%s|", "a b", "$HOME", "'", "")
    lines = run(bus, *beside_gpu(words, NVIDIA, VISIBLE))
    assert lines[1:] == ["a b|$HOME|'||"]
    with pytest.raises(subprocess.CalledProcessError) as caught:
        run(bus, *beside_gpu(("sh", "-c", "exit 7"), NVIDIA, VISIBLE))
    assert caught.value.returncode == 7


@pytest.mark.parametrize("mpi", LAUNCHES)
@pytest.mark.parametrize("name", ["no-such-test", "/opt/nowhere/all_reduce_perf"])
def test_a_missing_program_is_reported_as_one(bus, cannot_run, mpi, name):
    if shutil.which(mpi) is None:
        cannot_run(f"{mpi} is not installed")
    with pytest.raises(subprocess.CalledProcessError) as caught:
        run(bus, mpi, *LAUNCHES[mpi], *beside_gpu((name, "-g", "1"), NVIDIA, VISIBLE))
    first, *_ = find_failures(caught.value.stdout + caught.value.stderr)
    assert first.kind is ProblemKind.TOOL_MISSING
    assert f" of {os.uname().nodename}: {name}: not found" in first.message


def test_lines_of_ranks_are_read():
    line = "railgauge: rank 3 of gpu01: GPU 0000:5D:00.0, CPUs 0-51,104-155"
    assert read(line) == PlacedRank(3, "gpu01", "0000:5d:00.0", "0-51,104-155")
    assert read("railgauge: rank 0 of n: GPU none, CPUs 0-1") == PlacedRank(0, "n", "", "0-1")
    for other in ("", "railgauge: rank x of n: GPU none, CPUs 0", f"# {line}", "rank 3 of gpu01"):
        assert read(other) is None

"""The examples for Slurm, run by a real slurmd on the nodes of a lab.

A node with a fault drains itself with the cause as the reason, and a good one takes the job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NoReturn

import pytest
from testing.lab_bench import Bench, laid_out
from testing.node_checks import entered, put
from testing.slurm_cluster import PATH, UP_LIMIT_S, Slurm, missing, slurm_cluster
from testing.waiting import wait_until

NAMES = ("n01", "n02", "n03", "n04", "n05")
PORT = "sys/class/infiniband/mlx5_0/ports/1"


@dataclass(frozen=True)
class Watched:
    slurm: Slurm
    bench: Bench

    def told(self, node: str) -> tuple[str, str]:
        """The state of a node in Slurm, and its reason."""
        said = self.slurm.call("sinfo", "-h", "-N", f"--nodes={node}", "-o", "%T|%E")
        state, _, reason = said.splitlines()[0].partition("|")
        return state, reason

    def break_port(self, node: str) -> None:
        for name, text in {"state": "1: DOWN\n", "phys_state": "2: Polling\n"}.items():
            put(self.bench, f"{PORT}/{name}", text, NAMES.index(node))


@pytest.fixture(scope="module")
def watched(
    tmp_path_factory: pytest.TempPathFactory, cannot_run: Callable[[str], NoReturn]
) -> Iterator[Watched]:
    if lacking := missing():
        cannot_run(f"no Slurm on this machine: {', '.join(lacking)}")
    folder = tmp_path_factory.mktemp("watched")
    lab = folder / "lab"
    with laid_out(lab, "connectx4-homelab", nodes=len(NAMES), names=NAMES) as bench:
        conf = str(folder / "slurm.conf")
        scripts = [
            entered(bench, folder, f"slurm-{name}.sh", PATH, SLURM_CONF=conf)
            for name in ("health", "prolog")
        ]
        more = (
            f"HealthCheckProgram={scripts[0]}\nHealthCheckInterval=4\n"
            f"Prolog={scripts[1]}\nEpilog={scripts[1]}\nPrologFlags=Alloc\n"
        )
        with slurm_cluster(folder, more) as slurm:
            yield Watched(slurm, bench)


def test_a_node_with_a_fault_drains_itself_and_a_good_one_takes_the_job(watched: Watched) -> None:
    watched.break_port("n02")
    wait_until(lambda: "drain" in watched.told("n02")[0], UP_LIMIT_S, "n02 to be drained")
    assert watched.told("n02")[1].startswith("railgauge: link-down mlx5_0")
    said = watched.slurm.call("srun", "--nodelist=n01", "sh", "-c", "echo $SLURMD_NODENAME")
    assert said == "n01\n"
    assert watched.told("n01")[0] in ("idle", "allocated", "completing")

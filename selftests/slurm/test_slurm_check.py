"""``railgauge check`` through a real Slurm: in an allocation, and so without leases."""

from __future__ import annotations

from testing.slurm_cluster import Slurm, cluster

from railgauge.describing.readiness.table import cells
from railgauge.run.asking import asked
from railgauge.transport.registry import connect, opened
from railgauge.transport.sessions import Sessions


def test_the_nodes_of_an_allocation_are_asked(slurm: Slurm) -> None:
    with opened(cluster("n01", "n02", partition="main")) as reached:
        sessions = Sessions(reached, lambda node: connect("slurm", node))
        found = cells(asked(reached, None, None, sessions))
    for row in found.values():
        assert row["reach"].found.startswith("steps of the Slurm job ")
        assert row["lease"].found == "allotted to this command alone"
        assert {row[name].state for name in ("root", "clock", "ports", "gpus")} <= {"ok", "mend"}
        assert "arrives" in row["ports"].found
    assert slurm.jobs() == []

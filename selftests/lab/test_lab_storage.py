"""The lab's fio: figures of a disk for each job, slower on a node with the fault."""

from __future__ import annotations

import pytest
from testing.lab_bench import Bench, StartLab

from railgauge.tools.fio import parse

WRITE = ("--name=a-write", "--ioengine=libaio", "--rw=write", "--bs=1M", "--runtime=10")
CREATE = ("--name=a-create", "--ioengine=filecreate", "--nrfiles=10000")


def figures(bench: Bench, node: int, *jobs: str) -> dict[str, float]:
    ran = bench.run(node, "fio", "--output-format=json", *jobs)
    parsed = parse(ran.stdout)
    assert (ran.returncode, parsed.problems) == (0, ())
    return {f"{one.metric}/{one.placement}": one.value for one in parsed.samples}


def test_a_node_with_slow_storage_reaches_half_of_what_the_others_do(start_lab: StartLab) -> None:
    bench = start_lab("connectx4-homelab", "slow-storage@columbia", nodes=2)
    healthy, slow = (figures(bench, at, *WRITE, *CREATE) for at in (0, 1))
    assert healthy["bandwidth_write/a-write"] == pytest.approx(4000, rel=0.01)
    assert healthy["creates/a-create"] == pytest.approx(45e3, rel=0.02)
    assert {name: slow[name] / value for name, value in healthy.items()} == pytest.approx(
        dict.fromkeys(healthy, 0.5), rel=0.03
    )


def test_a_job_that_the_lab_does_not_know_is_refused(start_lab: StartLab) -> None:
    bench = start_lab("connectx4-homelab", nodes=2)
    ran = bench.run(0, "fio", "--name=a", "--ioengine=rados", "--rw=write", "--bs=3k")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert bench.run(0, "fio", "--output-format=json").returncode == 1

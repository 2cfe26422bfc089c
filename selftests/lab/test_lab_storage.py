"""The lab's fio: figures of a disk for each job, slower on a node with the fault."""

from __future__ import annotations

from pathlib import Path

import pytest
from testing.lab_bench import Bench, StartLab

from railgauge.tools import gdsio
from railgauge.tools.fio import parse
from railgauge_lab import platforms
from railgauge_lab.sim.gdsio import run as run_gdsio

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


# --- GPUDirect Storage ---

GDS_READ = ("-D", "/scratch", "-d", "0", "-w", "8", "-s", "512M", "-i", "1024K", "-x", "0")
TIMED = ("-I", "0", "-T", "10")


def bandwidth(text: str) -> float:
    parsed = gdsio.parse(text)
    assert parsed.problems == ()
    return next(one.value for one in parsed.samples if one.metric == "bandwidth_read")


def test_gdsio_reads_at_the_rate_of_the_disk_or_half_of_it(start_lab: StartLab) -> None:
    bench = start_lab("h200", "slow-storage@h200-02", nodes=2)
    rates = [bandwidth(bench.run(at, "gdsio", *GDS_READ, *TIMED).stdout) for at in (0, 1)]
    assert rates == pytest.approx([6.33, 3.17], rel=0.02)


def test_gdsio_takes_only_what_the_lab_knows(start_lab: StartLab) -> None:
    bench = start_lab("h200", nodes=2)
    assert bench.run(0, "gdsio", "--help").returncode == 1
    assert bench.run(0, "gdsio", "-D", "/scratch").returncode == 1
    other = (*GDS_READ[:3], "8", *GDS_READ[4:], *TIMED)
    assert "invalid GPU index 8" in bench.run(0, "gdsio", *other).stderr


def test_without_a_direct_path_gdsio_prints_the_same_unless_that_is_forbidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which is why XferType alone is no evidence."""
    node = platforms.describe(platforms.load("h200"), "h200-01", 0, 0)
    node |= {"root": str(tmp_path / "root"), "gds": False}
    monkeypatch.setenv("CUFILE_LOGFILE_PATH", str(tmp_path / "log"))
    assert run_gdsio("gdsio", [*GDS_READ, *TIMED], node) == 0
    assert "XferType: GPUD" in capsys.readouterr().out
    assert "with compat mode enabled" in (tmp_path / "log").read_text()
    monkeypatch.setenv("CUFILE_ALLOW_COMPAT_MODE", "false")
    assert run_gdsio("gdsio", [*GDS_READ, *TIMED], node) == 1
    assert "GPUDirect Storage not supported on current file" in capsys.readouterr().err

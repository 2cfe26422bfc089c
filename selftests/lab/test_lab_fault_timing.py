"""The severity of a fault, how often it acts, and when it begins."""

from __future__ import annotations

import re
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from testing import fault_bench as rig
from testing.lab_bench import Bench, StartLab, cluster

from railgauge.core.errors import BadInput
from railgauge_lab import cluster as lab
from railgauge_lab import fault_timing, faults, platforms
from railgauge_lab.fault_places import Fault

HOST = 392.25
INSIDE = 65.08
NODES = ("mx01", "mx02", "mx03")
# Those of a fabric are of its leaves: test_lab_fabric has them.
GRADED = sorted(name for name in faults.NAMES if faults.graded(name) and name not in rig.OF_FABRIC)


def test_a_severity_is_the_lost_share_of_bandwidth(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "slow-node@mx02=4%", "slow-nic@mx02:mlx5_1=20%")
    assert rig.gbps(bench) == pytest.approx(0.96 * HOST, rel=0.001)
    assert rig.gbps(bench, "mlx5_1") == pytest.approx(0.96 * 0.8 * HOST, rel=0.001)


@pytest.mark.parametrize("name", GRADED)
def test_each_graded_fault_depends_on_its_severity(name: str) -> None:
    """This includes faults that are added later."""
    platform = next(one for one in platforms.names() if with_fault(one, name, ""))
    mild, strong = (with_fault(platform, name, severity) for severity in ("=7%", "=20%"))
    assert mild != strong
    assert with_fault(platform, name, "") not in (mild, strong)


def with_fault(platform: str, name: str, severity: str) -> dict[str, object] | None:
    data = platforms.load(platform)
    node = platforms.describe(data, "n1", 0, 1)
    try:
        faults.apply(faults.parse(f"{name}@n1{severity}", ["n1", "n2"]), node, data)
    except BadInput:
        return None
    return node


def test_link_errors_are_in_proportion_to_the_lost_bandwidth() -> None:
    nodes = [with_fault("h200", "high-ber", severity) for severity in ("", "=3%", "=6%")]
    counted = [node["devices"]["mlx5_0"]["errors_per_gb"] for node in nodes if node]  # type: ignore[index]
    assert counted == pytest.approx([40, 40, 80])


def slow(bench: Bench, times: int = 16) -> list[bool]:
    """For each of this number of measurements on the second node: whether it was slow."""
    return [rig.busbw(bench, 1, 8, "1G") < 0.9 * INSIDE for _ in range(times)]


def test_the_seed_decides_which_measurements_are_affected(start_lab: StartLab) -> None:
    fault = "slow-node@mx02=20%,p=0.5"
    found = [slow(start_lab("metax-c500", fault, seed=seed)) for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]
    assert all(4 <= sum(one) <= 12 for one in found), "about half of the measurements"


def test_two_intermittent_faults_of_a_node_are_independent(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "slow-node@mx02=50%,p=0.5", "slow-gpu@mx02=10%,p=0.5", seed=1)
    shares = {round(rig.busbw(bench, 1, 8, "1G") / INSIDE, 2) for _ in range(16)}
    assert shares == {1.0, 0.9, 0.5, 0.45}


def test_intermittent_faults_of_both_ends_are_independent(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "slow-node@mx01=10%,p=0.5", "slow-node@mx02=20%,p=0.5", seed=1)
    shares = {round(rig.gbps(bench) / HOST, 2) for _ in range(16)}
    assert shares == {1.0, 0.9, 0.8}


def test_a_launcher_applies_intermittent_faults_of_each_node(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "slow-node@mx02=50%,p=0.5", nodes=2, seed=1)
    runs = [bench.run(0, *rig.over_both(bench), *rig.ALL_REDUCE).stdout for _ in range(8)]
    found = [rig.busbw_of(text) for text in runs]
    assert max(found) > 1.5 * min(found)


@pytest.mark.parametrize(("passed_s", "acts"), [(0, False), (61, True)])
def test_a_fault_with_after_begins_later(
    start_lab: StartLab, monkeypatch: pytest.MonkeyPatch, passed_s: float, *, acts: bool
) -> None:
    earlier = SimpleNamespace(monotonic=lambda: time.monotonic() - passed_s)
    monkeypatch.setattr(fault_timing, "time", earlier)
    bench = start_lab("metax-c500", "slow-node@mx02,after=1m")
    assert slow(bench, 1) == [acts]


def test_a_permanent_fault_acts_beside_a_later_one(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "slow-node@mx02=50%", "slow-node@mx02=50%,after=1h")
    assert rig.busbw(bench, 1, 8, "1G") == pytest.approx(0.5 * INSIDE, rel=0.01)


@pytest.mark.parametrize(
    "text",
    ["slow-node@mx02", "slow-nic@mx01:mlx5_1=4.5%,p=0.3,after=60s", "corrupt@mx02,after=90s"],
)
def test_a_fault_is_printed_as_it_was_written(text: str) -> None:
    assert str(faults.parse(text, NODES)) == text


def test_severity_probability_and_start_are_parsed() -> None:
    fault = faults.parse("slow-path@mx02:mx01=12.5%,after=5m,p=.25", NODES)
    assert fault == Fault("slow-path", "mx02", "mx01", 0.125, 0.25, 300.0)
    assert faults.parse("slow-node,p=1,after=0s", NODES).always


REFUSED = {
    "slow-node@mx02=4": "severity '4' is no share",
    "slow-node@mx02=0%": "severity '0%' is no share",
    "slow-node@mx02=100%": "severity '100%' is no share",
    "slow-node@mx02=": "severity '' is no share",
    "governor@mx02=4%": "governor has no severity",
    "slow-node,p=0": "p=0 is no probability",
    "slow-node,p=1.5": "p=1.5 is no probability",
    "slow-node,p=nan": "p=nan is no probability",
    "slow-node,p=0.5,p=0.2": "p is given twice",
    "slow-node,after=60": "after=60 is no time",
    "slow-node,sometimes": "unknown option 'sometimes'",
    "slow-node,": "unknown option ''",
    "governor,p=0.5": "governor cannot be intermittent",
    "port-down@mx02:mlx5_1,after=5s": "port-down cannot be intermittent",
    "tool-missing,p=0.5": "tool-missing cannot be intermittent",
    "unreachable,after=5s": "unreachable cannot be intermittent",
}


@pytest.mark.parametrize("fault", REFUSED)
def test_a_bad_course_is_refused_before_the_lab_starts(tmp_path: Path, fault: str) -> None:
    with pytest.raises(BadInput, match=re.escape(REFUSED[fault])):
        started(fault, folder=tmp_path / "lab")
    assert not (tmp_path / "lab").exists()


def test_five_intermittent_faults_of_a_node_are_refused(tmp_path: Path) -> None:
    many = [f"slow-gpu@mx02:{number},p=0.5" for number in range(5)]
    with pytest.raises(BadInput, match="at most 4 faults of one node can be intermittent, not 5"):
        started(*many, folder=tmp_path / "lab")


def started(*given: str, folder: Path) -> None:
    lab.start(cluster("metax-c500"), nodes=None, seed=0, faults=given, folder=folder).close()


def test_the_list_names_each_fault_and_its_options() -> None:
    lines = faults.listed()
    assert "[=SEVERITY][,p=P][,after=TIME]" in lines[0]
    assert {line.split()[0] for line in lines if line.startswith("  ")} == set(faults.NAMES)
    marked = {line.split()[0] for line in lines if line.split()[1] == "="}
    assert marked == {*GRADED, *rig.OF_FABRIC} - {"no-adaptive-routing"}

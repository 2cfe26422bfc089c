"""The lines of ``railgauge triage --format slurm``, run by a person, drain exactly their nodes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from testing.slurm_cluster import UP_LIMIT_S, Slurm
from testing.waiting import wait_until

from railgauge.diagnosis import Cause
from railgauge.diagnosis.model import Where

HOSTILE = "x' state=down reason='y; \"z\" $(id) # =,"


@pytest.fixture
def drained(slurm: Slurm) -> Iterator[Callable[[], dict[str, str]]]:
    """The drained nodes with their reasons; all are given back at the end."""

    def found() -> dict[str, str]:
        lines = slurm.call("sinfo", "-h", "-a", "-N", "-o", "%N|%T|%E").splitlines()
        rows = [line.split("|", 2) for line in lines]
        return {name: reason for name, state, reason in rows if state.startswith("drain")}

    yield found
    for name in found():
        slurm.call("scontrol", "update", f"nodename={name}", "state=resume")
    wait_until(lambda: len(set(slurm.idle())) == 5, UP_LIMIT_S, "all nodes to be idle")


def lines(folder: Path, railgauge: Callable[..., tuple[object, str, str]], *causes: Cause) -> str:
    data = {
        "run_id": "20260131-020000-prod", "cluster": "prod", "platform": "bench",
        "evidence": "hardware", "level": "smoke", "verdict": "rejected", "unknown": [],
        "causes": [cause.to_json() for cause in causes],
    }  # fmt: skip
    (folder / "verdict.json").write_text(json.dumps(data))
    code, out, _ = railgauge("triage", folder, "--format", "slurm")
    assert code == 1
    return out


def cause(name: str, node: str, device: str = "") -> Cause:
    return Cause(name, Where(node, device), "why", ("a",), (), "certain", "", "do", "001: x")


def test_a_shell_that_runs_all_lines_drains_the_nodes_with_their_reasons(
    slurm: Slurm, drained: Callable[[], dict[str, str]], railgauge, tmp_path
) -> None:
    causes = (cause("link-down", "n02", "mlx5_3"), cause("slow-gpu", "n[03-04]", HOSTILE),
              cause("cpu-governor", "n01"))  # fmt: skip
    assert drained() == {}
    slurm.call("sh", "-ec", lines(tmp_path, railgauge, *causes))
    found = drained()
    assert list(found) == ["n02", "n03", "n04"]
    assert found["n02"] == "railgauge: link-down mlx5_3, run 20260131-020000-prod"
    assert found["n03"] == found["n04"]
    assert found["n03"].startswith("railgauge: slow-gpu x_ state_down reason__y_ ")


def test_a_node_called_all_is_every_node_for_scontrol_and_is_not_drained(
    slurm: Slurm, drained: Callable[[], dict[str, str]], railgauge, tmp_path
) -> None:
    slurm.call("sh", "-ec", lines(tmp_path, railgauge, cause("link-down", "all")))
    assert drained() == {}
    slurm.call("scontrol", "update", "nodename=all", "state=drain", "reason=why it is left out")
    assert len(drained()) == 5

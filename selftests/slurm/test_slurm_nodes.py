"""The output of sinfo and its meaning for a run; needs no Slurm."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from railgauge.core.model import Cluster, Node
from railgauge.transport.slurm import allocation, nodes
from railgauge.transport.slurm.nodes import SinfoNode, parse_sinfo

SINFO = """\
n01|main*|idle|n01|none
n02|main*|drained|10.1.0.2|bad DIMM | slot 3
n02|spare|drained|10.1.0.2|bad DIMM | slot 3
n03|spare|allocated|10.1.0.3|
srun: a line that is none of sinfo's
"""


def test_a_line_for_each_partition_and_a_reason_that_may_hold_anything() -> None:
    assert parse_sinfo(SINFO) == {
        "n01": SinfoNode(("main*",), "idle", "n01", ""),
        "n02": SinfoNode(("main*", "spare"), "drained", "10.1.0.2", "bad DIMM | slot 3"),
        "n03": SinfoNode(("spare",), "allocated", "10.1.0.3", ""),
    }


@pytest.mark.parametrize("state", ["idle", "allocated", "mixed", "idle~", "completing", "maint"])
def test_nodes_that_can_be_waited_for(state: str) -> None:
    assert SinfoNode(("main*",), state, "n01", "").refusal(None, for_a_job=True) == ""


@pytest.mark.parametrize(
    ("state", "printed"),
    [
        ("down", "its Slurm state is down: lost"),
        ("down*", "its Slurm state is down, not responding: lost"),
        ("drained", "its Slurm state is drained: lost"),
        ("inval", "its Slurm state is inval: lost"),
    ],
)
@pytest.mark.parametrize("for_a_job", [True, False])
def test_nodes_that_are_no_use(state: str, printed: str, for_a_job: bool) -> None:
    assert SinfoNode(("main*",), state, "n01", "lost").refusal(None, for_a_job=for_a_job) == printed


def test_a_node_that_is_being_drained_keeps_the_job_that_is_there() -> None:
    node = SinfoNode(("main*",), "draining", "n01", "")
    assert node.refusal(None, for_a_job=True) == "its Slurm state is draining: no reason given"
    assert node.refusal(None, for_a_job=False) == ""


def test_a_node_that_missed_a_ping_gets_no_job_and_keeps_the_one_that_is_there() -> None:
    node = SinfoNode(("main*",), "mixed*", "n01", "")
    printed = "its Slurm state is mixed, not responding: no reason given"
    assert node.refusal(None, for_a_job=True) == printed
    assert node.refusal(None, for_a_job=False) == ""


def test_partitions() -> None:
    node = SinfoNode(("main*", "spare"), "idle", "n01", "")
    assert [node.refusal(name, for_a_job=True) for name in (None, "main", "spare")] == [""] * 3
    assert node.refusal("gpu", for_a_job=True) == "not in gpu but in main, spare"
    other = SinfoNode(("spare",), "idle", "n01", "")
    assert other.refusal(None, for_a_job=True) == "not in the default partition but in spare"
    assert other.refusal(None, for_a_job=False) == ""


# --- names that only Slurm knows ---


def test_a_name_that_nobody_resolves_is_replaced_by_slurms_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = SINFO.replace("|n01|", "|10.1.0.1|")
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(nodes, "ask", lambda *argv: asked.append(argv) or text)
    monkeypatch.setattr(allocation, "_resolves", lambda name: name == "n03")
    declared = [
        Node("n01", "n01", "n01"),
        Node("n02", "n02", "ib-n02"),  # declared: stays
        Node("n03", "n03", "n03"),  # resolved: stays
        Node("n04", "n04", "n04"),  # unknown to Slurm too
    ]
    cluster = Cluster("c", "p", "slurm", tuple(declared), "c.yaml")
    reached = allocation._reached(cluster, "", {})
    assert [node.data_address for node in reached.nodes] == ["10.1.0.1", "ib-n02", "n03", "n04"]
    (argv,) = asked
    assert "n[01,04]" in argv, "only what does not resolve is asked about"


def test_localhost_resolves_and_a_made_up_name_does_not() -> None:
    assert allocation._resolves("localhost")
    assert not allocation._resolves("no-such-host.invalid")
    assert not allocation._resolves("x" * 70 + ".invalid")


# --- railgauge slurm-nodes ---

Railgauge = Callable[..., tuple[object, str, str]]


def hostfile(folder: Path, transport: str = "slurm") -> str:
    path = folder / "mine.yaml"
    given = {"cluster": "c", "platform": "h200", "transport": transport, "nodes": "n[01-04]"}
    path.write_text(json.dumps(given), encoding="utf-8")
    return str(path)


@pytest.fixture
def sinfo(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    return lambda text: monkeypatch.setattr(nodes, "ask", lambda *_argv: text)


def test_the_nodes_that_a_job_can_get(
    railgauge: Railgauge, tmp_path: Path, sinfo: Callable[[str], None]
) -> None:
    sinfo(SINFO + "n04|main*|idle|n04|\n")
    code, out, err = railgauge("slurm-nodes", hostfile(tmp_path))
    assert (code, out) == (0, "n[01,04]\n")
    assert err.splitlines() == [
        "left out n02: its Slurm state is drained: bad DIMM | slot 3",
        "left out n03: not in the default partition but in spare",
    ]
    _, out, _ = railgauge("slurm-nodes", hostfile(tmp_path), "--json")
    assert json.loads(out)["nodes"] == ["n01", "n04"]


def test_no_node_at_all_and_no_slurm_at_all(
    railgauge: Railgauge, tmp_path: Path, sinfo: Callable[[str], None]
) -> None:
    sinfo("")
    code, out, err = railgauge("slurm-nodes", hostfile(tmp_path))
    assert (code, out) == (2, "")
    assert err.endswith("Slurm can give none of its nodes\n")
    code, _, err = railgauge("slurm-nodes", hostfile(tmp_path, "ssh"))
    assert (code, "transport is ssh" in err, err.count("\n")) == (2, True, 1)

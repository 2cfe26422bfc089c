"""GPUs that CUDA_VISIBLE_DEVICES and similar variables hide: reported as hidden."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from testing.core_values import cluster
from testing.diagnose_scenes import broken, causes, collective, record
from testing.programs import node_path

from railgauge.core.errors import FactMissing
from railgauge.core.model import Node
from railgauge.facts import NodeFacts, require
from railgauge.facts.visible import hidden
from railgauge.run.survey import survey
from railgauge.stacks import stack
from railgauge.transport.registry import connect
from railgauge.transport.sessions import Sessions


@pytest.mark.parametrize(
    ("value", "left"),
    [
        ("0,1", 2),
        ("", 0),
        ("-1", 0),
        ("0,1,-1,2,3,4,5,6,7", 2),
        ("0,1,2,3,4,5,6,8", 7),
        ("0,0,1,2,3,4,5,6,7", 0),
        ("NoDevFiles", 0),
        ("GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", 1),
    ],
)
def test_visible_gpus_are_counted_as_by_the_runtime(value: str, left: int) -> None:
    message = hidden(f"CUDA_VISIBLE_DEVICES={value}\n", 8)
    assert message == f"CUDA_VISIBLE_DEVICES={value} hides {8 - left} of 8 GPUs from every program"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7",
        "CUDA_VISIBLE_DEVICES=7, 6,5,4,3,2,1,0",
        "ROCR_VISIBLE_DEVICES=0,1,2,3,4,5,6,7\nHIP_VISIBLE_DEVICES=0,1,2,3,4,5,6,7",
        "NVIDIA_VISIBLE_DEVICES=0",
        "/visible: no such file",
    ],
)
def test_without_hidden_gpus_there_is_no_message(text: str) -> None:
    assert hidden(text, 8) == ""


def test_a_mig_instance_is_reported_as_one() -> None:
    message = hidden("CUDA_VISIBLE_DEVICES=MIG-c7384736-a75d-5afc-978f-d2f1294409fd", 8)
    assert "names a MIG instance" in message


def test_no_gpus_hide_nothing() -> None:
    assert hidden("CUDA_VISIBLE_DEVICES=0", 0) == ""


# --- from the node ---

SMI = """#!/bin/sh
case $* in
  --query-gpu=*) printf 'index, name, pci.bus_id\\n'
    for i in 0 1 2 3; do printf '%s, NVIDIA H200, 00000000:%s8:00.0\\n' $i $i; done ;;
  *) exit 1 ;;
esac
"""


def surveyed(tmp_path: Path, login: str, **environment: str) -> NodeFacts:
    own = tmp_path / "own"
    own.mkdir()
    (own / "nvidia-smi").write_text(SMI)
    (own / "nvidia-smi").chmod(0o755)
    path = node_path(own, tmp_path / "basic")
    node = Node("n1", "x", "x", exec=("env", f"PATH={path}", f"CUDA_VISIBLE_DEVICES={login}"))
    there = replace(cluster("n1"), nodes=(node,), environment=environment)
    sessions = Sessions(there, lambda node: connect("exec", node))
    found = survey(there, sessions, stack("nvidia"), lambda _: None)["n1"]
    sessions.close()
    assert isinstance(found, NodeFacts)
    assert len(found.gpus) == 4
    return found


def test_the_login_s_variable_is_found(tmp_path: Path) -> None:
    facts = surveyed(tmp_path, "1")
    with pytest.raises(FactMissing, match="hides 3 of 4 GPUs") as caught:
        require(facts, "gpus.#")
    assert "start-up files" in caught.value.remedy


def test_the_hostfile_s_variable_is_found_and_overrides(tmp_path: Path) -> None:
    facts = surveyed(tmp_path, "1", CUDA_VISIBLE_DEVICES="0,1,2")
    with pytest.raises(FactMissing, match="CUDA_VISIBLE_DEVICES=0,1,2 hides 1 of 4"):
        require(facts, "gpus.#")


def test_a_variable_with_all_gpus_hides_none(tmp_path: Path) -> None:
    assert require(surveyed(tmp_path, "0,1,2,3"), "gpus.#") == 4


# --- the cause ---


def test_hidden_gpus_are_one_cause_that_explains_the_failures() -> None:
    says = "CUDA_VISIBLE_DEVICES=0,1 hides 6 of 8 GPUs from every program"
    facts = NodeFacts("n2", missing={"gpus.#": says})
    count = broken(
        record(0, "gpu_count", "n2"), "fact-missing", "n2", f"gpus.# is not known: {says}"
    )
    failing = broken(collective(("n2",), 1.0), "tool-failed", "n2: all_reduce_perf")
    found = causes(count, failing, facts=[facts])
    assert [(cause.cause, cause.where.node, cause.says) for cause in found] == [
        ("gpu-hidden", "n2", says)
    ]
    assert found[0].explains == (failing.id,)

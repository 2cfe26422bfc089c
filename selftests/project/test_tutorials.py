"""Each tutorial of docs/extending.md, carried out in a copy of this checkout."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from testing.netlab_bench import missing
from testing.walks import Checkout, checkout, commands, steps

PLATFORM, HOSTFILE = "thresholds/twins.json", "hostfiles/twins.yaml"


@pytest.fixture
def own(tmp_path: Path) -> Checkout:
    return checkout(tmp_path / "railgauge")


def planned(own: Checkout, hostfile: str = HOSTFILE) -> dict:
    done = own.run(f"railgauge plan --hostfile {hostfile} --level smoke --json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def held(own: Checkout, test: str) -> None:
    done = own.run(f"python -m pytest -q --noconftest -p no:cacheprovider {test}")
    assert done.returncode == 0, done.stdout + done.stderr


# --- what each costs ---


@pytest.mark.parametrize(
    ("title", "touched", "use"),
    [
        ("A platform", 1, {HOSTFILE}),
        ("A tool", 3, {PLATFORM}),
        ("A GPU vendor", 3, {PLATFORM}),
        ("A launcher", 3, {"hostfiles/flux.yaml"}),
        ("A transport", 3, set()),
    ],
)
def test_it_touches_so_many_files(title, touched, use):
    """The expected files, with those of the platform or cluster that uses the addition."""
    files = {step.path for step in steps(title)}
    assert use <= files
    assert len(files - use) <= touched
    edited = {step.path for step in steps(title) if step.how} - use
    assert len(edited) <= 1
    lines = [line for step in steps(title) if step.path in edited for line in step.text.split("\n")]
    assert len([line for line in lines if line]) == len(edited), "one line each"


def test_the_platform_is_short():
    (text,) = (step.text for step in steps("A platform") if step.path == PLATFORM)
    assert len(text.splitlines()) < 60
    assert "gpus" not in json.loads(text)["hardware"]


# --- what each does ---


def test_the_platform_is_planned_and_says_what_else_could_be_measured(own):
    own.walk("A platform")
    plan = commands("A platform")[0].strip()
    printed = own.run(plan).stdout
    assert "nodes: tcp[01-02]\n" in printed
    assert "\nrung 1, network, 0 min: host_tcp_bandwidth (1 run" in printed
    assert "\nnot applicable, the platform declares no GPU: " in printed
    assert "\nnot applicable, the platform declares no NIC with RDMA: " in printed
    assert re.search(r"\ncan be measured here, no limit: \d+ tests, --all shows them\n", printed)
    listed = own.run(f"{plan} --all").stdout.partition("\ncan be measured here, no limit: ")[2]
    assert "cpu_governor" in listed
    assert "pair_all_reduce" in listed


def test_the_tool_costs_other_platforms_nothing(own):
    own.walk("A platform", "A tool")
    (copy,) = {s["measurement"]: s for s in planned(own)["steps"] if s["rung"] == 3}.values()
    assert copy["commands"][0]["argv"][:2] == ["dd", "if=/dev/zero"]
    other = planned(own, "hostfiles/lab-connectx4-homelab.yaml")
    assert other["not_limited"] == [
        "memory_copy", "scaling_all_reduce", "scaling_all_reduce_tree",
    ]  # fmt: skip
    printed = own.run(
        "LC_ALL=C dd if=/dev/zero of=/dev/null bs=1M count=64 2>&1 | railgauge parse dd -"
    )
    (sample,) = json.loads(printed.stdout)["samples"]
    assert sample["metric"] == "copy_rate"
    assert sample["value"] > 0


def test_platform_and_tool_are_accepted_on_a_real_network(own, cannot_run):
    if lacking := missing():
        cannot_run(f"no cluster of namespaces on this machine: {lacking}")
    own.walk("A platform", "A tool")
    done = own.run(commands("A platform")[1])
    assert done.returncode == 0, done.stdout + done.stderr
    verdict = json.loads((own.folder / "reports" / "latest" / "verdict.json").read_text())
    assert (verdict["verdict"], verdict["evidence"]) == ("accepted", "hardware")
    assert verdict["coverage"]["pairs"] == {"tested": 1, "declared": 1}
    lines = (own.folder / "reports" / "latest" / "measurements.jsonl").read_text().splitlines()
    assert {"bw_received", "copy_rate"} <= {json.loads(line)["metric"] for line in lines}
    assert "cpu_governor" in verdict["not_limited"]
    assert "possible here, not limited: " in done.stdout


def test_the_vendor_is_read_and_its_gpus_can_be_measured(own):
    own.walk("A platform", "A GPU vendor")
    held(own, "selftests/stacks/test_acme.py")
    found = planned(own)["not_limited"]
    assert {"gpu_count", "gpu_links", "node_all_reduce"} <= set(found)
    assert not {"gpu_compute_partition", "gpu_diagnostic_full"} & set(found)


def test_the_launcher_starts_the_ranks(own):
    own.walk("A launcher")
    held(own, "selftests/launchers/test_flux.py")
    found = planned(own, "hostfiles/flux.yaml")["steps"]
    pairs = [step for step in found if step["measurement"] == "pair_all_reduce"]
    argv = pairs[0]["commands"][-1]["argv"]
    assert argv[:2] == ["flux", "run"]
    assert "--requires=host:n01,n02" in argv


def test_the_transport_reaches_its_nodes(own):
    own.walk("A platform", "A transport")
    held(own, "selftests/transport/test_container.py")
    text = (own.folder / HOSTFILE).read_text().replace("transport: ssh", "transport: container")
    (own.folder / HOSTFILE).write_text(text)
    assert planned(own)["nodes"] == ["tcp01", "tcp02"]

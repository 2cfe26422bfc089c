"""The real infiniband-diags against a simulated subnet, through the suite's own run.

Three runs: a subnet as declared, one with a fault of every kind, one without a subnet manager.
"""

import json
import os
import subprocess
import sys
import tarfile
import time

import pytest
from testing import programs
from testing.acceptance import QUICK
from testing.places import ROOT
from testing.simulated_subnet import host_guid, net_file, switch_guid

from railgauge.cli import main
from railgauge.config.thresholds.model import FabricLimits
from railgauge.core.limits import Basis
from railgauge.core.model import Fabric, Outcome
from railgauge.judging.links import Scan, judge_scan
from railgauge.subnet import topology
from railgauge.tools import tool

DECLARED = net_file(2, 4, 2)
# node0002 trained to a lower speed.
ACTUAL = net_file(2, 4, 2, {"node0002": "4xEDR"})
LEAF1, LEAF2 = switch_guid(0), switch_guid(1)
HOSTFILE = """\
cluster: subnet
platform: h200
transport: local
nodes: node0001
fabric: {{node: node0001, topology: {topology}}}
tools: {{infiniband-diags: {tools}}}
"""
LIMITS = FabricLimits(Basis("derived", "for this test"), {"SymbolErrorCounter": 10})


class Run:
    """One run of the subnet's tests, and its record."""

    def __init__(self, folder, subnet, declared=DECLARED):
        project = folder / "project"
        project.mkdir()
        for name in ("conftest.py", "tox.ini", "tests", "thresholds", "hostfiles"):
            (project / name).symlink_to(ROOT / name)
        (folder / "declared.topo").write_text(declared, encoding="utf-8")
        hostfile = folder / "cluster.yaml"
        text = HOSTFILE.format(topology=folder / "declared.topo", tools=subnet.tools)
        hostfile.write_text(text, encoding="utf-8")
        self.project = project
        # Runs on this machine exclude each other, so another test's run may have to end first.
        options = ("--hostfile", str(hostfile), "--level", "smoke", "--wait", "300")
        own = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, "tests/network/test_fabric.py"],
            cwd=project,
            capture_output=True,
            text=True,
            timeout=300,
            stdin=subprocess.DEVNULL,
            env={**own, **QUICK, "PATH": programs.node_path(folder / "bin", folder / "basic")},
            check=False,
        )
        self.exit_code, self.output = done.returncode, done.stdout + done.stderr

    @property
    def folder(self):
        return (self.project / "reports" / "latest").resolve()

    @property
    def verdict(self):
        return json.loads((self.folder / "verdict.json").read_text(encoding="utf-8"))

    @property
    def causes(self):
        """(cause, node, device) -> the cause's text, without what this machine lacks."""
        return {
            (cause["cause"], cause["where"]["node"], cause["where"]["device"]): cause["says"]
            for cause in self.verdict["causes"]
            if cause["cause"] != "counters-unread" and cause["where"]["device"] != "nvidia-smi"
        }


@pytest.fixture(scope="module")
def healthy(subnets, tmp_path_factory):
    folder = tmp_path_factory.mktemp("healthy")
    with subnets(folder / "subnet", DECLARED) as subnet:
        yield Run(folder, subnet)


@pytest.fixture(scope="module")
def broken(subnets, tmp_path_factory):
    folder = tmp_path_factory.mktemp("broken")
    with subnets(folder / "subnet", ACTUAL) as subnet:
        subnet.tell(f'Unlink "{LEAF1}"[1]')
        subnet.make_narrow("0x100001", "4")
        subnet.tell(f'PerformanceSet "{LEAF1}"[6] PortCounters.PortRcvErrors=4000')
        during = (
            f'PerformanceSet "{LEAF1}"[3] PortCounters.LinkDownedCounter=2\n'
            f'PerformanceSet "{host_guid(7)}"[1] PortCounters.SymbolErrorCounter=60000'
        )
        subnet.tell_after("ibqueryerrors", during)
        yield Run(folder, subnet)


@pytest.fixture(scope="module")
def unmanaged(subnets, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unmanaged")
    with subnets(folder / "subnet", DECLARED, managed=False) as subnet:
        yield Run(folder, subnet)


# --- as declared ---


def test_a_subnet_as_declared_is_accepted(healthy):
    assert healthy.exit_code == 10, healthy.output  # only the subnet's tests of the level were run
    counts = healthy.verdict["counts"]
    # This machine has no NIC whose counters could be read.
    assert (counts["passed"], counts["error"]) == (10, 1)
    assert counts["not_run"] == counts["planned"] - 11
    assert healthy.verdict["evidence"] == "hardware"


def test_a_bundle_of_the_run_gives_the_same_verdict(broken, tmp_path, capsys):
    """The bundle has the declared subnet, so every cable is judged again."""
    bundle = tmp_path / "run.tar.gz"
    options = ["--unsigned", "-o", str(bundle), "--root", str(ROOT)]
    assert main(["bundle", str(broken.folder), *options]) == 0
    capsys.readouterr()
    code = main(["verify", str(bundle), "--root", str(ROOT)])
    assert (code, "rejected" in capsys.readouterr().out.lower()) == (1, True)


def test_a_redacted_bundle_names_no_host_and_gives_the_same_verdict(broken, tmp_path, capsys):
    """The scans also contain hosts of the subnet that are not under test."""
    bundle = tmp_path / "run.tar.gz"
    options = ["--unsigned", "--redact", "hosts", "-o", str(bundle), "--root", str(ROOT)]
    assert main(["bundle", str(broken.folder), *options]) == 0
    assert main(["verify", str(bundle), "--root", str(ROOT)]) == 1, capsys.readouterr()
    with tarfile.open(bundle) as archive:
        files = [archive.extractfile(member) for member in archive if member.isfile()]
        assert not [file for file in files if file and b"node000" in file.read()]


def test_nothing_is_left_where_the_tools_ran(healthy):
    assert not list(healthy.project.glob("sys-*"))


# --- a fault of every kind ---


def test_a_broken_subnet_is_rejected(broken):
    assert broken.exit_code == 1, broken.output
    assert broken.verdict["verdict"] == "rejected"


@pytest.mark.parametrize(
    ("cause", "node", "device", "says"),
    [
        ("link-down", "node0001", "mlx5_0", "cable leaf01 port 1 to node0001 mlx5_0: missing"),
        ("link-down", "node0003", "mlx5_0", "LinkDownedCounter grew by 2"),
        ("link-rate-degraded", "node0002", "mlx5_0", "runs at 4xEDR, declared 4xHDR"),
        ("link-rate-degraded", "node0008", "mlx5_0", "runs at 1xHDR, declared 4xHDR"),
        ("link-error-rate", "leaf01", "port 6", "PortRcvErrors 4000, limit at most 10"),
        ("link-error-rate", "node0007", "mlx5_0", "60000 symbol errors in"),
    ],
)
def test_every_fault_is_named_with_its_port(broken, cause, node, device, says):
    assert says in broken.causes[cause, node, device]


def test_no_other_cause_is_named(broken):
    assert len(broken.causes) == 6


def test_the_peer_of_a_cable_between_switches_is_named(broken):
    cause = next(c for c in broken.verdict["causes"] if c["where"]["node"] == "leaf01")
    assert cause["where"]["peer"] == "spine02"
    assert "leaf01 port 6 (to spine02 port 1)" in cause["says"]


def test_symbol_errors_are_reported_as_a_bit_error_rate(broken):
    says = broken.causes["link-error-rate", "node0007", "mlx5_0"]
    assert "an hour), limit at most 1e-12" in says
    assert "bit error rate" in says


def test_sound_parts_pass_beside_a_fault(broken):
    text = (broken.folder / "records.jsonl").read_text(encoding="utf-8")
    records = map(json.loads, text.splitlines())
    outcomes = {record["id"].rpartition("::")[2]: record["outcome"] for record in records}
    passed = {name for name, outcome in outcomes.items() if outcome == "passed"}
    assert passed == {
        "test_subnet_manager[node0001]",
        "test_cabling[node0001-leaf02]",
        "test_error_counters[node0001-leaf02]",
        "kernel_log[node0001]",
    }


# --- no subnet manager ---


def test_a_missing_subnet_manager_is_the_only_cause(unmanaged):
    assert unmanaged.exit_code == 1, unmanaged.output
    assert list(unmanaged.causes) == [("subnet-manager-missing", "", "")]


# --- facts that only the tools' own output shows ---


@pytest.fixture(scope="module")
def subnet(subnets, tmp_path_factory):
    with subnets(tmp_path_factory.mktemp("bare") / "subnet", DECLARED) as running:
        yield running


def judged(program, text, declared, switch="leaf01", limits=LIMITS):
    fabric = Fabric("node0001", declared, "declared.topo")
    return judge_scan((program, switch), fabric, limits, Scan(text, "2026-01-01T00:00:00Z"))[0]


def reasons(judgements):
    return [judgement.reason for judgement in judgements if judgement.outcome is Outcome.FAILED]


def swapped(text, one, other):
    return text.replace(one, "\0").replace(other, one).replace("\0", other)


def test_swapped_cables_are_reported_for_both_ports(subnet):
    """A cable declared the wrong way round looks the same as one plugged the wrong way round."""
    declared = swapped(DECLARED, host_guid(1)[2:], host_guid(2)[2:])
    declared = swapped(declared, "node0001", "node0002")
    assert reasons(judged("ibnetdiscover", subnet.ask("ibnetdiscover"), declared)) == [
        "cable leaf01 port 1 to node0002 mlx5_0: goes to node0001 mlx5_0",
        "cable leaf01 port 2 to node0001 mlx5_0: goes to node0002 mlx5_0",
    ]


def test_a_cable_that_is_not_declared_is_reported(subnet):
    text = subnet.ask("ibnetdiscover")
    smaller = net_file(2, 4, 1)
    assert reasons(judged("ibnetdiscover", text, smaller)) == [
        "cable leaf01 port 6 to spine02 port 1 is not declared"
    ]


def test_perfquery_and_ibqueryerrors_agree(subnet):
    subnet.tell(f'PerformanceSet "{LEAF2}"[2] PortCounters.SymbolErrorCounter=1234')
    one = tool("perfquery").parse(subnet.ask("perfquery", "-G", "0x100001", "2"))
    every = tool("ibqueryerrors").parse(subnet.ask("ibqueryerrors"))
    assert [s.value for s in one.samples if s.metric == "SymbolErrorCounter"] == [1234]
    assert [(s.placement, s.value) for s in every.samples if s.metric == "SymbolErrorCounter"] == [
        ("leaf02/2", 1234)
    ]


# --- a thousand hosts ---


def test_a_thousand_hosts_are_scanned_and_judged(subnets, tmp_path):
    """A guard against quadratic time, not a measure of speed."""
    net = net_file(32, 32, 32)
    with subnets(tmp_path / "subnet", net) as big:
        texts = {name: big.ask(name) for name in ("ibnetdiscover", "ibqueryerrors")}
        texts["iblinkinfo"] = big.ask("iblinkinfo", "-l")
    started = time.process_time()
    switches = topology(net).owners
    found = [
        judgement
        for name, text in texts.items()
        for switch in switches
        for judgement in judged(name, text, net, switch)
    ]
    assert reasons(found) == []
    assert len(found) == 32 * 4
    assert {judgement.outcome for judgement in found} == {Outcome.PASSED}
    assert time.process_time() - started < 20

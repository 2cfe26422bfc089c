"""The real tools without an RDMA device: nothing that they print counts as a value."""

import shutil
from pathlib import Path

import pytest
from testing import programs
from testing.places import ROOT
from testing.run_folder import store_in

from railgauge.config import thresholds
from railgauge.core.errors import DeviceMissing, LimitMissed
from railgauge.core.model import Cluster, Command, Node, Outcome, Pair, Pairing
from railgauge.core.question import FactAt
from railgauge.diagnosis import RunResults, diagnose
from railgauge.facts import parse_probe, probe_script
from railgauge.judging import assess
from railgauge.judging.expectation import judge_at
from railgauge.judging.record import ItemRecord, with_error
from railgauge.planning import plan
from railgauge.run.runner import Runner
from railgauge.transport import local
from railgauge.transport.sessions import Sessions

PLATFORM = thresholds.load("connectx4-homelab", ROOT / "thresholds")
NODES = tuple(Node(name, "localhost", "localhost") for name in ("one", "two"))
CLUSTER = Cluster("here", PLATFORM.name, "local", NODES, "here.yaml")
NIC = Pairing("mlx5_0")
MEASUREMENTS = ("host_write_bandwidth", "host_read_bandwidth", "host_send_latency")


@pytest.fixture(scope="module", autouse=True)
def _without_a_device(cannot_run):
    devices = Path("/sys/class/infiniband")
    if devices.is_dir() and any(devices.iterdir()):
        pytest.skip("this machine has an RDMA device")
    if not shutil.which("ib_write_bw"):
        cannot_run("ib_write_bw is missing (perftest)")


@pytest.fixture(autouse=True)
def _whatever_this_machine_has(monkeypatch):
    monkeypatch.setenv("PATH", programs.machine())


@pytest.fixture
def runner(tmp_path):
    """As in a run: real commands on this machine, and transcripts saved before they are parsed."""
    (tmp_path / "leases").mkdir()
    sessions = Sessions(CLUSTER, local.connect)
    yield Runner(
        sessions,
        store_in(tmp_path),
        lambda case, port: plan.commands(case, PLATFORM, CLUSTER, port),
    )
    sessions.close()


def error_of(runner, name):
    case = plan.case_at(PLATFORM.measurements[name], "smoke", Pair("one", "two"), NIC)
    with pytest.raises(DeviceMissing) as caught:
        assess.read(PLATFORM, case, runner.measure(case))
    return caught.value


@pytest.mark.parametrize("name", MEASUREMENTS)
def test_perftest_ends_in_the_error_of_a_missing_device(runner, name):
    error = error_of(runner, name)
    command = PLATFORM.measurements[name].command
    assert error.kind == "device-missing"
    assert error.where == f"two: {command}"  # the server is started first
    assert "(device-not-found)" in error.what
    assert error.remedy.startswith("no RDMA device: ")
    assert not isinstance(error, LimitMissed)


def test_the_cause_is_the_missing_nic(runner):
    record = ItemRecord(
        id="tests/network/test_rdma.py::test_bandwidth[host_write_bandwidth-one:two-mlx5_0-8MiB]",
        rung=1,
        subject="host_write_bandwidth",
        title="",
        outcome=Outcome.ERROR,
        nodes=("one", "two"),
        pairing="mlx5_0",
    )
    failed = with_error(record, error_of(runner, "host_write_bandwidth"))
    (cause,) = diagnose(RunResults({failed.id: failed}, {}, PLATFORM, CLUSTER))
    assert (cause.cause, str(cause.where)) == ("nic-missing", "two, mlx5_0")


def test_an_empty_output_of_ibstat_with_exit_code_0_proves_nothing(cannot_run):
    program = shutil.which("ibstat", path="/usr/sbin:/sbin:/usr/bin")
    if not program:
        cannot_run("ibstat is missing (infiniband-diags)")
    with_session = local.connect(NODES[0])
    output = with_session.run(Command("one", (program,)))
    assert (output.exit_code, output.stdout.strip()) == (0, "")


def test_preflight_misses_the_declared_nic():
    """The evidence is sysfs, not a tool that exits 0 in any case."""
    nonce = "0123456789abcdef"
    script = probe_script("/", None, nonce)
    output = local.connect(NODES[0]).run(Command("one", ("sh", "-c", script), time_limit_s=120.0))
    found = {"one": parse_probe("one", output.stdout, nonce, None)}
    at = FactAt("one", ("nics.mlx5_0.name",), declared="nics.mlx5_0.name", absent="absent")
    judged = judge_at(at, PLATFORM.expected["nic_present"], PLATFORM, found)
    assert judged.outcome is Outcome.FAILED
    assert judged.measured == "absent"

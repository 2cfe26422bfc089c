"""Which items keep a collective from running, so that not even its results can be checked."""

import pytest
from testing.core_values import item

from railgauge.core.errors import (
    AuthenticationFailed,
    BecomeRefused,
    CommandTimedOut,
    ConnectionLost,
    DeviceMissing,
    FactMissing,
    HostKeyRejected,
    LaunchFailed,
    MetricMissing,
    NodeUnreachable,
    OtherMachine,
    PortInUse,
    RankDied,
    SetupFailed,
    ToolError,
    ToolFailed,
    ToolMissing,
    Unparsable,
)
from railgauge.core.model import Outcome
from railgauge.judging.prevention import _NO_GPU, _NO_PORT, Prevents, prevents
from railgauge.planning.expectations import EXPECTATIONS

ALL, BETWEEN, NONE = Prevents.ALL, Prevents.BETWEEN_NODES, Prevents.NONE


def fact(subject, outcome=Outcome.FAILED, kind=""):
    return item("a", outcome, rung=0, subject=subject, nodes=("n1",), error_kind=kind)


@pytest.mark.parametrize(
    "subject",
    ["kernel", "nic_firmware", "gpu_driver", "cpu_governor", "memlock", "gpu_ecc_errors", "acs"],
)
@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.ERROR])
def test_settings_versions_and_counters_of_errors_prevent_nothing(subject, outcome):
    assert prevents(fact(subject, outcome, FactMissing.kind)) is NONE


def test_a_port_that_is_down_prevents_nothing_inside_the_node():
    for subject in ("port_state", "nic_present", "netdev"):
        assert prevents(fact(subject)) is BETWEEN
    assert not BETWEEN.covers(1)
    assert BETWEEN.covers(2)


def test_a_missing_gpu_prevents_everything():
    assert prevents(fact("gpu_count")) is ALL
    assert ALL.covers(1)


@pytest.mark.parametrize("outcome", [Outcome.PASSED, Outcome.MARGINAL, Outcome.RECORD_ONLY])
def test_an_item_that_did_not_fail_prevents_nothing(outcome):
    assert prevents(fact("gpu_count", outcome)) is NONE


def measured(nodes, kind="", outcome=Outcome.ERROR):
    return item("a", outcome, rung=1, nodes=nodes, error_kind=kind)


def test_a_slow_link_prevents_nothing():
    assert prevents(measured(("n1", "n2"), outcome=Outcome.FAILED)) is NONE


@pytest.mark.parametrize(
    "error",
    [
        *(ToolError, ToolFailed, DeviceMissing, CommandTimedOut, PortInUse, LaunchFailed),
        RankDied,
    ],
)
def test_an_item_that_did_not_run_prevents_collectives_at_its_place(error):
    assert prevents(measured(("n1", "n2"), error.kind)) is BETWEEN
    assert prevents(measured(("n1",), error.kind)) is ALL
    assert prevents(measured((), error.kind)) is BETWEEN


@pytest.mark.parametrize(
    "error",
    [
        NodeUnreachable,
        AuthenticationFailed,
        HostKeyRejected,
        ConnectionLost,
        SetupFailed,
        BecomeRefused,
        OtherMachine,
    ],
)
def test_a_node_that_does_not_answer_prevents_everything(error):
    assert prevents(measured(("n1", "n2"), error.kind)) is ALL
    assert prevents(fact("kernel", Outcome.ERROR, error.kind)) is ALL


@pytest.mark.parametrize("error", [ToolMissing, Unparsable, MetricMissing])
def test_another_missing_or_unreadable_program_prevents_nothing(error):
    assert prevents(measured(("n1", "n2"), error.kind)) is NONE


def test_every_expectation_that_prevents_is_one_of_the_ladder():
    assert EXPECTATIONS.keys() >= _NO_GPU | _NO_PORT

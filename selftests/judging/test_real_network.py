"""What a platform of plain TCP needs: error counters, ranks, NICs without a PCI slot."""

import re
from dataclasses import replace

import pytest
from testing.core_values import ROOT

from railgauge.config import thresholds
from railgauge.config.thresholds.physics import nic_ceiling_gbps
from railgauge.core.errors import Implausible, OtherThanAsked
from railgauge.core.model import Case, Outcome, Parsed, Sample, Transcript
from railgauge.core.question import CaseResult
from railgauge.facts import NodeFacts
from railgauge.judging import assess
from railgauge.judging.judge import judge
from railgauge.tools import declared_metric, tool
from railgauge.tools.output_checks import SideOutput, ToolRequest


@pytest.fixture(scope="module")
def platform():
    return thresholds.load("tcp-lab", ROOT / "thresholds")


def judged(platform, name, unit, value):
    limit = thresholds.limit_for(platform.measurements["host_tcp_bandwidth"], name, None, None)
    return judge([Sample(name, unit, value)], limit, declared_metric("iperf3", name), None, None)


@pytest.mark.parametrize(
    ("count", "outcome"), [(0, Outcome.PASSED), (100, Outcome.PASSED), (101, Outcome.FAILED)]
)
def test_a_count_of_zero_errors_is_the_best(platform, count, outcome):
    assert judged(platform, "retransmits", "count", count).outcome is outcome


@pytest.mark.parametrize(("metric", "unit", "value"), [("retransmits", "count", -1.0),
                                                       ("bw_received", "Gb/s", 0.0)])  # fmt: skip
def test_a_negative_count_and_a_bandwidth_of_nothing_are_no_values(platform, metric, unit, value):
    with pytest.raises(Implausible):
        judged(platform, metric, unit, value)


def test_a_nic_without_a_slot_is_as_fast_as_its_link(platform):
    (nic,) = platform.nics
    assert nic.pcie_link is None
    assert nic_ceiling_gbps(nic) == nic.rate_gbps == 0.2
    assert nic_ceiling_gbps(replace(nic, rate_gbps=400, data_rate_gbps=400, pcie_generation=3,
                                    pcie_width=4)) < 32  # fmt: skip


PLATFORM = thresholds.load("tcp-lab", ROOT / "thresholds")
MEASUREMENT = PLATFORM.measurements["pair_all_reduce"]
DEFAULT = replace(MEASUREMENT, options={"iterations": 8})
CASE = Case("pair_all_reduce", ("tcp01", "tcp02"), None, (1 << 20,))


def ran(measurement, **hosts):
    """The ranks that the output lists, compared with the case."""
    summary = {"nranks": sum(hosts.values()), "ranks": hosts}
    sides = (SideOutput("tcp01", "client", Parsed("mpi-bench", "1", (), summary)),)
    facts = {node: NodeFacts(node, hostname=node) for node in CASE.nodes}
    checks = tool("mpi-bench").output_checks(ToolRequest(CASE, measurement, PLATFORM, facts), sides)
    return [str(check) for check in checks if not check.agrees]


def test_the_requested_ranks_agree():
    assert ran(MEASUREMENT, tcp01=1, tcp02=1) == []
    assert ran(DEFAULT, tcp01=1, tcp02=1) == []


@pytest.mark.parametrize("hosts", [{"tcp01": 2}, {"tcp01": 1}, {"tcp01": 2, "tcp02": 2}])
def test_other_ranks_are_no_evidence(hosts):
    found = ran(MEASUREMENT, **hosts)
    assert found[0].startswith("ranks: asked for 2 ranks (1 on each of 2 nodes), the tool says")
    assert f"{sum(hosts.values())} ranks (" in found[0]


def test_by_default_there_is_one_rank_on_each_node():
    (found,) = ran(DEFAULT, tcp01=2, tcp02=2)
    assert "asked for 2 ranks (1 on each of 2 nodes)" in found


def test_the_ranks_are_on_the_nodes_of_the_case():
    (found,) = ran(MEASUREMENT, tcp01=1, tcp03=1)
    assert found == "hosts of the ranks: asked for tcp01, tcp02, the tool says tcp01, tcp03"


OUTPUT = """mpi-bench version 1
mpi-bench run collective=all_reduce ranks=2 type=float32 iterations=8 warmup=1 cycles=1
mpi-bench library Open MPI v4.1.4
mpi-bench rank 0 tcp01
mpi-bench rank 1 tcp02
mpi-bench row size=1048576 cycle=0 time_us=1000.000 algbw=1.048576 busbw=1.048576 wrong=0
mpi-bench end rows=1 wrong=0
"""
LIES = {
    "type=float32": ("type=int8", "data type: asked for float32, the tool says int8"),
    "iterations=8": ("iterations=1", "iterations: asked for 8, the tool says 1"),
    "warmup=1": ("warmup=0", "warmup: asked for 1, the tool says 0"),
    "cycles=1": ("cycles=3", "cycles: asked for 1, the tool says 3"),
    "collective=all_reduce": ("collective=broadcast", "asked for all_reduce, the tool says broad"),
    "rank 1 tcp02": ("rank 1 tcp09", "asked for tcp01, tcp02, the tool says tcp01, tcp09"),
}


def read(text):
    transcript = Transcript("tcp01", ("mpirun", "mpi-bench"), 0, text, "", 1.0)
    facts = {node: NodeFacts(node, hostname=node) for node in CASE.nodes}
    return assess.read(PLATFORM, CASE, CaseResult(((transcript,),)), facts)


def test_an_output_of_the_request_agrees():
    assert read(OUTPUT).runs[0].not_shown == ()


@pytest.mark.parametrize("line", LIES)
def test_an_output_of_another_request_is_refused(line):
    by, message = LIES[line]
    with pytest.raises(OtherThanAsked, match=re.escape(message)):
        read(OUTPUT.replace(line, by))

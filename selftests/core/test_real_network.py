"""What a platform of plain TCP needs of the core: counts of trouble, ranks, NICs without a slot."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from core_values import ROOT
from railgauge.ranks import refuse_other_ranks

from railgauge import thresholds
from railgauge.errors import Implausible, ToolFailed
from railgauge.judge import judge
from railgauge.model import Case, Outcome, Parsed, Sample
from railgauge.thresholds.limits import nic_ceiling_gbps


@pytest.fixture(scope="module")
def platform():
    return thresholds.load("tcp-lab", ROOT / "thresholds")


def limit(platform, metric):
    return thresholds.limit_for(platform.measurements["host_tcp_bandwidth"], metric, None, None)


@pytest.mark.parametrize(
    ("count", "outcome"), [(0, Outcome.PASSED), (100, Outcome.PASSED), (101, Outcome.FAILED)]
)
def test_no_trouble_is_the_best_count_of_it(platform, count, outcome):
    found = judge(
        [Sample("retransmits", "count", count)], limit(platform, "retransmits"), None, None
    )
    assert found.outcome is outcome


@pytest.mark.parametrize(("metric", "unit", "value"), [("retransmits", "count", -1.0),
                                                       ("bw_received", "Gb/s", 0.0)])  # fmt: skip
def test_a_negative_count_and_a_bandwidth_of_nothing_are_no_values(platform, metric, unit, value):
    with pytest.raises(Implausible):
        judge([Sample(metric, unit, value)], limit(platform, metric), None, None)


def test_a_nic_without_a_slot_is_as_fast_as_its_link(platform):
    (nic,) = platform.nics
    assert nic.pcie_link is None
    assert nic_ceiling_gbps(nic) == nic.rate_gbps == 0.2
    assert nic_ceiling_gbps(replace(nic, rate_gbps=400, data_rate_gbps=400, pcie_generation=3,
                                    pcie_width=4)) < 32  # fmt: skip


CASE = Case("pair_all_reduce", ("tcp01", "tcp02"), None, (1 << 20,))


def ran(**hosts):
    summary = {"nranks": sum(hosts.values()), "ranks": hosts}
    return Parsed("mpi-bench", "1", (), summary)


def test_ranks_are_those_that_were_asked_for(platform):
    measurement = platform.measurements["pair_all_reduce"]
    refuse_other_ranks(ran(tcp01=1, tcp02=1), CASE, measurement, platform)
    default = SimpleNamespace(options={}, command="all_reduce")
    refuse_other_ranks(ran(tcp01=1, tcp02=1), CASE, default, platform)


@pytest.mark.parametrize("hosts", [{"tcp01": 2}, {"tcp01": 1}, {"tcp01": 2, "tcp02": 2}])
def test_other_ranks_are_no_evidence(platform, hosts):
    with pytest.raises(ToolFailed, match=f"ran on {sum(hosts.values())} ranks"):
        refuse_other_ranks(ran(**hosts), CASE, platform.measurements["pair_all_reduce"], platform)


def test_without_a_word_there_is_one_rank_on_each_node(platform):
    default = SimpleNamespace(options={}, command="all_reduce")
    with pytest.raises(ToolFailed, match="not on 2"):
        refuse_other_ranks(ran(tcp01=2, tcp02=2), CASE, default, platform)

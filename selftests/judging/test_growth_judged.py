"""The growth of counters judged: limits, rates, and everything that shows no growth at all."""

from dataclasses import replace

import pytest
from testing.core_values import ROOT

from railgauge.config import thresholds
from railgauge.config.thresholds.model import GrowthLimit, Nic
from railgauge.core.errors import CountersUnread, ToolMissing
from railgauge.core.limits import Basis
from railgauge.core.model import Outcome
from railgauge.facts.counters import CounterReading
from railgauge.judging.growth import CountedSpan, CountedStep, NodeCounters, judged

BASIS = Basis("standard", "made up for a test")
H200 = thresholds.load("h200", ROOT / "thresholds")
NAMES = {f"gpu{i}": (f"gpu{i}", f"0000:0{i}:00.0") for i in range(8)} | {
    f"mlx5_{i}": (f"mlx5_{i}",) for i in range(8)
}
SENT = ("packet_seq_err", "out_of_sequence", "implied_nak_seq_err", "local_ack_timeout_err")


def limit(ceiling=0, per_hour=None):
    return GrowthLimit(None if per_hour else ceiling, per_hour, BASIS)


def platform(name="rdma_retransmits", **changes):
    return replace(H200, growth={name: limit(**changes)})


def reading(**devices):
    """Every NIC with its counters at 5; ``mlx5_3={"out_of_sequence": 6}`` changes one."""
    counts = {f"mlx5_{i}": dict.fromkeys(SENT, 5) for i in range(8)}
    for device, found in devices.items():
        counts[device] = {} if found is None else {**counts.get(device, {}), **found}
    return CounterReading("boot", counts)


def node(after, before=None, hours=0.5, **changes):
    return NodeCounters("n1", [CountedSpan(before or reading(), after, hours, **changes)], NAMES)


def verdicts(counters, on=None):
    return judged(counters, on or platform())


def test_unchanged_counters_pass_with_one_judgement_of_all_devices():
    (one,), error = verdicts(node(reading()))
    assert (one.outcome, one.measured, one.limit) == (
        Outcome.PASSED, "none (8 devices, 0.50 h)", "none",
    )  # fmt: skip
    assert error is None


def test_growth_fails_at_its_nic_with_its_amount():
    after = reading(mlx5_3={"out_of_sequence": 17, "packet_seq_err": 6})
    (one,), error = verdicts(node(after))
    assert error is None
    assert one.outcome is Outcome.FAILED
    assert one.points_at == (("n1", "mlx5_3"),)
    assert one.reason == (
        "mlx5_3 of n1: packet_seq_err by 1, out_of_sequence by 12 in 0.50 h of the run"
    )


def test_a_ceiling_is_for_the_sum_of_a_device():
    after = reading(mlx5_3={"out_of_sequence": 8, "packet_seq_err": 7})
    assert verdicts(node(after), platform(ceiling=5))[0][0].outcome is Outcome.PASSED
    assert verdicts(node(after), platform(ceiling=4))[0][0].outcome is Outcome.FAILED


@pytest.mark.parametrize(
    ("hours", "grown", "outcome"),
    [(0.5, 5, "passed"), (0.5, 6, "failed"), (0.01, 1, "passed"), (0.01, 2, "failed")],
)
def test_a_rate_is_for_the_time_between_the_readings(hours, grown, outcome):
    after = reading(mlx5_0={"out_of_sequence": 5 + grown})
    assert verdicts(node(after, hours=hours), platform(per_hour=10))[0][0].outcome == outcome


def unread(counters, on=None):
    found, error = verdicts(counters, on)
    assert not found
    assert error is not None
    assert error.where == "n1"
    return error.what


def test_a_missing_counter_is_an_error_even_if_the_others_do_not_grow():
    without = CounterReading("boot", {**reading().counts, "mlx5_3": {"out_of_sequence": 5}})
    message = unread(node(without, without))
    assert "no packet_seq_err, implied_nak_seq_err, local_ack_timeout_err of mlx5_3" in message


def test_a_nic_without_any_counter_gives_the_reason():
    gone = replace(reading(mlx5_3=None), failures=("ports: the output is truncated",))
    assert "(ports: the output is truncated)" in unread(node(gone))


@pytest.mark.parametrize(
    ("group", "tool", "is_it"),
    [
        ("gpu_ecc_corrected", "nvidia-smi", True),
        ("gpu_ecc_corrected", "ethtool", False),
        ("rdma_retransmits", "nvidia-smi", False),
        ("rdma_retransmits", "ethtool", True),
        ("rdma_retransmits", "amd-smi", False),
    ],
)
def test_a_tool_that_the_node_lacks_is_named_where_its_counters_are_asked_for(group, tool, is_it):
    none = CounterReading("boot", {}, failures=(f"{tool}: command not found (exit 127)",))
    found, error = verdicts(node(none, none), platform(group))
    assert not found
    assert type(error) is (ToolMissing if is_it else CountersUnread)
    if is_it:
        assert (error.where, error.what) == (
            f"n1: {tool}", f"{tool} was not found; and 7 more such errors",
        )  # fmt: skip


def test_a_nic_that_the_platform_declares_and_the_node_lacks_is_an_error():
    less = CounterReading("boot", {k: v for k, v in reading().counts.items() if k != "mlx5_7"})
    assert "of mlx5_7 was read" in unread(node(less, less))


def test_a_counter_that_decreased_is_no_pass():
    message = unread(node(reading(mlx5_3={"out_of_sequence": 0})))
    assert "out_of_sequence of mlx5_3 went back from 5 to 0: it was reset" in message


def test_a_counter_that_wrapped_is_no_pass():
    high = reading(mlx5_3={"out_of_sequence": 2**32 - 1})
    assert "went back from 4294967295 to 3" in unread(
        node(reading(mlx5_3={"out_of_sequence": 3}), high)
    )


def test_a_counter_that_only_one_reading_shows_is_no_pass():
    more = reading(mlx5_3={"roce_adp_retrans": 0})
    assert "only one of two readings shows roce_adp_retrans of mlx5_3" in unread(node(more))
    assert "only one of two readings" in unread(node(reading(), more))


def ports(value):
    names = ("symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors")
    found = {f"mlx5_{i}": dict.fromkeys(names, 0) for i in range(8)}
    found["mlx5_2"] = {**found["mlx5_2"], "link_downed": value}
    return CounterReading("boot", found)


def test_a_counter_at_its_highest_value_cannot_grow_and_is_no_pass():
    """Counters of a port stand still there (InfiniBand, PortCounters): 8 bits of link_downed."""
    message = unread(node(ports(255), ports(255)), platform("port_errors"))
    assert "link_downed of mlx5_2 stood at 255 before, its highest value" in message
    assert verdicts(node(ports(254), ports(254)), platform("port_errors"))[0][0].outcome == "passed"


def test_a_failure_outranks_what_could_not_be_read():
    after = reading(mlx5_3={"out_of_sequence": 0}, mlx5_5={"out_of_sequence": 9})
    (one,), error = verdicts(node(after))
    assert (one.outcome, one.points_at) == (Outcome.FAILED, (("n1", "mlx5_5"),))
    assert "went back" in str(error)


def test_several_errors_are_counted_and_the_first_is_reported():
    devices = ("mlx5_3", "mlx5_4", "mlx5_5")
    for number, more in ((1, ""), (2, "; and 1 more such error"), (3, "; and 2 more such errors")):
        message = unread(node(reading(**dict.fromkeys(devices[:number]))))
        assert "of mlx5_3 was read" in message
        assert message.partition("was read")[2] == more


def test_an_error_has_a_remedy():
    _, error = verdicts(node(reading(mlx5_3=None, mlx5_4=None)))
    assert "railgauge docs telemetry" in error.remedy
    _, error = verdicts(node(ports(255), ports(255)), platform("port_errors"))
    assert "perfquery -R" in error.remedy


def test_a_pass_names_the_device_that_grew_most():
    after = reading(mlx5_1={"out_of_sequence": 8}, mlx5_6={"out_of_sequence": 6})
    (one,), _ = verdicts(node(after), platform(ceiling=3))
    assert one.measured == "by 3 at mlx5_1 (8 devices, 0.50 h)"
    assert one.pointer == "/growth/rdma_retransmits"


def test_a_failure_points_at_its_limit_and_lists_five_counters():
    many = {f"rx_prio{i}_discards": 0 for i in range(7)}
    (one,), _ = roce("priority_discards", many, dict.fromkeys(many, 1))
    assert one.pointer == "/growth/priority_discards"
    counters = ", ".join(f"rx_prio{i}_discards by 1" for i in range(5))
    assert one.reason.startswith(f"mlx5_0 of n1: {counters} and 2 more in")
    assert one.measured == one.reason.removeprefix("mlx5_0 of n1: ")


@pytest.mark.parametrize("reset_in", [1, 2])
def test_a_counter_that_was_reset_between_the_rounds_of_a_soak_is_no_pass(reset_in):
    """From the first reading to the last it only grew."""
    counts = [5, 20, 30, 40]
    counts[reset_in] = 2
    first, *readings = [reading(mlx5_3={"out_of_sequence": count}) for count in counts]
    steps = [CountedStep(one, f"in round {number}") for number, one in enumerate(readings, 1)]
    span = CountedSpan(first, readings[-1], 3.0, "the soak", steps=steps)
    message = unread(NodeCounters("n1", [span], NAMES), platform(ceiling=100))
    assert f"went back from {counts[reset_in - 1]} to 2" in message


def test_growth_in_time_that_was_not_all_measured_is_an_error_and_no_failure():
    after = reading(mlx5_3={"out_of_sequence": 9})
    message = unread(node(after, is_measured=False, when="an interrupted run"))
    assert "out_of_sequence by 4 in 0.50 h of an interrupted run, of which only a part" in message
    still = verdicts(node(reading(), is_measured=False))
    assert still[0][0].outcome is Outcome.PASSED


def test_each_span_has_the_limit_by_itself():
    middle, last = reading(mlx5_3={"out_of_sequence": 8}), reading(mlx5_3={"out_of_sequence": 8})
    spans = [CountedSpan(reading(), middle, 1.0, "an earlier run"), CountedSpan(middle, last, 1.0)]
    (one,), _ = verdicts(NodeCounters("n1", spans, NAMES))
    assert one.reason.endswith("out_of_sequence by 3 in 1.00 h of an earlier run")


def test_lost_time_is_reported_and_accepted():
    found, error = verdicts(replace(node(reading()), gap="what was counted in run-1 is lost"))
    assert [one.outcome for one in found] == [Outcome.PASSED, Outcome.MARGINAL]
    assert found[1].pointer == "/growth"
    assert (found[1].reason, error) == ("what was counted in run-1 is lost", None)


def test_a_gpu_has_the_counters_of_its_number_and_of_its_address():
    on = replace(H200, growth={"pcie_corrected": limit(3)})
    counts = {
        **{f"0000:0{i}:00.0": {"aer_dev_correctable": 1} for i in range(8)},
        **{f"mlx5_{i}": {"aer_dev_correctable": 1} for i in range(8)},
    }
    grown = counts | {"0000:03:00.0": {"aer_dev_correctable": 5}}
    (one,), error = verdicts(node(CounterReading("b", grown), CounterReading("b", counts)), on)
    assert (one.points_at, error) == ((("n1", "gpu3"),), None)


ROCE = Nic("mlx5_0", "MT4129", 400, 400, "Ethernet", 5, 16)


def roce(name, counters, more):
    on = replace(H200, nics=(ROCE,), growth={name: limit()})
    before, after = (
        CounterReading("b", {"mlx5_0": found})
        for found in (counters, {k: v + more.get(k, 0) for k, v in counters.items()})
    )
    return verdicts(node(after, before), on)


@pytest.mark.parametrize(
    ("group", "counter"),
    [
        ("pause_frames", "rx_prio3_pause"), ("pause_frames", "tx_global_pause"),
        ("priority_discards", "rx_prio5_discards"), ("priority_discards", "rx_discards_phy"),
    ],
)  # fmt: skip
def test_congestion_names_nic_and_priority(group, counter):
    still = {
        "rx_prio3_pause": 3,
        "tx_global_pause": 0,
        "rx_prio5_discards": 1,
        "rx_discards_phy": 1,
    }
    (one,), _ = roce(group, still, {counter: 2})
    assert one.reason == f"mlx5_0 of n1: {counter} by 2 in 0.50 h of the run"
    assert roce(group, still, {})[0][0].outcome is Outcome.PASSED


def test_a_group_without_needed_names_needs_one_that_matches():
    found, error = roce("priority_discards", {"rx_prio3_pause": 3}, {})
    assert not found
    assert "no counter of priority_discards of mlx5_0 was read" in str(error)

"""Which NICs carried the payload, from byte counters read before and after."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from testing.core_values import transcript
from testing.nic_counters import (
    GB,
    HCA,
    NETDEV_ERRORS,
    PORT_ERRORS,
    carried,
    hca,
    judgements,
    netdev,
    outcomes,
    reason,
    run,
    spec,
)

from railgauge.config.thresholds.model import Traffic
from railgauge.core.errors import FactMissing, MetricMissing
from railgauge.core.limits import Basis
from railgauge.core.model import Outcome
from railgauge.judging.traffic import Moved, moved, parse

BOTH = ("mlx5_0", "mlx5_1")


# --- reading ---


def test_infiniband_counts_words_of_four_bytes_and_ethernet_bytes():
    found = parse(hca(port_xmit_data=10, port_rcv_data=5) + netdev(tx_bytes=10, rx_bytes=5))
    assert (found["mlx5_0"].sent, found["mlx5_0"].received) == (40, 20)
    assert (found["eth1"].sent, found["eth1"].received) == (10, 5)


def test_error_counters_are_kept_apart_from_the_payload():
    found = parse(hca(symbol_error=3) + netdev(rx_dropped=4))
    assert found["mlx5_0"].error_counts == dict.fromkeys(PORT_ERRORS, 0) | {"symbol_error": 3}
    assert found["eth1"].error_counts == dict.fromkeys(NETDEV_ERRORS, 0) | {"rx_dropped": 4}


@pytest.mark.parametrize("root", ["", "/", "host/", "/mnt/host/"])
def test_the_root_of_the_host_may_be_anywhere(root):
    assert parse(root + HCA.format("mlx5_0", "port_xmit_data", 1))["mlx5_0"].sent == 4


def test_an_hca_and_its_network_device_of_the_same_name_are_counted_once():
    """Both may be named ibp3s0; the HCA's counters already include what IPoIB sends."""
    both = hca("ibp3s0", port_xmit_data=100) + netdev("ibp3s0", tx_bytes=60)
    assert parse(both)["ibp3s0"].sent == 400
    assert parse(netdev("ibp3s0", tx_bytes=60) + hca("ibp3s0", port_xmit_data=100)) == parse(both)


@pytest.mark.parametrize(
    "line",
    [
        "",
        ":",
        "sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data:",
        "sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data:-4",
        "sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data:4e9",
        "sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data:0x10",
        "sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data:1 2",
        "sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data:" + "9" * 5000,
        "sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data:\u0661\u0662",
        "sys/class/infiniband/mlx5_0/ports/2/counters/port_xmit_data:4",
        "sys/class/infiniband//ports/1/counters/port_xmit_data:4",
        "sys/class/infiniband/../../x/ports/1/counters/port_xmit_data:4",
        "xsys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data:4",
        "cat: sys/class/infiniband/mlx5_0/ports/1/counters/x: Invalid argument",
        "\x00\x1b[31msys/class",
    ],
)
def test_lines_that_are_no_counters_are_passed_over(line):
    good = hca("mlx5_1", port_xmit_data=1)
    assert set(parse(f"{line}\n{good}{line}\n")) == {"mlx5_1"}


@given(st.text())
def test_reading_never_fails(text):
    assert isinstance(parse(text), dict)


# --- what moved ---


def test_the_busier_way_of_each_nic_is_what_it_moved():
    before = hca(port_xmit_data=100, port_rcv_data=100)
    after = hca(port_xmit_data=150, port_rcv_data=1100)
    found = moved(run(before, after), "n1", ("mlx5_0",))
    assert (found.node, dict(found.nics), dict(found.error_counts)) == ("n1", {"mlx5_0": 4000}, {})


def test_nodes_are_distinguished():
    two = run(hca(), hca(port_xmit_data=1), "n1") + run(hca(), hca(port_xmit_data=2), "n2")
    found = {node: moved(two, node, ("mlx5_0",)).nics["mlx5_0"] for node in ("n1", "n2")}
    assert found == {"n1": 4, "n2": 8}


def test_nics_that_nobody_asked_for_are_left_out():
    found = moved(run(hca() + netdev(), hca() + netdev(tx_bytes=9)), "n1", ("mlx5_0",))
    assert set(found.nics) == {"mlx5_0"}


@pytest.mark.parametrize(
    ("before", "after"),
    [("", hca()), (hca(), ""), ("", ""), (hca("mlx5_1"), hca("mlx5_1")), ("garbage", "garbage")],
)
def test_counters_that_are_not_there_are_no_evidence(before, after):
    with pytest.raises(FactMissing, match="mlx5_0 could not be read") as caught:
        moved(run(before, after), "n1", ("mlx5_0",))
    assert caught.value.where == "n1"


def test_a_run_without_counters_is_no_evidence():
    with pytest.raises(FactMissing):
        moved([transcript()], "n1", ("mlx5_0",))
    with pytest.raises(FactMissing):
        moved(run(hca(), hca())[:2], "n1", ("mlx5_0",))
    with pytest.raises(FactMissing, match="n2: the counters of the NICs were not read"):
        moved(run(hca(), hca()), "n2", ("mlx5_0",))


# --- judging ---


@pytest.mark.parametrize(
    ("sent_gb", "good"),
    [(0, False), (8.9, False), (9, True), (10, True), (13, True), (13.1, False), (100, False)],
)
def test_the_share_of_the_payload_has_two_sides(sent_gb, good):
    judged = judgements(carried(mlx5_0=sent_gb), 10 * GB, spec(), ["mlx5_0"])
    assert (outcomes(judged)["traffic"] is Outcome.PASSED) is good
    if not good:
        assert "mlx5_0 of n1 carried" in reason(judged)
        assert judged[0].points_at == (("n1", "mlx5_0"),)


def test_a_share_that_several_nics_miss_together_points_at_none():
    judged = judgements(carried(mlx5_0=1, mlx5_1=1), 10 * GB, spec(), BOTH)
    assert reason(judged) == "mlx5_0, mlx5_1 of n1 carried 20% of the payload"
    assert judged[0].points_at == (("n1", ""),)


def test_without_a_carrier_nothing_was_carried():
    judged = judgements(carried(mlx5_0=10), 10 * GB, spec(spread=0.2), [])
    assert outcomes(judged) == {"traffic": Outcome.FAILED, "link_errors": Outcome.PASSED}


def test_gigabytes_are_exact():
    judged = judgements(carried(mlx5_0=1e9), 1e9 * GB, spec(), ["mlx5_0"])
    assert judged[0].measured == "n1: 100.0% of 1000000000 GB"
    assert (judged[0].limit, judged[1].limit) == ("90% to 130%", "no error, discard or drop")


def test_nics_carry_the_payload_together():
    judged = judgements(carried(mlx5_0=6, mlx5_1=4), 10 * GB, spec(), BOTH)
    assert outcomes(judged) == {"traffic": Outcome.PASSED, "link_errors": Outcome.PASSED}


@pytest.mark.parametrize(
    ("one", "other", "good"), [(6, 4, True), (6.1, 3.9, False), (10, 0, False)]
)
def test_a_spread_limits_the_distance_of_a_nic_from_the_mean(one, other, good):
    judged = judgements(carried(mlx5_0=one, mlx5_1=other), 10 * GB, spec(spread=0.2), BOTH)
    assert outcomes(judged)["traffic"] is Outcome.PASSED
    assert (outcomes(judged)["traffic_spread"] is Outcome.PASSED) is good
    if not good:
        assert "mlx5_1 of n1 carried" in reason(judged, "traffic_spread")


def test_nics_without_any_traffic_are_not_evenly_loaded():
    judged = judgements(carried(mlx5_0=0, mlx5_1=0), 10 * GB, spec(spread=0.2), BOTH)
    assert judged[1].outcome is Outcome.FAILED
    assert judged[1].measured == "n1: within 100.0% of the mean"
    assert judged[1].points_at == (("n1", "mlx5_0"), ("n1", "mlx5_1"))


def test_a_spread_names_the_nic_furthest_from_the_mean_and_the_bytes_of_each():
    three = (*BOTH, "mlx5_2")
    found = carried(mlx5_0=5.5, mlx5_1=5, mlx5_2=4.5)
    (judged,) = [
        one
        for one in judgements(found, 15 * GB, spec(spread=0.2), three)
        if one.metric == "traffic_spread"
    ]
    assert (judged.measured, judged.limit) == ("n1: within 10.0% of the mean", "within 20%")
    sent = (5_500_000_000, 5_000_000_000, 4_500_000_000)
    assert judged.carried == tuple(("n1", nic, by) for nic, by in zip(three, sent, strict=True))


def test_one_carrier_has_no_spread():
    judged = judgements(carried(mlx5_0=10), 10 * GB, spec(spread=0.2), ["mlx5_0"])
    assert "traffic_spread" not in outcomes(judged)


@pytest.mark.parametrize(
    ("stray_gb", "good"), [(0.0, True), (0.4, True), (0.5, True), (0.6, False), (10, False)]
)
def test_payload_on_another_nic_is_noticed(stray_gb, good):
    judged = judgements(carried(mlx5_0=10, mlx5_1=stray_gb), 10 * GB, spec(), ["mlx5_0"])
    assert (outcomes(judged)["traffic"] is Outcome.PASSED) is good
    if not good:
        assert "other NICs of n1 carried" in reason(judged)


def test_payload_that_took_another_path_is_noticed():
    judged = judgements(carried(mlx5_0=0, mlx5_1=10), 10 * GB, spec(), ["mlx5_0"])
    assert "carried 0%" in reason(judged)
    assert "other NICs of n1 carried 10 GB" in reason(judged)


@pytest.mark.parametrize("payload_bytes", [0.0, -1.0])
def test_no_payload_is_no_pass_and_no_fault_of_a_nic(payload_bytes):
    with pytest.raises(MetricMissing, match="no payload"):
        judgements(carried(mlx5_0=10), payload_bytes, spec(), ["mlx5_0"])


def test_the_smallest_payload_is_judged():
    found = Moved("n1", {"mlx5_0": 1}, {}, {})
    assert set(outcomes(judgements(found, 1.0, spec(), ["mlx5_0"])).values()) == {Outcome.PASSED}


@pytest.mark.parametrize("name", ["symbol_error", "link_downed"])
def test_an_error_counter_that_moved_fails_whatever_was_carried(name):
    after = hca(port_xmit_data=10 * GB // 4, **{name: 3})
    found = moved(run(hca(**{name: 1}), after), "n1", ("mlx5_0",))
    judged = judgements(found, 10 * GB, spec(), ["mlx5_0"])
    assert outcomes(judged)["traffic"] is Outcome.PASSED
    assert reason(judged, "link_errors") == f"mlx5_0 {name} of n1 grew by 2"


def test_old_errors_are_not_of_this_run():
    found = moved(run(hca(symbol_error=9), hca(symbol_error=9)), "n1", ("mlx5_0",))
    assert found.error_counts == {}


# --- packets that went into GPU memory (document 003, section 4) ---

TCPX = Traffic((0.4, 2.5), 0.05, Basis("003", "section 4"), 9078)
ETHS = ("eth1", "eth2")


def into_gpus(packets, dropped=0, received=128_930_000_000):
    """What both NICs received; the second received this many packets into GPU memory."""

    def counted(nic, count, drops):
        return netdev(
            nic, rx_bytes=count and received, rx_devmem_pkts=count, rx_devmem_dropped=drops
        )

    before = counted("eth1", 0, 0) + netdev("eth2", rx_devmem_pkts=7, rx_devmem_dropped=0)
    after = counted("eth1", 15_622_248, 0) + netdev(
        "eth2", rx_bytes=received, rx_devmem_pkts=7 + packets, rx_devmem_dropped=dropped
    )
    return judgements(moved(run(before, after), "n1", ETHS), 2 * received, TCPX, ETHS)


def test_the_document_s_packets_are_in_gpu_memory():
    judged = {one.metric: one for one in into_gpus(15_622_248)}
    assert all(one.outcome is Outcome.PASSED for one in judged.values())
    assert judged["devmem"].measured == "n1: up to 8253 bytes a packet into GPU memory"


@pytest.mark.parametrize("packets", [0, 7_800_000, 13_000_000])
def test_payload_past_gpu_memory_is_no_tcpx(packets):
    found = into_gpus(packets)
    assert f"eth2 of n1 received 128.9 GB, {packets} packets into GPU memory" in reason(
        found, "devmem"
    )
    (judged,) = [one for one in found if one.metric == "devmem"]
    assert judged.points_at == (("n1", "eth2"),)


def test_a_packet_that_was_dropped_before_gpu_memory_is_reported():
    assert (
        reason(into_gpus(15_622_248, 2), "link_errors") == "eth2 rx_devmem_dropped of n1 grew by 2"
    )


def test_a_nic_that_does_not_count_them_is_no_evidence():
    silent = run(netdev("eth1"), netdev("eth1", rx_bytes=GB))
    with pytest.raises(FactMissing, match="n1: no rx_devmem_pkts of eth1") as caught:
        judgements(moved(silent, "n1", ("eth1",)), GB, TCPX, ("eth1",))
    assert "install ethtool" in caught.value.remedy


def of_packets(payload, **devmem):
    """The judgement of NICs that received these bytes, and these packets into GPU memory."""
    limits = Traffic((0, 1), None, Basis("derived", "made up for a test"), 100)
    found = Moved("n1", dict.fromkeys(devmem, 0), {}, devmem)
    (judged,) = [
        one for one in judgements(found, payload, limits, list(devmem)) if one.metric == "devmem"
    ]
    return judged


@pytest.mark.parametrize(("received", "good"), [(1050, True), (1051, False), (949, True)])
def test_a_twentieth_of_a_nic_s_payload_may_be_other_traffic(received, good):
    """Of two NICs each has 1,000 of the 2,000 bytes, and 10 packets of at most 100."""
    judged = of_packets(2000, eth1=(received, 10), eth2=(1000, 10))
    assert (judged.outcome is Outcome.PASSED) is good
    assert judged.points_at == (() if good else (("n1", "eth1"),))


def test_the_largest_packets_are_reported():
    judged = of_packets(2000, eth1=(900, 10), eth2=(400, 10), eth3=(0, 0))
    assert judged.measured == "n1: up to 90 bytes a packet into GPU memory"
    assert judged.limit == "at most 100"
    none = of_packets(2000, eth1=(1000, 0))
    assert none.measured == "n1: up to 0 bytes a packet into GPU memory"
    assert none.outcome is Outcome.FAILED

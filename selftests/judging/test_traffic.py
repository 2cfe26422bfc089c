"""Which NICs carried the payload, from byte counters read before and after."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from testing.core_values import transcript

from railgauge.config.thresholds.model import Traffic
from railgauge.core.errors import FactMissing, MetricMissing
from railgauge.core.limits import Basis
from railgauge.core.model import Outcome
from railgauge.core.terms import Role
from railgauge.judging.traffic import judge_traffic, moved, parse, probe_argv

GB = 10**9
HCA = "sys/class/infiniband/{}/ports/1/counters/{}:{}\n"
NET = "sys/class/net/{}/statistics/{}:{}\n"
BOTH = ("mlx5_0", "mlx5_1")


def spec(least=0.9, most=1.3, spread=None):
    return Traffic((least, most), spread, Basis("derived", "made up for a test"))


def hca(name="mlx5_0", **counters):
    """Counters of an HCA in the kernel's unit: words of four bytes."""
    plain = {"port_xmit_data": 0, "port_rcv_data": 0, "symbol_error": 0, "link_downed": 0}
    return "".join(HCA.format(name, key, value) for key, value in (plain | counters).items())


def netdev(name="eth1", **counters):
    plain = {"tx_bytes": 0, "rx_bytes": 0, "rx_dropped": 0}
    return "".join(NET.format(name, key, value) for key, value in (plain | counters).items())


def run(before, after, node="n1"):
    return [
        transcript(node),
        transcript(node, role=Role.COUNTERS_BEFORE, stdout=before),
        transcript(node, role=Role.COUNTERS_AFTER, stdout=after),
    ]


def carried(**sent_gb):
    """A run in which each NIC sent this many gigabytes."""
    words = {name: int(gb * GB / 4) for name, gb in sent_gb.items()}
    before = "".join(hca(name, port_xmit_data=7) for name in words)
    after = "".join(hca(name, port_xmit_data=7 + count) for name, count in words.items())
    return moved(run(before, after), tuple(words))


def outcomes(judgements):
    return {judged.metric: judged.outcome for judged in judgements}


def reason(judgements, metric="traffic"):
    (judged,) = [one for one in judgements if one.metric == metric]
    assert judged.outcome is Outcome.FAILED
    return judged.reason


# --- reading ---


def test_infiniband_counts_words_of_four_bytes_and_ethernet_bytes():
    found = parse(hca(port_xmit_data=10, port_rcv_data=5) + netdev(tx_bytes=10, rx_bytes=5))
    assert (found["mlx5_0"].sent, found["mlx5_0"].received) == (40, 20)
    assert (found["eth1"].sent, found["eth1"].received) == (10, 5)


def test_what_should_stand_still_is_kept_apart_from_the_payload():
    found = parse(hca(symbol_error=3) + netdev(rx_dropped=4))
    assert found["mlx5_0"].error_counts == {"symbol_error": 3, "link_downed": 0}
    assert found["eth1"].error_counts == {"rx_dropped": 4}


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


def test_the_probe_prints_what_the_reader_reads(tmp_path):
    for text in (hca(port_xmit_data=25, link_downed=2), netdev("e th", tx_bytes=9)):
        for line in text.splitlines():
            path, _, value = line.rpartition(":")
            target = tmp_path / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(f"{value}\n")
    (tmp_path / "sys/class/net/e th/statistics/multicast").write_text("77\n")
    said = subprocess.run(
        probe_argv(str(tmp_path)), capture_output=True, text=True, timeout=10, check=True
    )
    assert "multicast" not in said.stdout
    found = parse(said.stdout)
    assert found["mlx5_0"].sent == 100
    assert found["mlx5_0"].error_counts == {"symbol_error": 0, "link_downed": 2}
    assert found["e th"].sent == 9


@pytest.mark.parametrize(
    "name", ["packet_seq_err", "out_of_sequence", "local_ack_timeout_err", "implied_nak_seq_err"]
)
def test_what_an_hca_had_to_send_again_is_read_and_judged(tmp_path, name):
    """Document 000, 3.2: show_counters lists them, and all are 0 where the link is good."""
    port = tmp_path / "sys/class/infiniband/mlx5_0/ports/1"
    for path, count in {"counters/port_xmit_data": GB, f"hw_counters/{name}": 4}.items():
        (port / path).parent.mkdir(parents=True, exist_ok=True)
        (port / path).write_text(f"{count}\n")
    argv = probe_argv(str(tmp_path))
    after = subprocess.run(argv, capture_output=True, text=True, timeout=10, check=True).stdout
    before = hca() + after.replace(":4\n", ":1\n").replace(f":{GB}\n", ":0\n")
    judged = judge_traffic(moved(run(before, after), ("mlx5_0",)), 4 * GB, spec(), ("mlx5_0",))
    assert reason(judged, "link_errors") == f"mlx5_0 {name} of n1 grew by 3"


# --- what moved ---


def test_the_busier_way_of_each_nic_is_what_it_moved():
    before = hca(port_xmit_data=100, port_rcv_data=100)
    after = hca(port_xmit_data=150, port_rcv_data=1100)
    (found,) = moved(run(before, after), ("mlx5_0",))
    assert (found.node, dict(found.nics), dict(found.error_counts)) == ("n1", {"mlx5_0": 4000}, {})


def test_every_node_is_told_apart():
    two = run(hca(), hca(port_xmit_data=1), "n1") + run(hca(), hca(port_xmit_data=2), "n2")
    found = {one.node: one.nics["mlx5_0"] for one in moved(two, ("mlx5_0",))}
    assert found == {"n1": 4, "n2": 8}


def test_nics_that_nobody_asked_for_are_left_out():
    (found,) = moved(run(hca() + netdev(), hca() + netdev(tx_bytes=9)), ("mlx5_0",))
    assert set(found.nics) == {"mlx5_0"}


@pytest.mark.parametrize(
    ("before", "after"),
    [("", hca()), (hca(), ""), ("", ""), (hca("mlx5_1"), hca("mlx5_1")), ("garbage", "garbage")],
)
def test_counters_that_are_not_there_are_no_evidence(before, after):
    with pytest.raises(FactMissing, match="mlx5_0 could not be read") as caught:
        moved(run(before, after), ("mlx5_0",))
    assert caught.value.where == "n1"


def test_a_run_without_counters_is_no_evidence():
    with pytest.raises(FactMissing):
        moved([transcript()], ("mlx5_0",))
    with pytest.raises(FactMissing):
        moved(run(hca(), hca())[:2], ("mlx5_0",))


@pytest.mark.parametrize("name", ["port_xmit_data", "port_rcv_data", "symbol_error"])
def test_counters_that_run_backwards_were_reset_and_are_no_evidence(name):
    after = {"port_xmit_data": GB, "port_rcv_data": GB, name: 4}
    with pytest.raises(FactMissing, match="reset"):
        moved(run(hca(**{name: 5}), hca(**after)), ("mlx5_0",))


# --- judging ---


@pytest.mark.parametrize(
    ("sent_gb", "good"),
    [(0, False), (8.9, False), (9, True), (10, True), (13, True), (13.1, False), (100, False)],
)
def test_the_share_of_the_payload_has_two_sides(sent_gb, good):
    judged = judge_traffic(carried(mlx5_0=sent_gb), 10 * GB, spec(), ["mlx5_0"])
    assert (outcomes(judged)["traffic"] is Outcome.PASSED) is good
    if not good:
        assert "mlx5_0 of n1 carried" in reason(judged)


def test_nics_carry_the_payload_together():
    judged = judge_traffic(carried(mlx5_0=6, mlx5_1=4), 10 * GB, spec(), BOTH)
    assert outcomes(judged) == {"traffic": Outcome.PASSED, "link_errors": Outcome.PASSED}


@pytest.mark.parametrize(
    ("one", "other", "good"), [(6, 4, True), (6.1, 3.9, False), (10, 0, False)]
)
def test_a_spread_says_how_far_from_the_mean_one_nic_may_be(one, other, good):
    judged = judge_traffic(carried(mlx5_0=one, mlx5_1=other), 10 * GB, spec(spread=0.2), BOTH)
    assert outcomes(judged)["traffic"] is Outcome.PASSED
    assert (outcomes(judged)["traffic_spread"] is Outcome.PASSED) is good
    if not good:
        assert "mlx5_1 of n1 carried" in reason(judged, "traffic_spread")


def test_nics_that_all_stood_still_are_not_evenly_loaded():
    judged = judge_traffic(carried(mlx5_0=0, mlx5_1=0), 10 * GB, spec(spread=0.2), BOTH)
    assert outcomes(judged)["traffic_spread"] is Outcome.FAILED


def test_one_carrier_has_no_spread():
    judged = judge_traffic(carried(mlx5_0=10), 10 * GB, spec(spread=0.2), ["mlx5_0"])
    assert "traffic_spread" not in outcomes(judged)


@pytest.mark.parametrize(
    ("stray_gb", "good"), [(0.0, True), (0.4, True), (0.6, False), (10, False)]
)
def test_payload_on_another_nic_is_noticed(stray_gb, good):
    judged = judge_traffic(carried(mlx5_0=10, mlx5_1=stray_gb), 10 * GB, spec(), ["mlx5_0"])
    assert (outcomes(judged)["traffic"] is Outcome.PASSED) is good
    if not good:
        assert "other NICs of n1 carried" in reason(judged)


def test_payload_that_took_another_way_altogether():
    judged = judge_traffic(carried(mlx5_0=0, mlx5_1=10), 10 * GB, spec(), ["mlx5_0"])
    assert "carried 0%" in reason(judged)
    assert "other NICs of n1 carried 10 GB" in reason(judged)


def test_no_payload_is_no_pass_and_no_fault_of_a_nic():
    with pytest.raises(MetricMissing, match="no payload"):
        judge_traffic(carried(mlx5_0=10), 0.0, spec(), ["mlx5_0"])


@pytest.mark.parametrize("name", ["symbol_error", "link_downed"])
def test_an_error_counter_that_moved_fails_whatever_was_carried(name):
    after = hca(port_xmit_data=10 * GB // 4, **{name: 3})
    (found,) = moved(run(hca(**{name: 1}), after), ("mlx5_0",))
    judged = judge_traffic([found], 10 * GB, spec(), ["mlx5_0"])
    assert outcomes(judged)["traffic"] is Outcome.PASSED
    assert reason(judged, "link_errors") == f"mlx5_0 {name} of n1 grew by 2"


def test_old_errors_are_not_of_this_run():
    (found,) = moved(run(hca(symbol_error=9), hca(symbol_error=9)), ("mlx5_0",))
    assert found.error_counts == {}


def test_every_node_is_judged():
    two = run(hca(), hca(port_xmit_data=10 * GB // 4), "n1") + run(hca(), hca(), "n2")
    judged = judge_traffic(moved(two, ("mlx5_0",)), 10 * GB, spec(), ["mlx5_0"])
    by_node = {(one.measured.split(":")[0], one.metric): one.outcome for one in judged}
    assert by_node["n1", "traffic"] is Outcome.PASSED
    assert by_node["n2", "traffic"] is Outcome.FAILED
    assert all("made up for a test" in one.basis for one in judged)


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
    return judge_traffic(moved(run(before, after), ETHS), 2 * received, TCPX, ETHS)


def test_the_document_s_packets_are_in_gpu_memory():
    judged = {one.metric: one for one in into_gpus(15_622_248)}
    assert all(one.outcome is Outcome.PASSED for one in judged.values())
    assert judged["devmem"].measured == "n1: up to 8253 bytes a packet into GPU memory"


@pytest.mark.parametrize("packets", [0, 7_800_000, 13_000_000])
def test_payload_past_gpu_memory_is_no_tcpx(packets):
    found = into_gpus(packets)
    assert f"eth2 of n1 received 128.93 GB, {packets} packets into GPU memory" in reason(
        found, "devmem"
    )
    (judged,) = [one for one in found if one.metric == "devmem"]
    assert judged.points_at == (("n1", "eth2"),)


def test_a_packet_that_was_dropped_before_gpu_memory_is_told():
    assert (
        reason(into_gpus(15_622_248, 2), "link_errors") == "eth2 rx_devmem_dropped of n1 grew by 2"
    )


def test_a_nic_that_does_not_count_them_is_no_evidence():
    silent = run(netdev("eth1"), netdev("eth1", rx_bytes=GB))
    with pytest.raises(FactMissing, match="n1: no rx_devmem_pkts of eth1"):
        judge_traffic(moved(silent, ("eth1",)), GB, TCPX, ("eth1",))


def test_the_probe_asks_ethtool_for_these_only_where_they_are_wanted(tmp_path):
    tool = tmp_path / "bin" / "ethtool"
    tool.parent.mkdir()
    tool.write_text(
        "#!/bin/sh\necho NIC statistics:\necho '     rx_devmem_pkts: 32229881'\n"
        "echo '     rx_devmem_dropped: 0'\necho '     rx_bytes: 5'\n"
    )
    tool.chmod(0o755)
    path = f"{tool.parent}:/usr/bin:/bin"
    said = {
        nics: subprocess.run(
            probe_argv(str(tmp_path), nics),
            capture_output=True, text=True, timeout=10, check=True, env={"PATH": path},
        ).stdout
        for nics in ((), ETHS)
    }  # fmt: skip
    assert said[()] == ""
    found = parse(said[ETHS])
    assert {nic: (one.devmem, one.received) for nic, one in found.items()} == {
        "eth1": (32229881, 0),
        "eth2": (32229881, 0),
    }
    assert found["eth1"].error_counts == {"rx_devmem_dropped": 0}

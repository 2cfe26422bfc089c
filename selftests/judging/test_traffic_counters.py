"""The NICs' counters: what the probe asks for, and what grew between two readings."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from testing.core_values import document
from testing.nic_counters import (
    GB,
    HCA,
    NET,
    NETDEV_ERRORS,
    PORT_ERRORS,
    hca,
    judgements,
    netdev,
    outcomes,
    reason,
    run,
    spec,
)

from railgauge.config import thresholds
from railgauge.core.errors import FactMissing
from railgauge.core.model import Command, Outcome
from railgauge.judging.traffic import moved, parse, probe_argv, probes

PORT, NETDEV = "sys/class/infiniband/mlx5_0/ports/1", "sys/class/net/eth1"
STANDING_STILL = {
    "mlx5_0": (
        "counters/symbol_error",
        "counters/link_error_recovery",
        "counters/link_downed",
        "counters/port_rcv_errors",
        "counters/port_xmit_discards",
        "counters/excessive_buffer_overrun_errors",
        "counters/local_link_integrity_errors",
        "hw_counters/packet_seq_err",
        "hw_counters/out_of_sequence",
        "hw_counters/implied_nak_seq_err",
        "hw_counters/local_ack_timeout_err",
        "hw_counters/req_transport_retries_exceeded",
        "hw_counters/roce_adp_retrans",
        "hw_counters/roce_adp_retrans_to",
    ),
    "eth1": (
        "statistics/rx_dropped",
        "statistics/tx_dropped",
        "statistics/rx_errors",
        "statistics/tx_errors",
    ),
}
DATA = {
    "mlx5_0": ("counters/port_xmit_data", "counters/port_rcv_data"),
    "eth1": ("statistics/tx_bytes", "statistics/rx_bytes"),
}
NETDEVS = ("eth1", "eth2")


# --- the probe ---


def test_the_probe_prints_what_the_reader_reads(tmp_path):
    for text in (hca(port_xmit_data=25, link_downed=2), netdev("e th", tx_bytes=9)):
        for line in text.splitlines():
            path, _, value = line.rpartition(":")
            target = tmp_path / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(f"{value}\n")
    (tmp_path / "sys/class/net/e th/statistics/multicast").write_text("77\n")
    done = subprocess.run(
        probe_argv(str(tmp_path)), capture_output=True, text=True, timeout=10, check=True
    )
    assert "multicast" not in done.stdout
    found = parse(done.stdout)
    assert found["mlx5_0"].sent == 100
    assert found["mlx5_0"].error_counts == dict.fromkeys(PORT_ERRORS, 0) | {"link_downed": 2}
    assert found["e th"].sent == 9


def probed(root, count):
    """The output of the probe where all that should stand still has this count."""
    for nic, folder in (("mlx5_0", PORT), ("eth1", NETDEV)):
        for name in (*STANDING_STILL[nic], *DATA[nic]):
            (root / folder / name).parent.mkdir(parents=True, exist_ok=True)
            (root / folder / name).write_text(f"{count if name in STANDING_STILL[nic] else 0}\n")
    argv = probe_argv(str(root))
    return subprocess.run(argv, capture_output=True, text=True, timeout=10, check=True).stdout


def test_retransmissions_of_an_hca_are_read_and_judged(tmp_path):
    """Document 000, 3.2: show_counters lists them, and all are 0 where the link is good."""
    texts = (probed(tmp_path, 1), probed(tmp_path, 4))
    found = moved(run(*texts), "n1", tuple(STANDING_STILL))
    judged = judgements(found, GB, spec(), tuple(STANDING_STILL))
    reasons = [
        f"{nic} {name.partition('/')[2]} of n1 grew by 3"
        for nic, names in STANDING_STILL.items()
        for name in names
    ]
    assert sorted(reason(judged, "link_errors").split("; ")) == sorted(reasons)
    assert judged[-1].points_at == (("n1", "mlx5_0"), ("n1", "eth1"))


def test_the_probe_asks_ethtool_for_these_only_where_they_are_wanted(tmp_path):
    (tmp_path / "sys/class").mkdir(parents=True)
    tool = tmp_path / "bin" / "ethtool"
    tool.parent.mkdir()
    tool.write_text(
        "#!/bin/sh\necho NIC statistics:\necho '     rx_devmem_pkts: 32229881'\n"
        "echo '     rx_devmem_dropped: 0'\necho '     rx_bytes: 5'\n"
    )
    tool.chmod(0o755)
    path = f"{tool.parent}:/usr/bin:/bin"
    outputs = {
        nics: subprocess.run(
            probe_argv(str(tmp_path), nics),
            capture_output=True, text=True, timeout=10, check=True, env={"PATH": path},
        ).stdout
        for nics in ((), NETDEVS)
    }  # fmt: skip
    assert outputs[()] == ""
    found = parse(outputs[NETDEVS])
    assert {nic: (one.devmem, one.received) for nic, one in found.items()} == {
        "eth1": (32229881, 0),
        "eth2": (32229881, 0),
    }
    assert found["eth1"].error_counts == {"rx_devmem_dropped": 0}


def test_every_node_is_probed_where_traffic_is_judged():
    platform = thresholds.load_file(Path("bench.json"), json.dumps(document()))
    tcpx = replace(spec(), devmem_packet=9078)
    for asked, netdevs in ((spec(), []), (tcpx, [nic.name for nic in platform.fabric_nics])):
        argv = probe_argv("/host", netdevs)
        assert argv[3:] == ("railgauge", "/host", *netdevs)
        wanted = [Command(node, argv, {"LC_ALL": "C"}, plain=True) for node in ("n1", "n2")]
        assert probes(["n1", "n2"], "/host", asked, platform) == tuple(wanted)
    assert probes(["n1", "n2"], "/host", None, platform) == ()


# --- two readings ---


@pytest.mark.parametrize("name", ["port_xmit_data", "port_rcv_data", "symbol_error"])
def test_counters_that_run_backwards_were_reset_and_are_no_evidence(name):
    after = {"port_xmit_data": GB, "port_rcv_data": GB, name: 4}
    with pytest.raises(FactMissing, match="reset") as caught:
        moved(run(hca(**{name: 5}), hca(**after)), "n1", ("mlx5_0",))
    assert caught.value.where == "n1"


def test_packets_into_gpu_memory_that_run_backwards_were_reset_too():
    """A driver that was loaded again is no TCPX that went past GPU memory."""
    before, after = netdev(rx_devmem_pkts=5), netdev(rx_bytes=GB, rx_devmem_pkts=4)
    with pytest.raises(FactMissing, match="the counters of eth1 were reset"):
        moved(run(before, after), "n1", ("eth1",))


@pytest.mark.parametrize(
    ("form", "nic", "name"),
    [
        (HCA, "mlx5_0", "local_link_integrity_errors"),
        (HCA, "mlx5_0", "port_rcv_packets"),
        (NET, "eth1", "rx_devmem_pkts"),
        (NET, "eth1", "rx_devmem_dropped"),
    ],
)
@pytest.mark.parametrize("is_after", [False, True])
def test_a_counter_of_only_one_reading_shows_no_growth(form, nic, name, is_after):
    """Read before alone, its growth is unseen; read after alone, its count is that since boot."""
    plain = hca() + netdev()
    shown = plain + form.format(nic, name, 15_622_248)
    texts = (plain, shown) if is_after else (shown, plain)
    with pytest.raises(FactMissing) as caught:
        moved(run(*texts), "n1", ("mlx5_0", "eth1"))
    assert caught.value.what == f"only one of two readings shows {name} of {nic}"
    assert caught.value.where == "n1"


def test_all_counters_of_only_one_reading_are_listed():
    more = ("port_xmit_discards", "local_link_integrity_errors")
    plain, added = hca(), "".join(HCA.format("mlx5_0", name, 0) for name in more)
    message = "shows local_link_integrity_errors, port_xmit_discards of mlx5_0"
    with pytest.raises(FactMissing, match=message):
        moved(run(plain, plain + added), "n1", ("mlx5_0",))


# --- counters that can show nothing ---


@pytest.mark.parametrize(
    ("name", "highest"),
    [
        ("symbol_error", 65535),
        ("port_rcv_errors", 65535),
        ("port_xmit_discards", 65535),
        ("link_downed", 255),
        ("link_error_recovery", 255),
        ("excessive_buffer_overrun_errors", 15),
        ("local_link_integrity_errors", 15),
    ],
)
def test_an_error_counter_at_its_highest_value_cannot_grow_and_is_no_evidence(name, highest):
    full = hca(**{name: highest})
    with pytest.raises(FactMissing, match=f"mlx5_0 {name} stood at the highest value") as caught:
        judged_of(full, full)
    assert caught.value.where == "n1"
    assert "perfquery -R" in caught.value.remedy
    below = hca(**{name: highest - 1})
    assert set(outcomes(judged_of(below, below)).values()) == {Outcome.PASSED}
    assert "grew by 1" in reason(judged_of(below, full), "link_errors")


def test_another_counter_that_grew_fails_beside_one_that_cannot():
    before, after = (hca(link_downed=255, symbol_error=n) for n in (1, 3))
    assert reason(judged_of(before, after), "link_errors") == "mlx5_0 symbol_error of n1 grew by 2"


def judged_of(before, after):
    """Judge two readings between which a payload of 1 GB was sent over mlx5_0."""
    sent = HCA.format("mlx5_0", "port_xmit_data", GB // 4)
    return judgements(moved(run(before, after + sent), "n1", ("mlx5_0",)), GB, spec(), ["mlx5_0"])


@pytest.mark.parametrize(
    ("nic", "form", "whole", "name"),
    [
        *(
            ("mlx5_0", HCA, hca(), name)
            for name in ("port_xmit_data", "port_rcv_data", *PORT_ERRORS)
        ),
        *(("eth1", NET, netdev(), name) for name in ("tx_bytes", "rx_bytes", *NETDEV_ERRORS)),
    ],
)
def test_a_nic_that_lacks_a_counter_which_every_nic_has_is_no_evidence(nic, form, whole, name):
    """The kernel prints "N/A (no PMA)" where a driver has no counters of a port."""
    silent = whole.replace(form.format(nic, name, 0), form.format(nic, name, "N/A (no PMA)"))
    assert silent != whole
    with pytest.raises(FactMissing, match=f"n1: no {name} of {nic} was read"):
        moved(run(silent, silent), "n1", (nic,))


def test_a_nic_with_other_counters_alone_is_no_evidence():
    resent = HCA.format("bnxt_re0", "local_ack_timeout_err", 0)
    with pytest.raises(FactMissing, match=r"no port_xmit_data, port_rcv_data, .* of bnxt_re0"):
        moved(run(resent, resent), "n1", ("bnxt_re0",))


@pytest.mark.parametrize("name", ["port_xmit_data", "port_rcv_data"])
def test_a_data_counter_of_32_bits_that_has_stopped_is_no_evidence(name):
    highest = 2**32 - 1
    for before, after in ((highest, highest), (5, highest)):
        texts = (hca(**{name: count}) for count in (before, after))
        with pytest.raises(
            FactMissing, match=f"n1: {name} of mlx5_0 stands at {highest}"
        ) as caught:
            moved(run(*texts), "n1", ("mlx5_0",))
        assert "perfquery -R" in caught.value.remedy
    texts = (hca(**{name: count}) for count in (highest, highest + 10))
    assert moved(run(*texts), "n1", ("mlx5_0",)).nics == {"mlx5_0": 40}


def test_where_every_counter_grew_the_errors_fail():
    """None stood still: that is no sign of a reset."""
    before, after = (hca(**dict.fromkeys(PORT_ERRORS, n), port_rcv_data=n) for n in (1, 2))
    judged = judged_of(before, after)
    assert reason(judged, "link_errors").count("grew by 1") == len(PORT_ERRORS)


def test_the_highest_value_of_a_data_counter_is_that_of_no_other():
    before, after = (hca(symbol_error=2**32 - 1 - n) for n in (1, 0))
    assert reason(judged_of(before, after), "link_errors").endswith("symbol_error of n1 grew by 1")


# What the drivers EFA, irdma and bnxt_re have under hw_counters, and nothing under counters.
ELSEWHERE = {
    "rdmap0s31": ("tx_bytes", "rx_bytes", "rx_drops", "rdma_write_bytes", "retrans_pkts"),
    "irdma0": ("ip4InOctets", "ip4OutOctets", "ip6InOctets", "ip4InDiscards", "RxUDP"),
    "bnxt_re0": ("rx_bytes", "tx_bytes", "rx_roce_errors", "to_retransmits"),
    "bnxt_re1": ("rx_bytes", "tx_bytes", "packet_seq_err", "local_ack_timeout_err"),
}


@pytest.mark.parametrize("nic", ELSEWHERE)
def test_a_driver_that_counts_elsewhere_is_an_error_with_a_remedy(tmp_path, nic):
    """What its counters mean nobody has recorded: no payload is judged by them."""
    folder = tmp_path / f"sys/class/infiniband/{nic}/ports/1/hw_counters"
    folder.mkdir(parents=True)
    for name in ELSEWHERE[nic]:
        (folder / name).write_text("5\n")
    argv = probe_argv(str(tmp_path))
    output = subprocess.run(argv, capture_output=True, text=True, timeout=10, check=True).stdout
    with pytest.raises(FactMissing, match=f"of {nic} ") as caught:
        moved(run(output, output), "n1", (nic,))
    counters = f"/sys/class/infiniband/{nic}/ports/1/counters"
    for word in (counters, "railgauge docs telemetry", "'traffic'"):
        assert word in str(caught.value)

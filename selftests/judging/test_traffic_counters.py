"""The NICs' counters: what the probe asks for, and what grew between two readings."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from testing.core_values import document
from testing.nic_counters import GB, HCA, NET, hca, netdev, reason, run, spec

from railgauge.config import thresholds
from railgauge.core.errors import FactMissing
from railgauge.core.model import Command
from railgauge.judging.traffic import judge_traffic, moved, parse, probe_argv, probes

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
    said = subprocess.run(
        probe_argv(str(tmp_path)), capture_output=True, text=True, timeout=10, check=True
    )
    assert "multicast" not in said.stdout
    found = parse(said.stdout)
    assert found["mlx5_0"].sent == 100
    assert found["mlx5_0"].error_counts == {"symbol_error": 0, "link_downed": 2}
    assert found["e th"].sent == 9


def probed(root, count):
    """The output of the probe where all that should stand still has this count."""
    for nic, folder in (("mlx5_0", PORT), ("eth1", NETDEV)):
        for name in STANDING_STILL[nic]:
            (root / folder / name).parent.mkdir(parents=True, exist_ok=True)
            (root / folder / name).write_text(f"{count}\n")
    argv = probe_argv(str(root))
    return subprocess.run(argv, capture_output=True, text=True, timeout=10, check=True).stdout


def test_what_an_hca_had_to_send_again_is_read_and_judged(tmp_path):
    """Document 000, 3.2: show_counters lists them, and all are 0 where the link is good."""
    found = moved(run(probed(tmp_path, 1), probed(tmp_path, 4)), tuple(STANDING_STILL))
    judged = judge_traffic(found, GB, spec(), tuple(STANDING_STILL))
    told = [
        f"{nic} {name.partition('/')[2]} of n1 grew by 3"
        for nic, names in STANDING_STILL.items()
        for name in names
    ]
    assert sorted(reason(judged, "link_errors").split("; ")) == sorted(told)
    assert judged[-1].points_at == (("n1", "mlx5_0"), ("n1", "eth1"))


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
        for nics in ((), NETDEVS)
    }  # fmt: skip
    assert said[()] == ""
    found = parse(said[NETDEVS])
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
        moved(run(hca(**{name: 5}), hca(**after)), ("mlx5_0",))
    assert caught.value.where == "n1"


def test_packets_into_gpu_memory_that_run_backwards_were_reset_too():
    """A driver that was loaded again is no TCPX that went past GPU memory."""
    before, after = netdev(rx_devmem_pkts=5), netdev(rx_bytes=GB, rx_devmem_pkts=4)
    with pytest.raises(FactMissing, match="the counters of eth1 were reset"):
        moved(run(before, after), ("eth1",))


@pytest.mark.parametrize(
    ("form", "nic", "name"),
    [
        (HCA, "mlx5_0", "port_rcv_errors"),
        (HCA, "mlx5_0", "port_rcv_packets"),
        (NET, "eth1", "rx_devmem_pkts"),
        (NET, "eth1", "tx_errors"),
    ],
)
@pytest.mark.parametrize("is_after", [False, True])
def test_a_counter_of_only_one_reading_shows_no_growth(form, nic, name, is_after):
    """Read before alone, its growth is unseen; read after alone, its count is that since boot."""
    plain = hca() + netdev()
    shown = plain + form.format(nic, name, 15_622_248)
    texts = (plain, shown) if is_after else (shown, plain)
    with pytest.raises(FactMissing) as caught:
        moved(run(*texts), ("mlx5_0", "eth1"))
    assert caught.value.what == f"only one of two readings shows {name} of {nic}"
    assert caught.value.where == "n1"


def test_all_counters_of_only_one_reading_are_told():
    added = "".join(HCA.format("mlx5_0", name, 0) for name in ("symbol_error", "port_rcv_errors"))
    plain = HCA.format("mlx5_0", "port_xmit_data", 0)
    with pytest.raises(FactMissing, match="shows port_rcv_errors, symbol_error of mlx5_0"):
        moved(run(plain, plain + added), ("mlx5_0",))

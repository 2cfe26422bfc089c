"""Counters of RoCE NICs as they were recorded: mlx5's hw_counters and ethtool -S, by the reader.

No output of Broadcom's driver with these counters is public; its names (bnxt_re, hw_counters.c) are
not those of a group, so that they are an error and never a zero.
"""

import re
import shutil
import subprocess
from dataclasses import replace

import pytest
from testing.places import ROOT, SHARED

from railgauge.config import thresholds
from railgauge.config.thresholds.counter_groups import GROUPS
from railgauge.config.thresholds.model import GrowthLimit, Nic
from railgauge.core.limits import Basis
from railgauge.core.model import Outcome
from railgauge.facts.counters import parse_reading, reading_argv
from railgauge.judging.growth import CountedSpan, NodeCounters, judged

LOADED = thresholds.load("h200", ROOT / "thresholds")
BOOT = "c7d8b893-3f62-4444-9b87-401c6634199b"
# hw_counters of a bond of two ConnectX ports in a storage cluster (show_counters of a public page).
BOND = {
    "duplicate_request": 0, "implied_nak_seq_err": 0, "lifespan": 10, "local_ack_timeout_err": 0,
    "np_cnp_sent": 1052612505, "np_ecn_marked_roce_packets": 21278189006, "out_of_buffer": 0,
    "out_of_sequence": 1811101, "packet_seq_err": 0, "req_cqe_error": 0,
    "resp_cqe_error": 3293504, "resp_cqe_flush_error": 3211234, "rnr_nak_retry_err": 0,
    "roce_adp_retrans": 0, "roce_adp_retrans_to": 0, "roce_slow_restart": 0, "rp_cnp_handled": 0,
    "rp_cnp_ignored": 0, "rx_icrc_encapsulated": 0, "rx_write_requests": 2402134794,
}  # fmt: skip
# ethtool -S of a ConnectX-4 Lx at 25 Gb/s with global pause (a public page).
GLOBAL_PAUSE = {
    "rx_out_of_buffer": 0, "rx_steer_missed_packets": 24627, "rx_discards_phy": 0,
    "tx_discards_phy": 0, "rx_buffer_passed_thres_phy": 0, "rx_prio0_discards": 0,
    "rx_prio7_discards": 0, "tx_mac_control_phy": 1266552, "rx_pause_ctrl_phy": 0,
    "tx_pause_ctrl_phy": 1266552, "tx_pci_signal_integrity": 3, "rx_global_pause": 0,
    "rx_global_pause_duration": 0, "tx_global_pause": 1266552,
    "tx_global_pause_duration": 555665182, "tx_pause_storm_warning_events": 0,
}  # fmt: skip
# The names in Linux, drivers/infiniband/hw/bnxt_re/hw_counters.c and bnxt_ethtool.c.
BROADCOM = {"to_retransmits": 5, "seq_err_naks_rcvd": 7, "rnr_naks_rcvd": 0, "rx_roce_discards": 3}
BROADCOM_PFC = {"rx_pfc_ena_frames_pri3": 9, "tx_pfc_ena_frames_pri3": 0, "rx_stat_discard": 4}


@pytest.fixture
def read(tmp_path):
    """Reads a node with one RDMA NIC; counters of its port, and the text of its ethtool."""

    def reading(port, ethtool="", nic="mlx5_0"):
        shutil.rmtree(tmp_path, ignore_errors=True)
        files = {
            "root/proc/sys/kernel/random/boot_id": BOOT,
            f"root/sys/class/infiniband/{nic}/device/net/net0/mtu": "4200",
            "text": ethtool.rstrip("\n"),
            "bin/ethtool": f'#!/bin/sh\n[ "$*" = "-S net0" ] && cat {tmp_path}/text',
        }
        folder = f"root/sys/class/infiniband/{nic}/ports/1/hw_counters"
        for path, text in {**files, **{f"{folder}/{k}": str(v) for k, v in port.items()}}.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(f"{text}\n")
        (tmp_path / "bin/ethtool").chmod(0o755)
        argv = reading_argv(str(tmp_path / "root"), None, [nic], [str(tmp_path / "bin")])
        message = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=True)
        return parse_reading(message.stdout, None)

    return reading


def listing(counters):
    return "NIC statistics:\n" + "".join(f"     {k}: {v}\n" for k, v in counters.items())


def recorded(path):
    if not (SHARED / path).exists():
        pytest.skip("the recordings are not here")
    return (SHARED / path).read_text(encoding="utf-8")


def grouped(reading, group, nic="mlx5_0"):
    return {k: v for k, v in reading.of(nic).items() if GROUPS[group].has(k)}


def outcome(group, before, after, nic="mlx5_0"):
    """The outcome of a group between two readings, with no growth allowed."""
    limit = GrowthLimit(0, None, Basis("standard", "made up for a test"))
    one = Nic(nic, "x", 400, 400, "Ethernet", 5, 16)
    platform = replace(LOADED, nics=(one,), growth={group: limit})
    found = NodeCounters("n1", [CountedSpan(before, after, 1.0)], {nic: (nic,)})
    judgements, error = judged(found, platform)
    return (error.what if error else judgements[0].outcome), judgements


def test_the_port_of_a_roce_bond_has_all_counters_of_its_groups(read):
    found = read(BOND)
    assert grouped(found, "rdma_retransmits") == {
        "packet_seq_err": 0, "out_of_sequence": 1811101, "implied_nak_seq_err": 0,
        "local_ack_timeout_err": 0, "roce_adp_retrans": 0, "roce_adp_retrans_to": 0,
        "rx_icrc_encapsulated": 0,
    }  # fmt: skip
    assert grouped(found, "congestion_notifications") == {
        "np_cnp_sent": 1052612505, "np_ecn_marked_roce_packets": 21278189006, "rp_cnp_handled": 0,
    }  # fmt: skip
    assert grouped(found, "rdma_receiver_not_ready") == {"rnr_nak_retry_err": 0}


@pytest.mark.parametrize(
    ("counter", "group"),
    [
        ("out_of_sequence", "rdma_retransmits"),
        ("roce_adp_retrans", "rdma_retransmits"),
        ("rnr_nak_retry_err", "rdma_receiver_not_ready"),
        ("np_cnp_sent", "congestion_notifications"),
        ("rp_cnp_handled", "congestion_notifications"),
    ],
)
def test_earlier_counts_are_no_growth_and_one_more_is(read, counter, group):
    before, more = read(BOND), read(BOND | {counter: BOND[counter] + 1})
    assert outcome(group, before, before)[0] is Outcome.PASSED
    assert outcome(group, before, more)[0] is Outcome.FAILED
    other = read(BOND | {"rx_write_requests": 0, "resp_cqe_error": 3293505})
    assert outcome(group, before, other)[0] is Outcome.PASSED


def test_global_pause_and_discards_of_a_connectx4_lx_are_read(read):
    found = read(BOND, listing(GLOBAL_PAUSE))
    assert grouped(found, "pause_frames") == {
        "rx_pause_ctrl_phy": 0, "tx_pause_ctrl_phy": 1266552, "rx_global_pause": 0,
        "tx_global_pause": 1266552,
    }  # fmt: skip
    assert grouped(found, "priority_discards") == {
        "rx_discards_phy": 0, "tx_discards_phy": 0, "rx_prio0_discards": 0, "rx_prio7_discards": 0,
    }  # fmt: skip
    longer = read(BOND, listing(GLOBAL_PAUSE | {"tx_global_pause_duration": 555665999}))
    assert outcome("pause_frames", found, longer)[0] is Outcome.PASSED


def test_a_recorded_ethtool_of_mlx5_is_read(read):
    found = read(BOND, recorded("corpus/host/015-ethtool-S-mlx5-discards.txt"))
    shown = grouped(found, "priority_discards")
    assert (shown["rx_discards_phy"], shown["tx_discards_phy"]) == (58591428329, 0)


def test_recorded_hw_counters_of_a_connectx7_on_infiniband_are_read(read):
    text = recorded("transcripts/metax-show_counters.txt")
    port = dict(re.findall(r"^([a-z_]+): (\d+)$", text, re.MULTILINE))
    found = read(port)
    shown = grouped(found, "rdma_retransmits")
    assert set(GROUPS["rdma_retransmits"].needed) <= set(shown)
    assert set(shown.values()) == {0}
    assert grouped(found, "congestion_notifications") == {}
    assert outcome("rdma_retransmits", found, found)[0] is Outcome.PASSED


@pytest.mark.parametrize(
    "group", ["rdma_retransmits", "congestion_notifications", "pause_frames", "priority_discards"]
)
def test_counters_of_broadcom_are_an_error_and_never_a_pass(read, group):
    found = read(BROADCOM, listing(BROADCOM_PFC), nic="bnxt_re0")
    message, judgements = outcome(group, found, found, "bnxt_re0")
    assert "of bnxt_re0 was read" in message
    assert judgements == ()


def test_an_ethtool_that_prints_nothing_is_an_error(read):
    found = read(BOND, "no stats available")
    message, _ = outcome("pause_frames", found, found)
    assert "no counter of pause_frames of mlx5_0 was read" in message

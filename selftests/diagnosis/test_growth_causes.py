"""Causes of counters that grew: each at its GPU or NIC, and one for both ends of a path."""

from dataclasses import replace

import pytest
from testing.core_values import ROOT, cluster, item

from railgauge.config import thresholds
from railgauge.config.thresholds.counter_groups import GROUPS
from railgauge.core.model import Judgement, Outcome
from railgauge.diagnosis import RunResults, diagnose
from railgauge.diagnosis.catalogue import CATALOGUE
from railgauge.diagnosis.catalogue.kind import CauseSeverity
from railgauge.judging.growth import ITEMS

H200 = thresholds.load("h200", ROOT / "thresholds")
NODES = ("n1", "n2", "n3", "n4")


def missed(node, group, device, count):
    name = GROUPS[group].needed[0] if GROUPS[group].needed else "link0_crc_errors"
    return Judgement(
        metric=group,
        outcome=Outcome.FAILED,
        measured=f"{name} by {count} in 0.50 h of the run",
        limit="none",
        basis="standard: x",
        reason=f"{device} of {node}: {name} by {count} in 0.50 h of the run",
        points_at=((node, device),),
    )


def grown(node, *found):
    begun = replace(ITEMS.begun(node), by_evidence=True)
    judgements = tuple(missed(node, *one) for one in found)
    outcome = Outcome.FAILED if found else Outcome.PASSED
    return replace(begun, outcome=outcome, judgements=judgements)


def pair(one, other, pairing="mlx5_0", **changes):
    return item(
        f"host_write_bandwidth[{one}:{other}-{pairing}]",
        rung=1,
        subject="host_write_bandwidth",
        nodes=(one, other),
        pairing=pairing,
        **changes,
    )


ALL_PAIRS = [pair(a, b) for a in NODES for b in NODES if a < b]


def causes(*records, measured=ALL_PAIRS):
    """What was grown, given the items of the pairs that were measured."""
    found = {one.id: one for one in (*measured, *records)}
    made = diagnose(RunResults(found, {}, H200, cluster(*NODES, platform="h200")))
    return [(c.cause, c.where.node, c.where.device, c.where.peer) for c in made]


@pytest.mark.parametrize(
    ("group", "device", "cause"),
    [
        ("gpu_ecc_uncorrected", "gpu3", "gpu-memory-errors"),
        ("gpu_ecc_corrected", "gpu3", "gpu-memory-errors"),
        ("gpu_remapped_rows", "gpu3", "gpu-memory-errors"),
        ("gpu_retired_pages", "gpu3", "gpu-memory-errors"),
        ("gpu_link_errors", "gpu3", "gpu-link-errors"),
        ("gpu_pcie_replays", "gpu3", "pcie-errors"),
        ("pcie_uncorrected", "mlx5_1", "pcie-errors"),
        ("port_errors", "mlx5_1", "link-error-rate"),
        ("rdma_retransmits", "mlx5_1", "link-retransmits"),
        ("congestion_notifications", "mlx5_1", "congestion"),
        ("pause_frames", "mlx5_1", "congestion"),
        ("devmem_drops", "eth1", "congestion"),
    ],
)
def test_each_group_has_its_cause_at_its_device(group, device, cause):
    assert causes(grown("n2", (group, device, 5))) == [(cause, "n2", device, "")]


def test_every_group_has_a_cause_with_effect_severity_and_remedy():
    for group in GROUPS.values():
        assert group.cause in CATALOGUE


def test_congestion_takes_no_node_out_of_service():
    assert not CATALOGUE["congestion"].triage.drains
    assert CATALOGUE["congestion"].triage.severity is CauseSeverity.MAJOR


def test_several_groups_of_one_cause_are_one_entry_and_two_devices_are_two():
    found = grown(
        "n2", ("gpu_ecc_corrected", "gpu1", 4), ("gpu_ecc_uncorrected", "gpu1", 1),
        ("gpu_ecc_uncorrected", "gpu2", 1),
    )  # fmt: skip
    assert sorted(causes(found)) == [
        ("gpu-memory-errors", "n2", "gpu1", ""), ("gpu-memory-errors", "n2", "gpu2", ""),
    ]  # fmt: skip


SENT = "rdma_retransmits"


def test_a_nic_that_loses_packets_is_one_cause_and_not_its_partners():
    """Each of them counts a part of its losses."""
    found = [grown("n2", (SENT, "mlx5_0", 90)), *(
        grown(node, (SENT, "mlx5_0", 30)) for node in ("n1", "n3", "n4")
    )]  # fmt: skip
    assert causes(*found) == [("link-retransmits", "n2", "mlx5_0", "")]


def test_two_nics_of_other_rails_are_two_causes():
    found = [grown("n2", (SENT, "mlx5_0", 90)), grown("n3", (SENT, "mlx5_5", 30))]
    assert sorted(causes(*found)) == [
        ("link-retransmits", "n2", "mlx5_0", ""), ("link-retransmits", "n3", "mlx5_5", ""),
    ]  # fmt: skip


def test_a_nic_that_was_never_measured_with_it_is_a_cause_of_its_own():
    found = [grown("n1", (SENT, "mlx5_0", 90)), grown("n4", (SENT, "mlx5_0", 30))]
    apart = [pair("n1", "n2"), pair("n3", "n4")]
    assert len(causes(*found, measured=apart)) == 2


def test_what_two_nodes_lost_that_met_no_others_is_of_their_path():
    found = [grown("n1", (SENT, "mlx5_0", 30)), grown("n2", (SENT, "mlx5_0", 30))]
    assert causes(*found, measured=[pair("n1", "n2")]) == [
        ("link-retransmits", "n1", "mlx5_0", "n2")
    ]


def test_bit_errors_explain_retransmissions_at_both_ends():
    found = [
        grown("n2", (SENT, "mlx5_0", 90), ("port_errors", "mlx5_0", 900)),
        grown("n3", (SENT, "mlx5_0", 30)),
    ]
    assert causes(*found) == [("link-error-rate", "n2", "mlx5_0", "")]


def test_congestion_explains_retransmissions_and_errors_of_pcie_do_not():
    lost = (SENT, "mlx5_0", 90)
    assert causes(grown("n2", lost, ("port_discards", "mlx5_0", 9))) == [
        ("congestion", "n2", "mlx5_0", "")
    ]
    assert len(causes(grown("n2", lost, ("pcie_uncorrected", "mlx5_0", 9)))) == 2


def slow(one, other):
    worst = Judgement(
        "bw_average", Outcome.FAILED, "230 Gb/s", ">= 372 Gb/s", "x", unit="Gb/s", values=(230.0,),
        worst=230.0, floor=372.0, margin=-0.38, better="higher",
    )  # fmt: skip
    return pair(one, other, outcome=Outcome.FAILED, judgements=(worst,), reason="slow")


def test_what_is_slow_over_a_nic_that_loses_packets_has_that_one_cause():
    measured = [slow(a, b) if "n2" in (a, b) else pair(a, b) for a in NODES for b in NODES if a < b]
    found = [grown("n2", (SENT, "mlx5_0", 90)), grown("n3", (SENT, "mlx5_0", 30))]
    assert causes(*found, measured=measured) == [("link-retransmits", "n2", "mlx5_0", "")]


def test_what_is_slow_elsewhere_keeps_its_own_cause():
    measured = [slow("n3", "n4"), *(one for one in ALL_PAIRS if one.nodes != ("n3", "n4"))]
    found = causes(grown("n2", (SENT, "mlx5_0", 90)), measured=measured)
    assert len(found) == 2
    assert found[0][0] != found[1][0]

"""The platform file made of a survey: short, complete, and with notes on what is not known."""

import json
from dataclasses import replace

import pytest
from testing.core_values import cluster
from testing.places import ROOT
from testing.surveyed import GPU, NIC, PORT, alike, loaded, made_of, node

from railgauge.config import thresholds
from railgauge.config.thresholds.limits import uncovered
from railgauge.config.thresholds.physics import nic_ceiling_gbps, whole
from railgauge.core.terms import Scope
from railgauge.describing import layout
from railgauge.describing.choice import SiteAnswers
from railgauge.planning import plan
from railgauge.run import inputs

NAMES = ("n1", "n2", "n3")


def changed(of, **changes):
    """Every NIC or GPU of every node, changed alike."""
    facts = alike(*NAMES)
    return {
        name: replace(one, **{of: tuple(replace(part, **changes) for part in getattr(one, of))})
        for name, one in facts.items()
    }


def notes(found):
    return "\n".join(found.notes)


def test_eight_equal_gpus_and_nics_are_one_entry_each():
    hardware = made_of(alike(*NAMES)).document["hardware"]
    assert hardware["gpus"]["extends"] == "H100 SXM"
    assert hardware["nics"]["mlx5_[0-7]"] == {"extends": "ConnectX-7 NDR", "basis": "survey"}
    assert hardware["affinity"]["3"] == "SYS SYS SYS PIX SYS SYS SYS SYS"


@pytest.mark.parametrize(
    "facts",
    [
        alike(*NAMES),
        alike(*NAMES, nics=2),
        alike(*NAMES, gpus=1, nics=1),
        alike(*NAMES, gpus=8, nics=0),
        changed("nics", link_layer="Ethernet"),
        changed("gpus", model="NVIDIA Unheard 9000"),
        changed("gpus", model="NVIDIA L40S"),
        changed("gpus", model="NVIDIA B200"),
        changed("nics", rate_gbps=100.0),
        changed("nics", hca_type="MT9999"),
        {name: replace(one, gpus=()) for name, one in alike(*NAMES).items()},
        {name: replace(one, topology={}) for name, one in alike(*NAMES).items()},
        {name: replace(node(name, 0, 0), netdevs=(PORT,)) for name in NAMES},
        {name: replace(node(name, 8, 0), netdevs=(PORT,)) for name in NAMES},
    ],
)
def test_a_run_can_make_and_judge_everything_in_it(facts):
    platform = loaded(made_of(facts))
    assert list(uncovered(platform)) == []
    inputs.check(platform, ROOT, cluster(*NAMES))
    for name in thresholds.LEVELS:
        assert platform.nics == () or list(
            plan.cases(platform, plan.level(platform, cluster(*NAMES), name))
        )


def test_every_limit_has_its_derivation_and_is_marked_as_not_calibrated():
    platform = loaded(made_of(alike(*NAMES)))
    limits = [one for made in platform.measurements.values() for one in made.limits]
    assert len(limits) > 30
    assert {one.basis.source for one in limits} == {"derived"}
    assert all("Not yet calibrated." in one.basis.says for one in limits)


def test_the_floor_of_a_path_is_a_share_of_link_or_slot_whichever_is_less():
    """A slot of 63 Gb/s behind a port of 400: 85 % of 63."""
    platform = loaded(made_of(changed("nics", pcie_speed_gts=8.0, pcie_width=8)))
    one = platform.measurements["host_write_bandwidth"]
    of = whole(platform, one, platform.pairings("host")[0], one.limits[0])
    assert of == pytest.approx(nic_ceiling_gbps(platform.nics[0])) == pytest.approx(63.0, abs=0.1)


def test_a_slot_below_the_data_sheet_is_reported_as_a_possible_fault():
    found = made_of(changed("nics", pcie_width=8))
    assert found.document["hardware"]["nics"]["mlx5_[0-7]"]["pcie"]["width"] == 8
    expected = "BELOW THE DATA SHEET mlx5_[0-7]: PCIe 5.0 x8, its data sheet says 5.0 x16"
    assert expected in notes(found)


def test_an_unknown_gpu_is_reported_with_what_is_missing_and_where_to_enter_it():
    found = made_of(changed("gpus", model="NVIDIA Unheard 9000"))
    noted = notes(found)
    assert "UNKNOWN GPU NVIDIA Unheard 9000: thresholds/shared/datasheets.json" in noted
    assert "templates/gpus" in noted
    platform = loaded(found)
    scopes = {one.scope for one in platform.measurements.values()}
    assert {Scope.PATH, Scope.PAIR, Scope.GROUP} <= scopes  # what is known is measured
    assert not any(name.startswith("node_") for name in platform.measurements)


def test_an_unknown_nic_is_reported_with_where_to_enter_it():
    found = made_of(changed("nics", hca_type="MT9999"))
    assert "UNKNOWN NIC mlx5_[0-7]" in notes(found)
    assert "templates/nics" in notes(found)
    assert loaded(found).nics[0].pcie_link == (32.0, 16)


def test_affinity_that_no_tool_prints_is_assumed_with_a_note():
    found = made_of({name: replace(one, topology={}) for name, one in alike(*NAMES).items()})
    assert "affinity: the GPUs' tools print no distance" in notes(found)
    assert found.document["hardware"]["affinity"]["2"].split().index("PXB") == 2


def test_an_early_infiniband_rate_loses_its_line_encoding():
    platform = loaded(made_of(changed("nics", rate_gbps=40.0)))
    assert platform.nics[0].data_rate_gbps == 32.0


def test_slow_links_inside_a_node_lower_the_floors_between_nodes():
    """Two L40S with slots of 31.5 GB/s behind four NICs of 50 GB/s each."""
    facts = {
        name: replace(
            node(name, 2, 4),
            gpus=tuple(replace(GPU, index=i, model="NVIDIA L40S") for i in range(2)),
        )
        for name in NAMES
    }
    (limit,) = loaded(made_of(facts)).measurements["pair_all_reduce"].limits
    assert limit.floor == pytest.approx(0.6 * 31.5 / 200, abs=0.01)
    assert "carry" in limit.basis.says


def test_the_library_without_rdma_gets_the_fabric_and_lower_floors():
    facts = {name: replace(node(name, 8, 0), netdevs=(PORT,)) for name in NAMES}
    platform = loaded(made_of(facts))
    assert platform.environment == {"NCCL_SOCKET_IFNAME": "=eth0"}
    assert platform.measurements["pair_all_reduce"].limits[0].floor == 0.25
    assert platform.measurements["pair_all_reduce"].transport is None


@pytest.mark.parametrize(("peers", "wanted"), [(("nvidia_peermem",), ("GDRDMA",)), ((), ("IB",))])
def test_the_path_is_asserted_as_the_survey_allows(peers, wanted):
    found = made_of(alike(*NAMES, peer_memory=peers))
    assert loaded(found).measurements["pair_all_reduce"].transport.wanted == wanted
    assert ("GPUDirect RDMA: " in notes(found)) == (not peers)


def test_nodes_without_gpudirect_are_named_with_what_they_show():
    facts = alike(*(f"n{at}" for at in range(1, 13)), peer_memory=("nvidia_peermem",))
    facts |= {f"n{at}": replace(facts[f"n{at}"], peer_memory=()) for at in range(1, 7)}
    facts["n8"] = replace(facts["n8"], peer_memory=("dma-buf",))
    denied = {"peer_memory": "/sys/kernel/mm: access denied"}
    facts["n9"] = replace(facts["n9"], peer_memory=(), missing=denied)
    assert (
        "GPUDirect RDMA: peer_memory of 8 of 12 nodes lacks nvidia_peermem: "
        "none on n1, n2, n3, n4 and 2 more; dma-buf on n8; /sys/kernel/mm: access denied on n9; "
        "so collectives may go through host memory"
    ) in notes(made_of(facts))


def test_a_processor_with_the_erratum_runs_without_relaxed_ordering():
    facts = alike(*NAMES, cpu_model="Intel(R) Xeon(R) CPU E5-2697 v4 @ 2.30GHz")
    every = loaded(made_of(facts)).measurements
    assert every["host_write_bandwidth"].options["disable_pcie_relaxed"] is True
    assert every["host_write_latency"].options["disable_pcie_relaxed"] is True
    newer = loaded(made_of(alike(*NAMES, cpu_model="Intel(R) Xeon(R) Platinum 8480+")))
    assert "disable_pcie_relaxed" not in newer.measurements["host_write_bandwidth"].options


def test_nics_beside_the_fabric_are_declared_and_kept_from_the_library():
    one = node("n1")
    slow = replace(NIC, name="mlx5_8", rate_gbps=100.0, pci_address="0000:99:00.0")
    facts = {"n1": replace(one, nics=(*one.nics, slow), topology={})}
    platform = loaded(made_of(facts))
    assert not platform.nic("mlx5_8").fabric
    assert platform.environment["NCCL_IB_HCA"] == "=" + ",".join(f"mlx5_{i}" for i in range(8))


def test_addresses_that_differ_between_nodes_are_not_declared():
    facts = alike(*NAMES)
    facts["n2"] = replace(
        facts["n2"],
        nics=tuple(replace(nic, pci_address="0000:77:00.0") for nic in facts["n2"].nics),
    )
    assert all(nic.pci_address is None for nic in loaded(made_of(facts)).nics)


def test_names_of_one_machine_are_not_expected_to_be_several():
    facts = {name: node(name, boot_id="one") for name in NAMES}
    found = made_of(facts, SiteAnswers(one_kernel=True))
    assert set(found.document["not_applicable"]) == {"boot_id,machine_id", "kernel_log"}


def test_the_text_is_the_document_and_its_lines_are_short():
    document = made_of(alike(*NAMES)).document
    text = layout.text_of(document)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 110
    assert len(lines) < 90
    unfolded = json.loads(text)
    assert unfolded["hardware"] == json.loads(json.dumps(document["hardware"]))

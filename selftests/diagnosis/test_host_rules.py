"""Rung 0: causes from facts, and facts that must not be blamed."""

from dataclasses import replace

import pytest
from testing.diagnose_scenes import (
    blocked,
    broken,
    causes,
    collective,
    fact,
    healthy,
    named,
    names,
    path,
    platform,
    record,
    run_results,
    unknown,
)

from railgauge.config.thresholds.site import with_versions
from railgauge.core.errors import FactMissing
from railgauge.diagnosis import diagnose
from railgauge.diagnosis.facts import host


def only(found):
    assert len(found) == 1
    return found[0]


def is_compared(subject):
    expectation = platform().expected.get(subject)
    return expectation is not None and expectation.rule == "alike"


@pytest.mark.parametrize(
    ("subject", "cause"),
    [(subject, cause) for subject, cause in host._BY_SUBJECT.items() if not is_compared(subject)],
)
def test_each_fact_has_its_cause_with_node_and_part(subject, cause):
    part = "" if subject in ("acs", "gpu_fabric_manager") else "mlx5_3"
    found = only(causes(fact("n2", subject, part, "0000:16:00.0")))
    device = "0000:16:00.0" if subject == "acs" else part or subject
    assert named([found]) == [(cause, f"n2, {device}")]
    assert found.confidence == "certain"
    assert subject in found.says


@pytest.mark.parametrize("subject", ["cpus", "numa_nodes", "numa_cpus"])
@pytest.mark.parametrize(
    ("on", "cause"), [("h100-tcpx", "hardware-differs"), ("h200", "nodes-differ")]
)
def test_declared_cpus_blame_the_node_without_a_comparison(on, cause, subject):
    found = only(causes(fact("n2", subject, "", "x"), on=on, nodes=names(2)))
    assert named([found]) == [(cause, f"n2, {subject}")]


@pytest.mark.parametrize("subject", host._BY_SUBJECT)
def test_an_unknown_fact_is_not_blamed(subject):
    assert [c.cause for c in causes(unknown("n2", subject, "mlx5_3"))] == ["undiagnosed"]


PREPARED = [
    (on, subject, step)
    for on in ("h200", "h100-tcpx", "mi300x", "metax-c500", "connectx4-homelab", "localhost-gpu")
    for subject, step in {
        "cpu_governor": "cpu_governor",
        "numa_balancing": "numa_balancing",
        "gpu_persistence_mode": "persistence_mode",
    }.items()
]


@pytest.mark.parametrize(("on", "subject", "step"), PREPARED)
def test_prepare_is_the_remedy_only_if_it_changes_the_setting(on, subject, step):
    found = only(causes(fact("n2", subject, "", "x"), on=on, nodes=names(2)))
    steps = {preparation.name for preparation in platform(on).preparations}
    assert ("--prepare" in found.remedy) == (step in steps)


# --- missing NICs ---


def lost_nic(node="n2", nic="mlx5_3"):
    gone = [fact(node, "nic_present", nic, "absent")]
    gone += [unknown(node, subject, nic) for subject in ("port_state", "link_rate", "pcie_link")]
    return gone


def test_a_missing_nic_explains_its_unknown_facts():
    found = causes(lost_nic(), unknown("n2", "nic_firmware", "mlx5_3"), nodes=names(4))
    assert named(found) == [("nic-missing", "n2, mlx5_3")]
    assert len(found[0].evidence) == 5


def test_other_firmware_beside_a_missing_nic_is_a_cause_of_its_own():
    found = causes(lost_nic(), fact("n2", "nic_firmware", "mlx5_5", "20.1"), nodes=names(4))
    assert named(found) == [
        ("nic-missing", "n2, mlx5_3"),
        ("firmware-mismatch", "n2, nic_firmware"),
    ]
    assert "20.1 on n2" in found[1].says


def test_a_missing_nic_explains_its_missing_topology_entry():
    lacking = unknown("n2", "gpu_nic_link", "gpu0-mlx5_3")
    found = causes(lost_nic(), lacking)
    assert named(found) == [("nic-missing", "n2, mlx5_3")]
    assert lacking.id in found[0].evidence


def test_a_missing_nic_does_not_explain_another_nic():
    found = causes(lost_nic(), fact("n2", "link_rate", "mlx5_4"), fact("n3", "link_rate", "mlx5_3"))
    assert named(found) == [
        ("nic-missing", "n2, mlx5_3"),
        ("link-rate-degraded", "n2, mlx5_4"),
        ("link-rate-degraded", "n3, mlx5_3"),
    ]


def test_a_missing_network_device_is_a_missing_nic():
    gone = fact("n1", "netdev_present", "eth3", "absent")
    assert named(causes(gone, on="h100-tcpx")) == [("nic-missing", "n1, eth3")]


def test_a_nic_with_unknown_facts_is_not_missing():
    assert named(causes(unknown("n2", "nic_present", "mlx5_3")))[0][0] == "undiagnosed"


# --- ports ---


def test_a_port_without_a_link_is_down_and_explains_its_other_facts():
    down = [
        fact("n1", "physical_state", "mlx5_0", "Disabled"),
        fact("n1", "port_state", "mlx5_0", "DOWN"),
        fact("n1", "lid", "mlx5_0", "0"),
        fact("n1", "link_rate", "mlx5_0", "10"),
        fact("n1", "active_mtu", "mlx5_0", "1024"),
    ]
    found = causes(down)
    assert named(found) == [("link-down", "n1, mlx5_0")]
    assert set(found[0].evidence) == {one.id for one in down}
    assert "physical_state Disabled" in found[0].says


def test_a_port_with_a_link_and_no_lid_lacks_the_subnet_manager():
    init = [fact("n1", "port_state", "mlx5_0", "INIT"), fact("n1", "lid", "mlx5_0", "0")]
    assert named(causes(init)) == [("subnet-manager-missing", "n1, mlx5_0")]


def test_each_port_has_its_own_cause():
    init = fact("n1", "port_state", "mlx5_0", "INIT")
    down = fact("n1", "physical_state", "mlx5_1", "Polling")
    assert set(named(causes(init, down))) == {
        ("subnet-manager-missing", "n1, mlx5_0"),
        ("link-down", "n1, mlx5_1"),
    }


def test_a_low_rate_alone_is_a_degraded_link():
    assert named(causes(fact("n1", "link_rate", "mlx5_0", "200"))) == [
        ("link-rate-degraded", "n1, mlx5_0")
    ]


def test_a_network_device_that_is_down_is_a_link_that_is_down():
    down = [fact("n1", "netdev", "eth2", "down"), unknown("n1", "netdev_rate", "eth2")]
    found = causes(down, on="h100-tcpx")
    assert named(found)[0] == ("link-down", "n1, eth2")


# --- firmware and images ---


def test_another_kernel_is_not_a_firmware_mismatch():
    assert named(causes(fact("n3", "kernel"), nodes=names(4))) == [("nodes-differ", "n3, kernel")]


def test_a_wrong_declared_version_needs_no_comparison():
    """The versions of other nodes have no effect, and all wrong nodes are one cause."""
    declared = with_versions(platform(), {"gpu_driver": {"*": "550.90.07"}}, "bench.yaml")
    found = run_results([fact("n1", "gpu_driver"), fact("n2", "gpu_driver")])
    assert named(diagnose(found)) == [("nodes-differ", "n[1-2], gpu_driver")]
    assert named(diagnose(replace(found, platform=declared))) == [
        ("version-mismatch", "n[1-2], gpu_driver")
    ]


# --- faults that all GPUs of a node share ---


def test_a_fault_of_all_gpus_of_a_node_is_one_cause():
    every = [fact("n1", "gpu_mig", f"gpu{index}") for index in range(8)]
    found = only(causes(every))
    assert named([found]) == [("gpu-partitioned", "n1")]
    assert found.says == "gpu_mig: MIG mode is on, programs see parts of the GPU, or none of it"
    assert len(found.evidence) == 8
    assert named(causes(every[:7]))[6] == ("gpu-partitioned", "n1, gpu6")


# --- GPUDirect RDMA ---


def test_a_missing_peer_memory_module_is_the_cause():
    lacking = replace(healthy("n1"), modules=(), peer_memory=())
    found = causes(fact("n1", "kernel_module"), fact("n1", "peer_memory"), facts=[lacking])
    assert named(found) == [("peer-memory-module-missing", "n1, nvidia_peermem")]
    assert len(found[0].evidence) == 2


def test_another_missing_module_is_not_called_peer_memory():
    lacking = replace(healthy("n1", "connectx4-homelab"), modules=("ib_umad", "nvidia_peermem"))
    found = causes(fact("n1", "kernel_module"), facts=[lacking], on="connectx4-homelab")
    assert named(found) == [("kernel-module-missing", "n1, ib_ipoib,ib_uverbs")]


def test_an_unregistered_driver_after_a_kernel_update_names_the_kernel():
    lacking = replace(healthy("n1", "metax-c500"), peer_memory=())
    records = [fact("n1", "peer_memory"), fact("n1", "kernel")]
    found = causes(records, facts=[lacking], on="metax-c500", nodes=names(4))
    assert named(found) == [("gpudirect-rdma-disabled", "n1")]
    assert "kernel is not that of the others" in found[0].says
    assert len(found[0].evidence) == 2


def test_an_unregistered_driver_on_the_common_kernel_names_no_update():
    lacking = replace(healthy("n1", "metax-c500"), peer_memory=())
    found = causes(fact("n1", "peer_memory"), facts=[lacking], on="metax-c500")
    assert "kernel" not in found[0].says


def test_modules_that_could_not_be_listed_are_not_missing():
    found = causes(unknown("n1", "kernel_module"), unknown("n1", "peer_memory"))
    assert [cause.cause for cause in found] == ["undiagnosed"]


# --- other processes on the GPUs ---


@pytest.mark.parametrize(
    ("running", "cause"),
    [
        (("python3 /opt/nvidia/EUD/eud",), "background-gpu-diagnostics"),
        (("dcgmi diag -r 4",), "background-gpu-diagnostics"),
        (("python train.py",), "foreign-gpu-process"),
        (("python train.py", "nvvs -x"), "background-gpu-diagnostics"),
    ],
)
def test_diagnostics_are_recognized_by_process_name(running, cause):
    busy = replace(healthy("n1"), gpu_processes=running)
    found = causes(fact("n1", "gpu_processes"), facts=[busy])
    assert named(found) == [(cause, "n1")]
    assert running[-1] in found[0].says


def test_processes_that_could_not_be_listed_are_not_blamed():
    assert [c.cause for c in causes(unknown("n1", "gpu_processes"))] == ["undiagnosed"]


# --- what a cause explains on higher rungs ---


def test_a_governor_explains_slow_items_of_its_node_only():
    records = [
        fact("n1", "cpu_governor"),
        path("n1", "n2", "mlx5_0", 300),
        collective(("n1",), 200),
        collective(("n3",), 200),
    ]
    found = causes(records)
    assert [(cause.cause, cause.where.node) for cause in found] == [
        ("cpu-governor", "n1"),
        ("slow-gpu", "n3"),
    ]
    assert len(found[0].explains) == 2


def test_a_narrow_pcie_slot_explains_only_paths_over_its_nic():
    narrow = fact("n1", "pcie_link", "mlx5_0", "16, 8")
    through = [path("n1", "n2", "mlx5_0", 200), path("n1", "n3", "gpu0-mlx5_0", 200)]
    beside = [path("n1", n, "mlx5_1", 200) for n in ("n2", "n3")]
    fine = [path("n2", "n3", nic, 392) for nic in ("mlx5_0", "mlx5_1")]
    fine += [path("n1", n, "mlx5_2", 392) for n in ("n2", "n3")]
    found = causes(narrow, through, beside, fine, collective(("n1", "n2"), 100))
    assert named(found) == [("pcie-degraded", "n1, mlx5_0"), ("slow-nic", "n1, mlx5_1")]
    assert set(found[0].explains) > {one.id for one in through}


def test_a_collective_setting_does_not_explain_a_slow_path():
    slow, setting = causes(fact("n1", "numa_balancing"), path("n1", "n2", "mlx5_0", 100))
    assert setting.cause == "numa-balancing-enabled"
    assert not setting.explains
    assert (slow.cause, slow.confidence) == ("slow-direction", "open")


def test_blocked_items_are_explained_only_by_their_blockers():
    governor, slow = fact("n1", "cpu_governor"), fact("n2", "memlock")
    first = blocked(path("n1", "n2", "mlx5_0", 1), governor)
    other = blocked(path("n1", "n2", "mlx5_1", 1), slow)
    strange = blocked(path("n1", "n2", "mlx5_2", 1))
    found = {c.cause: c.explains for c in causes(governor, slow, first, other, strange)}
    assert found == {"cpu-governor": (first.id,), "memlock-limited": (other.id,)}


def test_a_node_without_facts_breaks_no_rule():
    nothing = FactMissing("the probe printed nothing", where="n1")
    items = [
        fact("n1", s)
        for s in ("gpu_count", "kernel_module", "peer_memory", "gpu_processes", "kernel")
    ]
    assert causes(items, fact("n1", "nic_firmware", "mlx5_0"), facts=[nothing])


# --- undeclared versions ---


def test_an_undeclared_version_of_all_nodes_is_one_cause():
    records = [
        broken(record(0, "gpu_runtime", node), "version-undeclared", node, "gpu_runtime is 9")
        for node in ("n1", "n2")
    ]
    found = only(causes(records, on="metax-c500"))
    assert (found.cause, found.where.device) == ("version-mismatch", "gpu_runtime")
    assert found.where.node == "n[1-2]"
    assert "gpu_runtime is 9" in found.says

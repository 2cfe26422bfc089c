"""``devices:`` of the hostfile: names that differ by node, towards the node and back."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from testing.nic_counters import hca
from testing.places import ROOT

from railgauge.config.hostfile import cluster_from_json, cluster_to_json, load
from railgauge.config.thresholds import Platform
from railgauge.core.devices import DeviceNames
from railgauge.core.errors import BadInput, HostfileError, OtherThanAsked
from railgauge.core.model import Case, Cluster, Pairing, Parsed, Sample, Transcript
from railgauge.core.question import CaseResult
from railgauge.core.terms import Role
from railgauge.facts import NodeFacts
from railgauge.facts.model import GpuFacts, IrqFacts, NetdevFacts, NicFacts
from railgauge.facts.naming import declared
from railgauge.judging import naming
from railgauge.judging.assess import read
from railgauge.judging.traffic import moved, probes
from railgauge.planning import plan
from railgauge.planning.plan import commands
from railgauge.planning.variables import value_on
from railgauge.run import inputs

SWAPPED = {"mlx5_0": "mlx5_1", "mlx5_1": "mlx5_0"}


def site(tmp_path: Path, devices: object, platform: str = "h200", **more: object) -> Path:
    path = tmp_path / "site.yaml"
    given = {"cluster": "c", "platform": platform, "nodes": "n[1-2]", "devices": devices, **more}
    given["fabric"] = {"none": "no switch of ours in this test"}
    path.write_text(json.dumps(given))
    return path


def known(tmp_path: Path, devices: object, **more: object) -> tuple[Cluster, Platform]:
    return inputs.site(site(tmp_path, devices, **more), ROOT)


# --- towards the node ---


def planned(tmp_path: Path, devices: object, case: Case) -> dict[str, tuple[str, ...]]:
    cluster, platform = known(tmp_path, devices)
    return {one.node: one.argv for one in commands(case, platform, cluster, 18515)}


PAIRING = Pairing("mlx5_0", 0, "near")


def test_each_side_gets_its_own_name(tmp_path: Path) -> None:
    case = Case("gpu_write_bandwidth", ("n1", "n2"), PAIRING, (8388608,))
    names = {"n2": {"mlx5_0": "mlx5_bond_0", "gpu0": "gpu3", "gpu3": "gpu0"}}
    argv = planned(tmp_path, names, case)
    assert argv["n1"][1:3] == ("-d", "mlx5_0")
    assert argv["n2"][1:3] == ("-d", "mlx5_bond_0")
    assert "--use_cuda=0" in argv["n1"]
    assert "--use_cuda=3" in argv["n2"]


def test_swapped_names_cross(tmp_path: Path) -> None:
    for nic, there in SWAPPED.items():
        case = Case("host_write_bandwidth", ("n1", "n2"), Pairing(nic), (8388608,))
        argv = planned(tmp_path, {"n2": SWAPPED}, case)
        assert (argv["n1"][2], argv["n2"][2]) == (nic, there)


def test_devices_without_another_name_keep_theirs(tmp_path: Path) -> None:
    case = Case("host_write_bandwidth", ("n1", "n2"), Pairing("mlx5_7"), (8388608,))
    argv = planned(tmp_path, {"n2": SWAPPED}, case)
    assert (argv["n1"][2], argv["n2"][2]) == ("mlx5_7", "mlx5_7")


# --- the environment of collectives ---


def value(tmp_path: Path, devices: object, nodes: tuple[str, ...], **more: object) -> str:
    cluster, platform = known(tmp_path, {}, **more)
    platform = replace(
        platform,
        environment={**platform.environment, "NCCL_IB_HCA": "=mlx5_0:1,mlx5_1:1"},
        devices=DeviceNames(devices),  # type: ignore[arg-type]
    )
    name = "pair_all_reduce" if len(nodes) == 2 else "node_all_reduce"
    sizes = next(c.sizes for _, c in cases(platform, cluster) if c.measurement == name)
    (command,) = commands(Case(name, nodes, None, sizes), platform, cluster, 18515)
    words = [*command.argv, *(f"{k}={v}" for k, v in command.environment.items())]
    return next(word for word in words if word.startswith("NCCL_IB_HCA="))


def cases(platform: Platform, cluster: Cluster) -> object:
    return plan.cases(platform, plan.level(platform, cluster, "nightly"))


def test_one_node_gets_its_own_value(tmp_path: Path) -> None:
    names = {"n1": {"mlx5_0": "mlx5_bond_0"}}
    assert value(tmp_path, names, ("n1",)) == "NCCL_IB_HCA==mlx5_bond_0:1,mlx5_1:1"


def test_swapped_names_are_the_same_set_for_all(tmp_path: Path) -> None:
    names = {"n2": SWAPPED}
    cluster, platform = known(tmp_path, names)
    platform = replace(platform, environment={"NCCL_IB_HCA": "mlx5_0,mlx5_1"})
    sizes = next(c.sizes for _, c in cases(platform, cluster) if c.measurement == "pair_all_reduce")
    case = Case("pair_all_reduce", ("n1", "n2"), None, sizes)
    (command,) = commands(case, platform, cluster, 18515)
    assert command.environment["NCCL_IB_HCA"] == "mlx5_0,mlx5_1"


def test_names_that_are_exchanged_are_the_same_set_behind_a_sign_too(tmp_path: Path) -> None:
    assert value(tmp_path, {"n2": SWAPPED}, ("n1", "n2")) == "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1"


def test_nodes_with_other_names_get_the_names_of_all(tmp_path: Path) -> None:
    names = {"n2": {"mlx5_0": "mlx5_bond_0"}}
    variable = value(tmp_path, names, ("n1", "n2"))
    assert variable == "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1,mlx5_bond_0:1"
    own = {"NCCL_IB_HCA": "mlx5"}
    assert value(tmp_path, names, ("n1", "n2"), environment=own) == "NCCL_IB_HCA=mlx5"


# The name of the fabric's NIC on n2 is that of a NIC on n1 that the list does not name.
STRAY = {"n2": {"mlx5_0": "mlx5_7", "mlx5_7": "mlx5_0"}}


def test_a_name_that_is_that_of_another_nic_on_a_node_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="sets it once for all") as caught:
        value(tmp_path, STRAY, ("n1", "n2"))
    assert "=mlx5_0:1,mlx5_1:1 on n1, =mlx5_7:1,mlx5_1:1 on n2" in caught.value.what
    assert "NCCL_IB_HCA under environment" in caught.value.remedy


def test_a_measurement_that_is_no_collective_needs_no_value(tmp_path: Path) -> None:
    cluster, platform = known(tmp_path, {})
    devices = DeviceNames(STRAY)
    platform = replace(platform, environment={"NCCL_IB_HCA": "=mlx5_0"}, devices=devices)
    case = Case("host_write_bandwidth", ("n1", "n2"), Pairing("mlx5_0"), (8388608,))
    assert commands(case, platform, cluster, 18515)


@pytest.mark.parametrize(
    ("name", "given", "wanted"),
    [
        ("NCCL_IB_HCA", "mlx5_0", "mlx5_0,mlx5_bond_0"),
        ("NCCL_IB_HCA", "^mlx5_0", "^mlx5_0,mlx5_bond_0"),
        ("MCCL_IB_HCA", "^=mlx5_0:1", "^=mlx5_0:1,mlx5_bond_0:1"),
        ("NCCL_SOCKET_IFNAME", "=mlx5_0", "=mlx5_0,mlx5_bond_0"),
        ("NCCL_IB_HCA", "mlx5", "mlx5"),
        ("NCCL_TOPO_FILE", "/etc/mlx5_0", None),
        ("NCCL_IB_HCA", "", ""),
    ],
)
def test_only_lists_of_devices_are_joined(tmp_path, name, given, wanted) -> None:
    _, platform = known(tmp_path, {})
    platform = replace(platform, devices=DeviceNames({"n2": {"mlx5_0": "mlx5_bond_0"}}))
    assert value_on(name, given, ("n1", "n2"), platform) == wanted


def test_one_reason_is_one_complaint_with_the_number_of_measurements(tmp_path: Path) -> None:
    """A list that names another NIC on a node, in every collective of the platform."""
    devices = {"mx02": {"mlx5_0": "mlx5_2", "mlx5_2": "mlx5_0"}}
    path = tmp_path / "site.yaml"
    given = {"cluster": "c", "platform": "metax-c500", "nodes": "mx[01-03]", "devices": devices}
    given["fabric"] = {"none": "no switch of ours in this test"}
    given["model"] = "a-model"
    path.write_text(json.dumps(given))
    with pytest.raises(BadInput, match="sets it once for all") as caught:
        inputs.site(path, ROOT)
    lines = [line for line in str(caught.value).splitlines() if "MCCL_IB_HCA would be" in line]
    assert len(lines) <= 2  # pair_all_reduce_one_gpu names one NIC
    assert any(re.search(r": \w+ and \d+ more: MCCL_IB_HCA", line) for line in lines)
    given["environment"] = {"MCCL_IB_HCA": "mlx5"}
    path.write_text(json.dumps(given))
    inputs.site(path, ROOT)  # as the complaint advises


def test_a_launchers_argument_that_differs_by_node_is_refused_with_a_remedy(
    tmp_path: Path,
) -> None:
    """Open MPI 4.1.4 ends with an error if a node lacks an interface of btl_tcp_if_include."""
    devices = {"n2": {"eth0": "ens1"}}
    path = tmp_path / "site.yaml"
    given = {"cluster": "c", "platform": "tcp-lab", "nodes": "n[1-2]", "devices": devices}
    path.write_text(json.dumps(given))
    with pytest.raises(BadInput) as caught:
        inputs.site(path, ROOT)
    lines = [line for line in str(caught.value).splitlines() if "would be eth0 or ens1" in line]
    assert len(lines) == 1
    given["launcher_args"] = [
        *("-mca", "btl_tcp_if_include", "10.0.0.0/24", "-mca", "oob_tcp_if_include", "10.0.0.0/24")
    ]
    path.write_text(json.dumps(given))
    inputs.site(path, ROOT)
    every = {"n1": {"eth0": "ens1"}, "n2": {"eth0": "ens1"}}
    path.write_text(json.dumps({**given, "launcher_args": [], "devices": every}))
    inputs.site(path, ROOT)


# --- back from the node ---


def facts() -> NodeFacts:
    return NodeFacts(
        "n2",
        nics=(NicFacts("mlx5_0", lid=10, netdev="eth0"), NicFacts("mlx5_1", lid=11)),
        netdevs=(NetdevFacts("eth0"),),
        irqs=(IrqFacts("mlx5_1", 3, "0-3"),),
        gpus=(GpuFacts(0, "H200", "0000:18:00.0", 1), GpuFacts(1, "H200", "0000:2a:00.0", 1)),
        topology={"gpu0": {"gpu1": "NV18", "mlx5_0": "PIX"}, "gpu1": {"mlx5_1": "PIX"}},
        missing={"nics.mlx5_0.gids": "no", "gpus.1.fabric": "no", "gpus.*.vbios": "no", "os": "no"},
    )


def test_swapped_facts_come_back_under_declared_names() -> None:
    names = {**SWAPPED, "gpu0": "gpu1", "gpu1": "gpu0"}
    found = declared(facts(), DeviceNames({"n2": names}))
    assert {nic.name: nic.lid for nic in found.nics} == {"mlx5_1": 10, "mlx5_0": 11}
    assert [one.name for one in found.irqs] == ["mlx5_0"]
    assert [gpu.bus_id for gpu in found.gpus] == ["0000:2a:00.0", "0000:18:00.0"]
    assert found.topology == {
        "gpu1": {"gpu0": "NV18", "mlx5_1": "PIX"},
        "gpu0": {"mlx5_0": "PIX"},
    }
    assert set(found.missing) == {"nics.mlx5_1.gids", "gpus.0.fabric", "gpus.*.vbios", "os"}


def test_a_device_with_the_declared_name_of_another_does_not_stand_in_for_it() -> None:
    """The declared mlx5_0 is gone, and the node's own mlx5_0 is another device."""
    found = declared(facts(), DeviceNames({"n2": {"mlx5_0": "mlx5_bond_0"}}))
    assert [nic.name for nic in found.nics] == ["mlx5_1", "other-mlx5_0"]


def test_facts_of_other_nodes_stay() -> None:
    assert declared(facts(), DeviceNames({"n1": SWAPPED})) is not None
    assert declared(facts(), DeviceNames({"n1": SWAPPED})) == facts()


def counted(node: str, role: Role, **sent: int) -> Transcript:
    lines = [hca(nic, port_xmit_data=count // 4) for nic, count in sent.items()]
    return Transcript(node, ("sh",), 0, "".join(lines), "", 1.0, role=role)


def test_counters_are_those_of_the_declared_nic() -> None:
    run = [
        counted("n2", Role.COUNTERS_BEFORE, mlx5_0=0, mlx5_1=0),
        counted("n2", Role.COUNTERS_AFTER, mlx5_0=0, mlx5_1=4000),
    ]
    nics = ("mlx5_0", "mlx5_1")
    swapped = moved(run, "n2", nics, DeviceNames({"n2": SWAPPED}))
    plain = moved(run, "n2", nics)
    assert (swapped.nics["mlx5_0"], plain.nics["mlx5_0"]) == (4000, 0)


def test_ethtool_gets_the_names_of_the_node(tmp_path: Path) -> None:
    _, platform = known(tmp_path, {})
    spec = next(m.traffic for m in platform.measurements.values() if m.traffic)
    platform = replace(platform, devices=DeviceNames({"n2": {"mlx5_0": "mlx5_bond_0"}}))
    one, two = probes(("n1", "n2"), "/", replace(spec, devmem_packet=1), platform)
    assert ("mlx5_0" in one.argv, "mlx5_0" in two.argv) == (True, False)
    assert "mlx5_bond_0" in two.argv


def test_links_and_named_tests_come_back_under_declared_numbers() -> None:
    sample = Sample("link_bw", "GB/s", 300.0, placement="gpu0>gpu2")
    summary = {"tests": [{"name": "Memory", "gpus": [0, 2]}], "other": 1}
    names = DeviceNames({"n1": {"gpu0": "gpu1", "gpu1": "gpu0"}})
    found = naming.declared(Parsed("t", None, (sample,), summary, ()), names, "n1")
    assert found.samples[0].placement == "gpu1>gpu2"
    assert found.summary == {"tests": [{"name": "Memory", "gpus": [1, 2]}], "other": 1}


HEADER = """\
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF          Device         : {device}
 Number of qps   : 1            Transport type : IB
 Connection type : RC           Using SRQ      : OFF
 Mtu             : 4096[B]
 Link type       : IB
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 8388608    5000             392.42             392.40               0.005847
---------------------------------------------------------------------------------------
"""


def measured(tmp_path: Path, client: str, server: str, devices: object) -> object:
    cluster, platform = known(tmp_path, devices)
    case = Case("host_write_bandwidth", ("n1", "n2"), Pairing("mlx5_0"), (8388608,))
    pair = zip(commands(case, platform, cluster, 1), ("server", "client"), strict=True)
    run = [
        Transcript(
            *(one.node, one.argv, 0, HEADER.format(device=server if one.node == "n2" else client)),
            *("", 1.0),
            role=Role(role),
        )
        for one, role in pair
    ]
    return read(platform, case, CaseResult((tuple(reversed(run)),)))


def test_a_tool_that_names_the_device_of_the_node_agrees(tmp_path: Path) -> None:
    measured(tmp_path, "mlx5_0", "mlx5_1", {"n2": SWAPPED})


@pytest.mark.parametrize("server", ["mlx5_0", "mlx5_2"])
def test_a_tool_that_used_another_device_is_other_than_asked(tmp_path: Path, server: str) -> None:
    with pytest.raises(OtherThanAsked, match="device"):
        measured(tmp_path, "mlx5_0", server, {"n2": SWAPPED})


# --- the hostfile ---


def test_the_hostfile_keeps_the_names(tmp_path: Path) -> None:
    cluster, platform = known(tmp_path, {"n2": SWAPPED})
    assert cluster_from_json(json.loads(json.dumps(cluster_to_json(cluster)))) == cluster
    assert platform.devices.on("n2", "mlx5_0") == "mlx5_1"


@pytest.mark.parametrize(
    ("devices", "says"),
    [
        ({"n9": SWAPPED}, "devices: n9 is not under 'nodes'"),
        ({"n1": {"mlx5_99": "mlx5_0"}}, "h200 declares no mlx5_99, which n1 should have"),
        ({"n1": {"gpu8": "gpu0"}}, "declares no gpu8"),
        ({"n1": {"mlx5_0": "mlx5_1"}}, "mlx5_0 and mlx5_1 are both mlx5_1 on n1"),
        ({"n1": {"mlx5_0": "x", "mlx5_1": "x"}}, "mlx5_0 and mlx5_1 are both x on n1"),
        ({"n1": {"gpu0": "mlx5_0"}}, "gpu0 of n1 is mlx5_0"),
        ({"n1": {"mlx5_0": "a b"}}, "a b"),
        ({"n1": {}}, "devices"),
        ("mlx5_0", "devices"),
    ],
)
def test_ambiguous_names_are_refused(tmp_path: Path, devices: object, says: str) -> None:
    with pytest.raises(BadInput, match="devices") as caught:
        known(tmp_path, devices)
    assert says in str(caught.value)


def test_the_line_of_an_unknown_node_is_named(tmp_path: Path) -> None:
    path = tmp_path / "site.yaml"
    path.write_text("cluster: c\nplatform: p\nnodes: n1\ndevices:\n  n7: {mlx5_0: x}\n")
    with pytest.raises(HostfileError, match=r"site\.yaml:5: "):
        load(path, schema_file=ROOT / "hostfiles" / "schema.json")

"""The parts of a node: read where they can be, with a reason where not, and never guessed."""

from __future__ import annotations

import pytest
from testing.core_values import ROOT

from railgauge.core.codec import to_plain
from railgauge.core.devices import DeviceNames
from railgauge.facts import NodeFacts, from_json
from railgauge.facts.inventory import parts
from railgauge.facts.naming import declared
from railgauge.facts.parts import FIELDS, InventoryPart, PartKind, identifier, part
from railgauge.facts.pci import PciReport, parse_lspci
from railgauge.stacks import Section, StackFacts, stack

METAX = stack("metax")
DMI = {
    "sys/class/dmi/id/sys_vendor": "Dell Inc.",
    "sys/class/dmi/id/product_sku": "0A6B",
    "sys/class/dmi/id/product_serial": "7XK2M53",
    "sys/class/dmi/id/product_uuid": "4c4c4544-0058-4b10-8032-b7c04f4d3533",
}
BMC = "sys/class/ipmi/ipmi0/device/bmc"
VPD = """\
12:00.0 Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]
	Physical Slot: 3
	Capabilities: [48] Vital Product Data
		Product Name: NVIDIA ConnectX-7
		Read-only fields:
			[PN] InventoryPart number: MCX75310AAS-NEAT
			[EC] Engineering changes: A6
			[SN] Serial number: MT2324XZ0BUR
	Capabilities: [148] Device Serial Number 00-11-22-33-44-55-66-77
"""
LIST = """\
GPU#0    MXC500    0000:08:00.0    Available (UUID: GPU-6f0c1f6a-0001-4a1e-9c11-0f2e3d4c5b6a)
GPU#1    MXC500    0000:09:00.0    Available (UUID: GPU-6f0c1f6a-0002-4a1e-9c11-0f2e3d4c5b6a)
"""


def by_name(facts):
    return {one.name: one for one in facts.parts}


@pytest.fixture
def known(node):
    """The healthy node, with all that identifies its parts."""
    node.write(DMI)
    node.write({f"{BMC}/{name}": text for name, text in (
        ("firmware_revision", "7.10"), ("manufacturer_id", "0x0002a2"), ("product_id", "0x0100"),
        ("guid", "31303043-534d-2500-90d8-7a4f0000abcd"),
    )})  # fmt: skip
    node.write({"sys/class/infiniband/mlx5_0/node_guid": "a088:c203:005a:ab6c"})
    node.tool("lspci", VPD)
    node.tool("mx-list", LIST)
    node.script(
        "mx-smi", '[ "$1" = topo ] && exec mx-topo\n[ "$1" = -L ] && exec mx-list\nexec mx-table\n'
    )
    return node


def test_node_bmc_gpus_and_nics_are_identified(known):
    found = by_name(known.facts(METAX))
    assert list(found) == [
        *("node", "bmc", "gpu0", "gpu1", "mlx5_0"),
        *("nvme0", "nvme1", "nvme10"),
    ]
    assert found["node"] == InventoryPart(
        PartKind.NODE, "node", model="Dell Inc. PowerEdge XE9680", part_number="0A6B",
        serial="7XK2M53", uuid="4c4c4544-0058-4b10-8032-b7c04f4d3533", firmware="2.1.8",
    )  # fmt: skip
    assert found["bmc"].firmware == "7.10"
    assert found["bmc"].model == "manufacturer 0x0002a2, product 0x0100"
    nic = found["mlx5_0"]
    assert (nic.serial, nic.part_number, nic.slot) == ("MT2324XZ0BUR", "MCX75310AAS-NEAT", "slot 3")
    assert (nic.uuid, nic.firmware) == ("0xa088c203005aab6c", "28.43.3608")
    assert nic.model == "MT4129 MT_0000000838"
    assert nic.missing == {}
    disk = found["nvme10"]
    assert (disk.model, disk.serial, disk.firmware) == (
        "SAMSUNG MZQL23T8HCLS", "S64HNE0Rnvme10", "GDC5602Q",
    )  # fmt: skip
    assert (disk.address, disk.uuid, set(disk.missing)) == ("0000:01:00.0", None, {"slot"})
    gpu = found["gpu1"]
    assert gpu.uuid == "GPU-6f0c1f6a-0002-4a1e-9c11-0f2e3d4c5b6a"
    assert (gpu.address, gpu.firmware) == ("0000:09:00.0", "1.26.1.0")
    assert gpu.missing["serial"] == "mx-smi: does not show it"


def test_a_denied_file_names_root_and_the_remedy():
    dmi = Section("dmi", "sys_vendor:Dell Inc.\ndenied product_serial\ndenied product_uuid")
    facts = NodeFacts("mx01", bios="2.1.8")
    machine, *_ = parts(facts, {"dmi": dmi}, PciReport((), {}), StackFacts())
    assert machine.serial is None
    assert "only root can read it" in machine.missing["serial"]
    assert "become: sudo -n" in machine.missing["uuid"]
    assert machine.missing["part_number"] == "/sys/class/dmi/id: has no such file"


@pytest.mark.parametrize(
    "text",
    ["", "0", "0000000000000", "0x0000000000000000", "N/A", "To Be Filled By O.E.M.",
     "Default string", "System Serial Number", "Not Specified", "None",
     "ffffffff-ffff-ffff-ffff-ffffffffffff",
     "123456789", "A\x1b[31mB", "x" * 500, "Unknown", "Serial number"],
)  # fmt: skip
def test_a_placeholder_identifies_nothing(text):
    assert identifier(text) is None
    made = part(PartKind.BMC, "bmc", {"firmware": text}, {}, "no such file")
    assert made.firmware is None
    assert made.missing["firmware"].isprintable()


@pytest.mark.parametrize("text", ["7XK2M53", "1650033868595", "MT2324XZ0BUR", "0x1f3d5b79a0c1"])
def test_a_serial_number_is_kept(text):
    assert identifier(f" {text} ") == text


def test_every_field_of_a_part_is_read_or_has_a_reason(known):
    known.script("lspci", "exit 1\n")
    for one in known.facts(METAX).parts:
        for item in FIELDS[one.kind]:
            assert (getattr(one, item) is None) == (item in one.missing), (one.name, item)


def test_a_device_serial_number_is_no_product_data():
    report = parse_lspci(VPD)
    assert report.serials == {"0000:12:00.0": "MT2324XZ0BUR"}
    assert parse_lspci(VPD.replace("[SN] Serial", "Device Serial")).serials == {}


def test_the_tools_of_two_vendors_identify_their_gpus():
    smi = (
        "<nvidia_smi_log><driver_version>1</driver_version><attached_gpus>1</attached_gpus>"
        '<gpu id="00000000:19:00.0"><product_name>NVIDIA H200</product_name><serial>165</serial>'
        "<uuid>GPU-1</uuid><board_part_number>692-2G520</board_part_number>"
        "<gpu_module_id>3</gpu_module_id></gpu></nvidia_smi_log>"
    )
    found = stack("nvidia").parse({"nvidia-smi-q": Section("nvidia-smi-q", smi)})
    assert to_plain(found.identities[0]) == {
        "serial": "165", "uuid": "GPU-1", "part_number": "692-2G520", "slot": "module 3",
    }  # fmt: skip
    static = (
        '[{"gpu": 0, "asic": {"market_name": "MI300X", "asic_serial": "0xAB", "oam_id": 5},'
        ' "bus": {"bdf": "0000:0c:00.0"},'
        ' "board": {"model_number": "102-G3", "product_serial": "69"}}]'
    )
    found = stack("amd").parse({"amd-smi-static": Section("amd-smi-static", static)})
    assert to_plain(found.identities[0]) == {
        "serial": "69", "uuid": "0xab", "part_number": "102-G3", "slot": "OAM 5",
    }  # fmt: skip


def test_a_nic_without_an_hca_has_the_firmware_of_ethtool(known):
    device = known.root / "sys/devices/pci0000:00/0000:31:00.0"
    net = known.root / "sys/class/net/eth1"
    device.mkdir(parents=True)
    net.mkdir(parents=True)
    (net / "device").symlink_to("../../../devices/pci0000:00/0000:31:00.0")
    (device / "uevent").write_text("DRIVER=gve\nPCI_SLOT_NAME=0000:31:00.0\n")
    known.script("ethtool", 'echo "driver: gve"\necho "firmware-version: 1.9"\n')
    assert by_name(known.facts(METAX))["eth1"].firmware == "1.9"


def test_parts_have_the_declared_names(known):
    names = DeviceNames({"mx01": {"mlx5_7": "mlx5_0", "gpu0": "gpu1", "gpu1": "gpu0"}})
    found = by_name(declared(known.facts(METAX), names))
    assert found["mlx5_7"].serial == "MT2324XZ0BUR"
    assert found["gpu0"].uuid.endswith("0002-4a1e-9c11-0f2e3d4c5b6a")


def test_facts_of_earlier_versions_have_no_parts_and_say_so(known):
    data = to_plain(known.facts(METAX))
    del data["parts"]
    old = from_json(data)
    assert old.parts == ()
    assert old.missing["parts"] == "the version that collected these facts did not collect this one"


def test_the_probe_is_one_round_trip_for_all_of_it():
    script = (ROOT / "src/railgauge/facts/probe.sh").read_text()
    for name in ("dmi", "bmc", "ethtool"):
        assert script.count(f"section {name} ") == 1

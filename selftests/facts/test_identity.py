"""Two names for one machine are reported; machines that only look alike are not confused."""

from __future__ import annotations

import subprocess
import uuid
from dataclasses import replace

import pytest

from railgauge.facts import NodeFacts
from railgauge.facts.identity import confusions, exchanged, identity_argv, parse_identity
from railgauge.facts.model import GidFacts, NicFacts
from railgauge.facts.parts import InventoryPart, PartKind

BOOT = str(uuid.UUID(int=7, version=4))
OTHER_BOOT = str(uuid.UUID(int=8, version=4))


def nic(guid: int, link_layer: str | None = "InfiniBand", name: str = "mlx5_0") -> NicFacts:
    gid = f"fe80:0000:0000:0000:0000:0000:0000:{guid:04x}"
    return NicFacts(name, link_layer=link_layer, gids=(GidFacts(0, gid, None, "v1"),))


def node(name: str, number: int = 0, **changes) -> NodeFacts:
    """A machine with unique identifiers."""
    number = number or ord(name[0])
    boot = str(uuid.UUID(int=number, version=4))
    plain = NodeFacts(name, hostname=name, boot_id=boot, nics=(nic(number),))
    return replace(plain, **changes)


def test_different_machines_are_not_confused():
    assert confusions([node("a"), node("b"), node("c.site.example")]) == ()


def test_two_names_for_one_machine_are_reported():
    found = [node("a"), node("b"), node("c", number=ord("a"), hostname="a")]
    (line,) = confusions(found)
    assert line.startswith("a, c are 2 names of one machine: its host name is a, ")
    assert "hostfile" in line


def test_three_names_for_one_machine_are_one_confusion():
    found = [node(name, number=5, hostname="real.example") for name in ("a", "b", "c")]
    (line,) = confusions(found)
    assert line.startswith("a, b, c are 3 names of one machine")


def test_a_machine_without_tested_nics_is_recognised():
    found = [node(name, boot_id=BOOT, hostname="x", nics=()) for name in ("a", "b")]
    assert len(confusions(found)) == 1


def test_containers_of_one_machine_with_the_same_nic_are_reported():
    """Traffic between them would never leave the adapter."""
    found = [node(name, boot_id=BOOT, nics=(nic(9),)) for name in ("a", "b")]
    assert confusions(found)[0].startswith("a, b are 2 names of one machine")


@pytest.mark.parametrize(
    "changes",
    [
        {"boot_id": BOOT, "nics": ()},  # namespaces of one kernel
        {"boot_id": BOOT},  # containers, each with its own NIC
        {"hostname": "localhost"},  # machines without host names
        {"hostname": "localhost", "nics": ()},
        {"boot_id": None, "hostname": None, "nics": ()},
        {"hostname": None, "boot_id": BOOT, "nics": ()},
        {"nics": (nic(9, "Ethernet"),)},  # an address copied with a virtual machine
    ],
)
def test_machines_that_only_look_alike_are_not_confused(changes):
    assert confusions([node(name, **changes) for name in ("a", "b")]) == ()


def test_a_copy_of_a_running_machine_with_nics_of_its_own_is_another_one():
    found = [node(name, boot_id=BOOT, hostname="golden") for name in ("a", "b")]
    assert confusions(found) == ()


def test_exchanged_names_are_reported():
    found = [node("a", hostname="b.site.example"), node("b", hostname="A")]
    first, second = confusions(found)
    what = "a has the host name b.site.example, which is another node of the hostfile"
    assert first.startswith(what)
    assert second.startswith("b has the host name A,")


@pytest.mark.parametrize(
    ("names", "hostnames"),
    [
        (("n1.rack1", "n1.rack2"), ("n1", "n1")),
        (("n1.rack1", "n1.rack2"), ("n1.rack1", "n1.rack2")),
        (("a", "b"), ("a.x", "B.y")),
        (("10.0.0.1", "10.0.0.2"), ("n1", "n2")),
    ],
)
def test_right_names_are_not_reported(names, hostnames):
    pairs = zip(names, hostnames, (1, 2), strict=True)
    assert confusions([node(n, number, hostname=h) for n, h, number in pairs]) == ()


def test_a_duplicate_guid_is_reported_if_a_boot_id_is_unknown():
    ports = (nic(9), nic(10))
    found = [node("a", nics=ports), node("b", nics=ports, boot_id=None), node("c")]
    (line,) = confusions(found)
    assert line.startswith("a and b each have a port with the GUID 0000:0000:0000:0009")


def test_a_guid_of_two_running_kernels_is_left_to_the_test_of_addresses():
    assert confusions([node("a", nics=(nic(9),)), node("b", nics=(nic(9),))]) == ()


def test_ports_without_a_guid_share_none():
    found = [node(name, nics=(nic(0),)) for name in ("a", "b")]
    assert confusions(found) == ()


def test_the_identity_is_read_by_one_command(tmp_path):
    files = {
        "proc/sys/kernel/hostname": "viper\n",
        "proc/sys/kernel/random/boot_id": f"{BOOT}\n",
        "sys/class/infiniband/mlx5_0/ports/1/gids/0": "fe80:0000:0000:0000:248a:0703:00ac:5200\n",
        "sys/class/infiniband/mlx5_1/ports/1/gids/0": "fe80:0000:0000:0000:248a:0703:00ac:5201\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    done = subprocess.run(identity_argv(str(tmp_path)), capture_output=True, text=True, check=True)
    found = parse_identity("a", done.stdout)
    assert (found.hostname, found.boot_id) == ("viper", BOOT)
    assert [(n.name, n.gids[0].gid[-4:]) for n in found.nics] == [
        ("mlx5_0", "5200"),
        ("mlx5_1", "5201"),
    ]
    assert confusions([found, replace(found, node="b")]) != ()


@pytest.mark.parametrize("text", ["", "\n", "viper\n", "\0\n\0\n", "x y\nno id\nmlx5_0:what\n"])
def test_unknown_identities_are_not_confused(text):
    assert confusions([parse_identity("a", text), parse_identity("b", text)]) == ()


# --- the same node at another time ---


MACHINE = InventoryPart(PartKind.NODE, "node", serial="7XK2M53", uuid="4c4c4544-0058")
GPUS = tuple(InventoryPart(PartKind.GPU, f"gpu{i}", uuid=f"GPU-{i}") for i in range(2))
HCA = InventoryPart(PartKind.NIC, "mlx5_0", uuid="0xa088c203005aab6c", firmware="28.41.1")
KNOWN = NodeFacts("n1", machine_id="5f1d", boot_id=BOOT, parts=(MACHINE, *GPUS, HCA))


def test_a_machine_that_was_rebooted_is_the_same():
    later = replace(KNOWN, boot_id=OTHER_BOOT, hostname="n1", kernel="6.8")
    newer = replace(HCA, firmware="28.43.2")
    assert exchanged(KNOWN, later) == ()
    assert exchanged(KNOWN, replace(later, parts=(MACHINE, *reversed(GPUS), newer))) == ()


@pytest.mark.parametrize(
    ("part", "change"),
    [
        *((MACHINE, {"uuid": "x"}), (MACHINE, {"serial": "x"})),
        *((GPUS[1], {"uuid": "GPU-7"}), (HCA, {"uuid": "0x1"})),
    ],
)
def test_a_part_with_another_identity_is_another_part(part, change):
    parts = tuple(replace(one, **change) if one is part else one for one in KNOWN.parts)
    assert exchanged(KNOWN, replace(KNOWN, parts=parts)) == (part.name,)


def test_each_exchanged_part_is_named_once():
    parts = tuple(replace(p, uuid=f"{p.uuid}-2", serial="x") for p in KNOWN.parts)
    other = replace(KNOWN, machine_id="77aa", parts=parts)
    assert exchanged(KNOWN, other) == ("machine id", "node", "gpu0", "gpu1", "mlx5_0")


def test_a_part_that_is_gone_or_came_back_is_not_exchanged():
    fewer = replace(KNOWN, parts=(MACHINE, GPUS[0], HCA))
    assert exchanged(KNOWN, fewer) == ()
    assert exchanged(fewer, KNOWN) == ()


def test_unread_values_identify_nothing():
    for blind in (NodeFacts("n1"), replace(KNOWN, machine_id=None, parts=())):
        assert exchanged(KNOWN, blind) == ()
        assert exchanged(blind, KNOWN) == ()

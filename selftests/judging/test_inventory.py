"""What is odd among peers, and what was exchanged between two inventories."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest

from railgauge.core.errors import NoEvidence
from railgauge.facts import NodeFacts
from railgauge.facts.parts import InventoryPart, PartKind
from railgauge.judging.exchanged import changes
from railgauge.judging.inventory import COLUMNS, inventory

FIRMWARE = "28.43.3608"
NODE = InventoryPart(PartKind.NODE, "node", model="XE9680", firmware="2.1")


def gpu(node, place, **others):
    one = InventoryPart(
        PartKind.GPU, f"gpu{place}", f"0000:{place + 16:02x}:00.0", f"module {place}", "H200",
        "692-2G520", f"165{node}{place}", f"GPU-{node}-{place}", "96.00.99",
    )  # fmt: skip
    return replace(one, **others)


def nic(node, name="mlx5_0", address="0000:12:00.0", **others):
    one = InventoryPart(
        PartKind.NIC, name, address, "slot 3", "MT4129 MT_838", "MCX75310AAS", f"MT24{node}{name}",
        f"0xa088c20300000{node}", FIRMWARE,
    )  # fmt: skip
    return replace(one, **others)


def cluster(**changed):
    """Three nodes with two GPUs and a NIC each; ``n2_gpu1`` names a part to replace."""
    found = {}
    for number in (1, 2, 3):
        parts = [
            replace(NODE, serial=f"NODE{number}"),
            gpu(number, 0), gpu(number, 1), nic(number),
        ]  # fmt: skip
        kept = tuple(changed.get(f"n{number}_{one.name}", one) for one in parts)
        found[f"n{number}"] = NodeFacts(f"n{number}", parts=tuple(filter(None, kept)))
    return found


def odd(found):
    return {row.place: row.odd for row in inventory(found).odd}


def test_equal_parts_are_not_odd():
    assert odd(cluster()) == {}
    assert inventory(cluster()).lacking == ()


@pytest.mark.parametrize(
    ("item", "value", "says"),
    [
        ("firmware", "96.00.61", "VBIOS 96.00.61, but 5 of 6 have 96.00.99"),
        ("part_number", "692-2G506", "part number 692-2G506, but 5 of 6 have 692-2G520"),
        ("model", "H100", "model H100, but 5 of 6 have H200"),
        ("serial", None, "no serial number, but 5 of 6 have one"),
        ("serial", "16510", "the serial number is also that of n1 gpu0"),
        ("uuid", "GPU-1-0", "the UUID is also that of n1 gpu0"),
    ],
)
def test_a_part_that_differs_is_marked(item, value, says):
    found = odd(cluster(n2_gpu1=gpu(2, 1, **{item: value})))
    assert found["n2 gpu1"] == (says,)
    others = {"n1 gpu0"} if "is also" in says else set()
    assert set(found) == {"n2 gpu1"} | others


def test_a_duplicate_guid_of_two_nics_is_marked_at_both():
    found = odd(cluster(n3_mlx5_0=nic(3, uuid="0xa088c203000001")))
    assert found == {
        "n1 mlx5_0": ("the GUID is also that of n3 mlx5_0",),
        "n3 mlx5_0": ("the GUID is also that of n1 mlx5_0",),
    }


def test_two_ports_of_one_nic_have_one_serial_number():
    both = cluster()
    second = nic(1, "mlx5_1", "0000:12:00.1", serial=nic(1).serial, uuid="0xa0")
    one = both["n1"]
    assert odd({**both, "n1": replace(one, parts=(*one.parts, second))}) == {}
    elsewhere = replace(second, address="0000:99:00.1")
    found = odd({**both, "n1": replace(one, parts=(*one.parts, elsewhere))})
    assert set(found) == {"n1 mlx5_0", "n1 mlx5_1"}


def test_two_equal_halves_are_both_marked():
    two = {
        name: facts
        for name, facts in cluster(n2_mlx5_0=nic(2, firmware="1")).items()
        if name != "n3"
    }
    assert odd(two) == {
        "n1 mlx5_0": (f"firmware {FIRMWARE}, and as many peers have another",),
        "n2 mlx5_0": ("firmware 1, and as many peers have another",),
    }


def test_a_node_without_facts_is_listed_as_such():
    found = {**cluster(), "n4": NoEvidence("no route to host")}
    assert inventory(found).lacking == (("n4", "the node was not surveyed: no route to host"),)
    lost = replace(cluster()["n1"], missing={"gpus": "nvidia-smi: command not found (exit 127)"})
    lacking_nodes = inventory({"n1": lost}).lacking
    assert lacking_nodes == (("n1", "gpus: nvidia-smi: command not found (exit 127)"),)


def test_the_csv_has_all_parts_and_starts_no_formula():
    hostile = gpu(2, 1, serial='=HYPERLINK("http://x")', model='a,b"c')
    rows = list(csv.reader(io.StringIO(inventory(cluster(n2_gpu1=hostile)).csv())))
    assert rows[0] == list(COLUMNS)
    assert len(rows) == 13
    (found,) = [row for row in rows if row[0] == "n2" and row[2] == "gpu1"]
    assert found[7] == '\'=HYPERLINK("http://x")'
    assert found[5] == 'a,b"c'
    assert all(len(row) == len(COLUMNS) for row in rows)


# --- exchanged ---


def differences(before, after):
    return [(one.place, one.kind, one.says) for one in changes(inventory(before), inventory(after))]


def test_equal_inventories_have_no_changes():
    assert differences(cluster(), cluster()) == []


def test_another_serial_number_at_the_place_is_an_exchange():
    after = cluster(n2_gpu1=gpu(2, 1, serial="999", uuid="GPU-new"))
    assert differences(cluster(), after) == [
        ("n2 gpu1", "exchanged", "serial number 16521 -> serial number 999")
    ]


def test_two_parts_that_swapped_their_places_are_two_exchanges():
    after = cluster(
        n1_gpu0=gpu(1, 0, serial="16520", uuid="GPU-2-0"),
        n2_gpu0=gpu(2, 0, serial="16510", uuid="GPU-1-0"),
    )
    assert differences(cluster(), after) == [
        ("n1 gpu0", "exchanged",
         "serial number 16510 (is now n2 gpu0) -> serial number 16520 (was before n2 gpu0)"),
        ("n2 gpu0", "exchanged",
         "serial number 16520 (is now n1 gpu0) -> serial number 16510 (was before n1 gpu0)"),
    ]  # fmt: skip


def test_a_uuid_decides_where_the_serial_number_cannot_be_read():
    before = cluster(n1_gpu0=gpu(1, 0, serial=None))
    after = cluster(n1_gpu0=gpu(1, 0, serial=None, uuid="GPU-other"))
    assert differences(before, after) == [
        ("n1 gpu0", "exchanged", "UUID GPU-1-0 -> UUID GPU-other")
    ]


def test_parts_without_identifiers_are_not_called_the_same():
    after = cluster(n1_gpu0=gpu(1, 0, serial=None, uuid=None))
    ((place, kind, says),) = differences(cluster(), after)
    assert (place, kind) == ("n1 gpu0", "not known")
    assert "the second inventory has neither serial number nor UUID" in says


def test_changed_firmware_of_the_same_part_is_a_change():
    after = cluster(n3_mlx5_0=nic(3, firmware="28.99"))
    assert differences(cluster(), after) == [
        ("n3 mlx5_0", "changed", f"firmware {FIRMWARE} -> 28.99")
    ]


def test_added_and_removed_parts_and_nodes_are_listed():
    lost = cluster(n2_gpu1=None)
    assert differences(cluster(), lost) == [("n2 gpu1", "removed", "serial number 16521")]
    assert differences(lost, cluster()) == [("n2 gpu1", "added", "serial number 16521")]
    fewer = {name: facts for name, facts in cluster().items() if name != "n3"}
    assert differences(cluster(), fewer) == [("n3", "removed", "it is not in the second inventory")]
    silent = {**cluster(), "n3": NoEvidence("no route to host")}
    ((place, kind, says),) = differences(cluster(), silent)
    assert (place, kind) == ("n3", "not known")
    assert "no route to host" in says


def test_a_nic_with_another_name_in_the_same_slot_is_the_same():
    after = cluster(n1_mlx5_0=nic(1, "mlx5_9", serial=nic(1).serial))
    assert differences(cluster(), after) == []

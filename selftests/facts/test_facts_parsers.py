"""Each reader against recorded outputs and their ground truths, and against unusual lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railgauge.facts import host
from railgauge.facts.ibtools import (
    parse_ibdev2netdev,
    parse_ibv_devices,
    parse_ibv_devinfo,
    parse_show_gids,
)
from railgauge.facts.pci import parse_lspci


def text(shared, name):
    path = shared / name
    if not path.is_file():
        pytest.skip(f"{name} is not among the recorded outputs")
    return path.read_text(errors="replace")


# --- ibdev2netdev ---


def test_ibdev2netdev_is_read_with_v(shared):
    lines = parse_ibdev2netdev(text(shared, "transcripts/metax-ibdev2netdev.txt"))
    assert [(i.name, i.pci_address, i.hca_type, i.part_number) for i in lines] == [
        ("mlx5_0", "0000:12:00.0", "MT4129", "MCX75310AAS-NEAT"),
        ("mlx5_1", "0000:33:00.0", "MT4129", "MCX75310AAS-NEAT"),
        ("mlx5_2", "0000:57:00.0", "MT41692", "900-9D3B6-00SV-AA0"),
    ]
    assert [(i.netdev, i.link, i.port_state) for i in lines] == [
        ("ib0", "Up", "ACTIVE"),
        ("ib1", "Up", "ACTIVE"),
        ("net1", "Up", "ACTIVE"),
    ]
    assert lines[2].firmware == "32.43.1014"


def test_ibdev2netdev_is_read_without_v(shared):
    spark = parse_ibdev2netdev(text(shared, "corpus/ib-tools/006-ibdev2netdev-spark-up-down.txt"))
    assert [(i.name, i.link) for i in spark[:2]] == [("rocep1s0f0", "Up"), ("rocep1s0f1", "Down")]
    eight = {
        i.name: i
        for i in parse_ibdev2netdev(text(shared, "corpus/ib-tools/023-ibdev2netdev-8hca.txt"))
    }
    assert (len(eight), eight["mlx5_5"].netdev, eight["mlx5_7"].link) == (8, "ib0", "Down")
    assert eight["mlx5_5"].part_number is None


def test_a_blank_part_number_of_ibdev2netdev_is_none(shared):
    first, second = parse_ibdev2netdev(
        text(shared, "corpus/ib-tools/025-ibdev2netdev-v-cx7-blank-desc.txt")
    )
    assert (first.pci_address, first.part_number) == ("0005:03:00.0", None)
    assert (first.firmware, first.netdev, second.netdev) == ("28.39.3004", "cx7_0", "cx7_1")


def test_a_port_that_is_down_is_read_from_ibdev2netdev():
    line = "0000:12:00.0 mlx5_0 (MT4119 - NA)  fw 16.1 port 1 (DOWN  ) ==> ens1 (Down)"
    (found,) = parse_ibdev2netdev(line)
    assert (found.port_state, found.part_number) == ("DOWN", None)


# --- ibv_devices ---


def test_ibv_devices_is_read(shared):
    listed = parse_ibv_devices(text(shared, "transcripts/cx4-ibv_devices.txt"))
    assert listed == {"mlx5_0": "0x248a070300ac5414"}
    assert parse_ibv_devices("No IB devices found\n") == {}


# --- show_gids ---


@pytest.mark.parametrize(
    ("name", "count", "row"),
    [
        ("transcripts/metax-show_gids.txt", 8, ("mlx5_2", 3, "v2", "10.7.96.17", "net1")),
        ("transcripts/metax-show_gids.txt", 8, ("mlx5_0", 0, "v1", None, None)),
        (
            "corpus/ib-tools/028-show_gids-gb10.txt",
            12,
            ("rocep1s0f0", 3, "v2", "192.168.100.10", "enp1s0f0np0"),
        ),
        (
            "corpus/ib-tools/030-show_gids-huawei-hrn3-bond.txt",
            4,
            ("hrn3_bond_0", 1, "v2", "10.105.180.3", "bond0"),
        ),
        (
            "corpus/ib-tools/031-show_gids-mlx5-bond.txt",
            4,
            ("mlx5_bond_0", 3, "v2", "10.96.83.26", "bond0"),
        ),
    ],
)
def test_show_gids_is_read(shared, name, count, row):
    lines = parse_show_gids(text(shared, name))
    assert len(lines) == count
    assert row in [(i.name, i.index, i.version, i.ipv4, i.netdev) for i in lines]


# --- ibv_devinfo ---


def ports(found):
    return {(port.name, port.port): port for port in found}


def test_ibv_devinfo_is_read(shared):
    azure = ports(parse_ibv_devinfo(text(shared, "corpus/ib-tools/001-ibv_devinfo-azure-hdr.txt")))[
        "mlx5_ib0", 1
    ]
    assert azure.device["fw_ver"] == "20.31.1014"
    assert azure.fields["state"] == "PORT_ACTIVE (4)"
    assert [azure.number(f) for f in ("active_mtu", "sm_lid", "port_lid")] == [4096, 549, 958]


def test_ibv_devinfo_is_read_in_any_order(shared):
    found = ports(parse_ibv_devinfo(text(shared, "corpus/ib-tools/033-ibv_devinfo-8hca-mixed.txt")))
    assert len(found) == 8
    ib, ethernet = found["mlx5_5", 1], found["mlx5_3", 1]
    assert (ib.device["fw_ver"], ib.number("port_lid")) == ("20.30.1004", 18)
    assert (ib.fields["link_layer"], ethernet.number("active_mtu")) == ("InfiniBand", 1024)


def test_ibv_devinfo_is_read_with_v(shared):
    (port,) = parse_ibv_devinfo(text(shared, "corpus/ib-tools/034-ibv_devinfo-v-cx4lx.txt"))
    assert port.device["max_qp"] == "262144"
    assert port.fields["active_speed"] == "10.0 Gbps (4)"
    assert (port.fields["phys_state"], port.number("active_mtu")) == ("DISABLED (3)", 1024)
    assert port.number("max_vl_num") is None


def test_a_node_without_devices_yields_nothing():
    assert parse_ibv_devinfo("No IB devices found\n") == ()


# --- lspci ---


def test_the_output_of_grep_for_acsctl_is_read(shared):
    lines = text(shared, "transcripts/metax-lspci-acsctl.txt")
    assert parse_lspci(lines).acs_enabled == ()
    assert parse_lspci(lines).problem == ""
    third_on = "\n".join(
        line.replace("ReqRedir-", "ReqRedir+") if i == 2 else line
        for i, line in enumerate(lines.splitlines())
    )
    assert parse_lspci(third_on).acs_enabled == ("bridge #3",)


def test_lspci_names_the_switch_port(shared):
    full = text(shared, "corpus/host/001-lspci-vvv-pex890-acs-off-downgraded.txt")
    assert parse_lspci(full).acs_enabled == ()
    on = full.replace("TransBlk- ReqRedir-", "TransBlk- ReqRedir+")
    assert parse_lspci(on).acs_enabled == ("0000:17:00.0", "0000:17:01.0")


def test_part_numbers_are_read_from_lspci(shared):
    full = text(shared, "corpus/host/004-lspci-vvv-connectx.txt")
    assert parse_lspci(full).part_numbers == {"0000:1a:00.0": "MCX75310AAS-NEAT"}


REDIRECTING = {"ReqRedir", "CmpltRedir", "EgressCtrl"}
ACS_BITS = (*REDIRECTING, "SrcValid", "TransBlk", "UpstreamFwd", "DirectTrans")


@pytest.mark.parametrize("bit", sorted(ACS_BITS))
def test_lspci_counts_the_bits_that_redirect_peer_traffic(bit):
    control = " ".join(flag + ("+" if flag == bit else "-") for flag in ACS_BITS)
    able = " ".join(f"{flag}+" for flag in ACS_BITS)
    found = parse_lspci(f"17:00.0 x\n\tACSCap:\t{able}\n\tACSCtl:\t{control}\n")
    assert found.acs_enabled == (("0000:17:00.0",) if bit in REDIRECTING else ())


def test_lspci_finds_redirects_without_source_validation():
    on = "17:00.0 x\n\tACSCtl:\tSrcValid- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl-\n"
    assert parse_lspci(on).acs_enabled == ("0000:17:00.0",)


def test_lspci_that_lists_nothing_is_no_evidence():
    assert parse_lspci("").problem == "lists no devices"
    assert parse_lspci("0001:17:00.0 PCI bridge: x\n").problem == ""


# --- the host's own files ---


@pytest.mark.parametrize(
    ("words", "count"),
    [
        ("0-223\n", 224),
        ("0-55,112-167", 112),
        ("0", 1),
        ("cpu0\ncpu1\ncpu10\n", 3),
        ("cpu[0-9]*", None),
        ("5-1", None),
        ("", None),
        ("0-3,x", None),
    ],
)
def test_cpus_and_numa_nodes_are_counted(words, count):
    assert host.parse_count(words) == count


@pytest.mark.parametrize(
    ("line", "memlock"),
    [
        ("Max locked memory         unlimited            unlimited            bytes", "unlimited"),
        ("Max locked memory         67108864             67108864             bytes", "67108864"),
        ("Max locked memory", None),
        ("Max cpu time              unlimited            unlimited            seconds", None),
    ],
)
def test_the_limit_of_locked_memory_is_read(line, memlock):
    assert host.parse_memlock(f"Limit Soft Hard Units\n{line}\n") == memlock


def test_loaded_modules_are_read():
    lines = (
        "nvidia_peermem 16384 0 - Live 0x0000000000000000 (POE)\n"
        "ib_core 450560 9 nvidia_peermem,rdma_cm, Live 0xffffffffc0a00000\n"
    )
    assert host.parse_modules(lines) == ("ib_core", "nvidia_peermem")
    assert host.parse_modules(lines + "cat: /proc/modules: Input/output error\n") is None


def test_the_name_of_the_distribution_is_read():
    assert host.parse_os("ID=rhel\nPRETTY_NAME='Rocky Linux 9.4'\n") == "Rocky Linux 9.4"
    assert host.parse_os("ID=rhel\n") is None


def test_flags_and_lines_are_read():
    assert (host.parse_flag("1\n"), host.parse_flag("on"), host.parse_flag("")) == (1, None, None)
    assert (host.parse_line("mx01\n"), host.parse_line("a b"), host.parse_line("")) == (
        "mx01",
        None,
        None,
    )


@given(st.sets(st.integers(0, 300)))
def test_cpu_lists_round_trip(cpus):
    assert host.parse_cpu_list(host.format_cpu_list(cpus)) == tuple(sorted(cpus))


def test_cpu_lists_are_read():
    assert host.format_cpu_list(range(1, 17)) == "1-16"
    assert host.parse_cpu_list("0-51,104-155\n") == (*range(52), *range(104, 156))
    assert host.parse_cpu_list("0-99999999") is None
    assert host.parse_cpu_list("0-") is None


# --- what a machine is ---


@pytest.mark.parametrize(
    ("lines", "model"),
    [
        ("model name\t: AMD EPYC 9654 96-Core  Processor \n", "AMD EPYC 9654 96-Core Processor"),
        ("CPU implementer\t: 0x41\nCPU part\t: 0xd4f\n", "CPU implementer 0x41; CPU part 0xd4f"),
        ("cpu\t\t: POWER9, altivec supported\n", "POWER9, altivec supported"),
        ("model name\t: A\nmodel name\t: B\n", "A; B"),
        ("model name\t:\n", None),
        ("cpu MHz\t\t: 3000.000\n", None),
        ("", None),
    ],
)
def test_the_processor_is_read_by_name(lines, model):
    assert host.parse_cpu_model(lines) == model


def test_this_machine_has_a_processor_and_memory():
    with open("/proc/meminfo", encoding="ascii") as file:  # noqa: PTH123 - procfs
        text = file.read()
    assert host.parse_memory(text) > 0
    assert host.parse_memory("MemFree: 1 kB\n") is None


def test_a_machine_id_is_stored_as_a_digest():
    one, other = "4d3e0f6a9b1c4f7e8a2d5c6b7e8f9a0b", "4d3e0f6a9b1c4f7e8a2d5c6b7e8f9a0c"
    digests = {host.parse_machine_id(f"{text}\n") for text in (one, other)}
    assert len(digests) == 2
    assert host.parse_machine_id(one) in digests
    assert not digests & {one, other}


@pytest.mark.parametrize("text", ["", "\n", "uninitialized\n", "4d3e\n", "no such file\n"])
def test_an_emptied_machine_id_is_none(text):
    assert host.parse_machine_id(text) is None

"""Tools of the host and of the fabric against recorded outputs, and against damage."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railgauge.facts import counters, cpu, fabric, pci_links
from railgauge.facts.host import format_cpu_list, parse_cpu_list


@pytest.fixture
def recorded(shared):
    return lambda name: (shared / name).read_text()


# --- lspci ---


def test_downgraded_link(recorded):
    links = pci_links.parse_pci_links(
        recorded("corpus/host/001-lspci-vvv-pex890-acs-off-downgraded.txt")
    )
    slow, whole = links["0000:17:00.0"], links["0000:17:01.0"]
    assert (slow.speed_gts, slow.max_speed_gts, slow.width, slow.downgraded) == (16, 32, 4, True)
    assert slow.acs_redirects is False
    assert (whole.speed_gts, whole.downgraded) == (32, False)
    assert links["0000:16:00.0"].acs_redirects is None


@pytest.mark.parametrize(
    ("name", "address"),
    [("003-lspci-vvv-h100-gpu", "0000:19:00.0"), ("004-lspci-vvv-connectx", "0000:1a:00.0")],
)
def test_link_of_an_endpoint(recorded, name, address):
    link = pci_links.parse_pci_links(recorded(f"corpus/host/{name}.txt"))[address]
    assert (link.speed_gts, link.width, link.max_speed_gts, link.max_width) == (32, 16, 32, 16)
    assert (link.downgraded, link.numa_node) == (False, 0)
    assert (link.max_payload_bytes, link.max_read_request_bytes) == (256, 4096)


def test_old_lspci_says_nothing_of_a_downgrade():
    text = "01:00.0 NIC\n\t\tLnkCap: Speed 8GT/s, Width x16\n\t\tLnkSta: Speed 8GT/s, Width x8\n"
    assert pci_links.parse_pci_links(text)["0000:01:00.0"].downgraded
    assert not pci_links.parse_pci_links(text[:40])["0000:01:00.0"].downgraded


def test_tree_of_document_000(recorded):
    leaves = pci_links.parse_pci_tree(recorded("transcripts/metax-lspci-vt.txt"))
    gpus = {leaf.address: leaf.buses for leaf in leaves if leaf.name == "Device 9999:4001"}
    nics = {leaf.address: leaf.buses for leaf in leaves if "MT2910" in leaf.name}
    assert set(gpus) == {
        f"0000:{bus}:00.0" for bus in ("08", "09", "0e", "11", "32", "38", "3b", "3c")
    }
    # The GPUs that mx-smi calls PIX to a NIC hang under the same switch as it does.
    assert gpus["0000:11:00.0"][:-1] == nics["0000:12:00.0"][:-1]
    assert gpus["0000:32:00.0"][:-1] == nics["0000:33:00.0"][:-1]


# --- CPUs ---


def test_numactl(recorded):
    one = cpu.parse_numactl(recorded("corpus/host/009-numactl-H-1node.txt"))
    assert one == {0: cpu.NumaNode(tuple(range(8)), 32116, (10,))}
    eight = cpu.parse_numactl(recorded("corpus/host/011-numactl-H-8node-amd.txt"))
    assert (len(eight), eight[0].cpus) == (8, (*range(16), *range(128, 144)))
    assert eight[7].distances == (32, 32, 32, 32, 12, 12, 12, 10)


def test_numactl_with_a_node_of_memory_only():
    nodes = cpu.parse_numactl("node 0 cpus: 0 1\nnode 1 cpus:\nnode 1 size: 512 MB\n")
    assert nodes[1] == cpu.NumaNode((), 512)


def test_lscpu(recorded):
    arm = cpu.parse_lscpu(recorded("corpus/host/019-lscpu-J-graviton-arm.txt"))
    assert arm == cpu.CpuFacts("Neoverse-N1", 64, 1, 64, 1, 1, {"0": "0-63"})
    guest = cpu.parse_lscpu(recorded("corpus/host/021-lscpu-J-ovh-vm.txt"))
    assert (guest.model, guest.cpus, guest.sockets, guest.threads_per_core) == (
        "AMD EPYC 9354 32-Core Processor",
        60,
        60,
        1,
    )
    cut = cpu.parse_lscpu(recorded("corpus/host/012-lscpu-numa-excerpt-amd.txt"))
    assert (cut.numa_nodes, cut.numa_cpus["0"], cut.model) == (8, "0-15,128-143", None)
    inner = '{"field": "CPU(s):", "data": "4"}'
    nested = f'{{"lscpu": [{{"field": "Model name:", "data": "x", "children": [{inner}]}}]}}'
    assert (cpu.parse_lscpu(nested).model, cpu.parse_lscpu(nested).cpus) == ("x", 4)


def test_cpupower(recorded):
    (one,) = cpu.parse_cpupower(recorded("corpus/host/005-cpupower-frequency-info-pcc.txt"))
    assert (one.min_mhz, one.max_mhz, one.current_mhz) == (1200, 2200, 2380)
    assert (one.governor, one.current_by, one.boost_active) == ("performance", "hardware", True)
    four = cpu.parse_cpupower(
        recorded("corpus/host/006-cpupower-frequency-info-multi-intel_pstate.txt")
    )
    assert [row.current_mhz for row in four] == [1220, 1220, 871, 868]
    assert (four[0].min_mhz, four[0].max_mhz, four[0].current_by) == (800, 3000, "kernel")
    (mx,) = cpu.parse_cpupower(recorded("transcripts/metax-cpupower-frequency-info.txt"))
    assert (mx.cpu, mx.governor, mx.max_mhz, mx.current_mhz) == (31, "performance", 3800, 3000)


def test_interrupts(recorded):
    whole = cpu.parse_interrupts(recorded("corpus/host/014-proc-interrupts-generic.txt"))
    assert (whole["16"].counts, whole["1"].counts) == ((3545, 0), (0, 73))
    assert (whole["16"].action, whole["ERR"].counts) == ("vmwgfx, snd_ens1371", (0,))
    grepped = cpu.parse_interrupts(recorded("corpus/host/016-proc-interrupts-mlx5-12cpu.txt"))
    assert grepped["114"].total == 1_024_477
    queues = [
        row
        for row in grepped.values()
        if row.pci_address == "0000:01:00.0" and "_comp" in row.action
    ]
    assert len(queues) == 12
    old = cpu.parse_interrupts(recorded("corpus/host/017-proc-interrupts-mlx5-azure-el7.txt"))
    assert (old["29"].counts, old["3"].action) == ((152455, *[0] * 7), "")
    assert sum("mlx5_comp" in row.action for row in old.values()) == 16


def test_interrupt_of_a_guest_whose_chip_has_blanks():
    line = "  26:   7   0  Hyper-V PCIe MSI 4128768-edge      mlx5_async0@pci:0001:00:00.0\n"
    row = cpu.parse_interrupts(line)["26"]
    assert (row.chip, row.pci_address) == ("Hyper-V PCIe MSI 4128768-edge", "0001:00:00.0")


@given(st.sets(st.integers(0, 300)))
def test_cpu_lists_round_trip(cpus):
    assert parse_cpu_list(format_cpu_list(cpus)) == tuple(sorted(cpus))


def test_cpu_lists():
    assert format_cpu_list(range(1, 17)) == "1-16"
    assert parse_cpu_list("0-51,104-155\n") == (*range(52), *range(104, 156))
    assert parse_cpu_list("0-99999999") is None
    assert parse_cpu_list("0-") is None


# --- counters ---


def test_named_counters(recorded):
    found = counters.parse_named_counters(recorded("corpus/host/015-ethtool-S-mlx5-discards.txt"))
    assert found["rx_discards_phy"] == 58_591_428_329
    assert (found["rx_out_of_buffer"], found["tx_discards_phy"]) == (990_473_555, 0)
    shown = counters.parse_named_counters(recorded("transcripts/metax-show_counters.txt"))
    assert (shown["rx_write_requests"], shown["out_of_sequence"]) == (143_924, 0)


def test_perfquery(recorded):
    (port,) = counters.parse_perfquery(
        recorded("corpus/ib-tools/011-perfquery-E-rcv-error-details.txt")
    )
    assert (port.kind, port.lid, port.port) == ("PortRcvErrorDetails", 2052, 1)
    errors = {name: value for name, value in port.counters.items() if "Select" not in name}
    assert (len(errors), set(errors.values())) == (6, {0})


def test_ibqueryerrors(recorded):
    found = counters.parse_ibqueryerrors(recorded("corpus/ib-tools/019-ibqueryerrors-port-ALL.txt"))
    assert (found[0].node, found[0].port) == ("nodeA mlx4_0", "1")
    assert found[0].counters["VL15Dropped"] == 14
    switch = found[-1]
    assert (switch.port, switch.counters["PortXmitDiscards"]) == ("ALL", 15_854)
    assert switch.counters["LinkDownedCounter"] == 48


# --- the fabric ---


def test_rdma_link(recorded):
    links = fabric.parse_rdma_link(recorded("corpus/ib-tools/027-rdma-link-gb10.txt"))
    assert (links[0].name, links[0].state, links[0].physical_state) == (
        "rocep1s0f0",
        "ACTIVE",
        "LINK_UP",
    )
    assert (links[1].name, links[1].state, links[1].physical_state) == (
        "rocep1s0f1",
        "DOWN",
        "DISABLED",
    )


def test_iblinkinfo(recorded):
    links = fabric.parse_iblinkinfo(recorded("corpus/ib-tools/020-iblinkinfo-edr-and-down.txt"))
    first, last = links[0], links[-1]
    assert (first.lid, first.width, first.lane_gbps, first.state) == (4, 4, 25.78125, "Active")
    assert (first.peer_lid, first.peer_port) == (2, 17)
    assert (last.kind, last.lid, last.port) == ("Switch", 2, 1)
    assert (last.state, last.physical_state, last.width) == ("Down", "Polling", None)


def test_ibnetdiscover_by_port(recorded):
    rows = fabric.parse_ibnetdiscover(recorded("corpus/ib-tools/007-ibnetdiscover-p-ports.txt"))
    first = rows.ports[0]
    assert (first.kind, first.lid, first.guid) == ("CA", 134, "0x7cfe9003003b4bde")
    assert (first.speed, first.peer_lid, first.peer) == ("4xEDR", 1719, "ib-i1l1s01")
    assert [port.speed for port in rows.ports if not port.peer] == ["4x???", "4xSDR"]
    named = fabric.parse_ibnetdiscover(
        recorded("corpus/ib-tools/008-ibnetdiscover-p-quoted-names.txt")
    )
    assert (named.ports[0].lid, named.ports[0].speed) == (78, "4xHDR")
    last = named.ports[-1]
    assert (last.lid, last.port, last.speed, last.peer) == (478, 22, "4xQDR", "")


def test_ibnetdiscover_by_node(recorded):
    leaf = fabric.parse_ibnetdiscover(
        recorded("corpus/ib-tools/015-ibnetdiscover-ndr-leaf-fragment.txt")
    )
    first = leaf.ports[0]
    assert (first.guid, first.lid, first.port) == ("S-2c5eab0300b87b40", 73, 1)
    assert (first.peer_lid, first.speed) == (647, "4xNDR")
    hdr = fabric.parse_ibnetdiscover(
        recorded("corpus/ib-tools/016-ibnetdiscover-hdr-with-s-w-v-e.txt")
    )
    assert (hdr.problem, hdr.ports[0].guid, hdr.ports[0].lid) == ("", "S-0ff08c43213b3f30", 387)
    assert (hdr.ports[-1].kind, hdr.ports[-1].lid) == ("CA", 150)


def test_record_without_ports_is_named(recorded):
    cut = fabric.parse_ibnetdiscover(
        recorded("corpus/ib-tools/014-ibnetdiscover-truncated-bad.txt")
    )
    assert cut.problem == "no port of H-b8e92403009ca838"
    assert fabric.parse_ibnetdiscover("").problem == "lists no node"


def test_ibswinfo(recorded):
    switch = fabric.parse_ibswinfo(recorded("corpus/ib-tools/012-ibswinfo-mqm.txt"))
    assert (switch["firmware version"], switch["PSID"]) == ("11.2008.2102", "MT_1880110032")
    assert (switch["fan status"], switch["PSU1/power (W)"]) == ("ERROR", "71")
    odd = fabric.parse_ibswinfo(recorded("corpus/ib-tools/013-ibswinfo-psu-error.txt"))
    assert (odd["PSU0/status"], odd["PSU0/power (W)"], odd["fan#1 (rpm)"]) == ("OK", "foo", "8493")


PARSERS = [
    pci_links.parse_pci_links,
    pci_links.parse_pci_tree,
    cpu.parse_numactl,
    cpu.parse_lscpu,
    cpu.parse_cpupower,
    cpu.parse_interrupts,
    counters.parse_named_counters,
    counters.parse_perfquery,
    counters.parse_ibqueryerrors,
    fabric.parse_rdma_link,
    fabric.parse_iblinkinfo,
    fabric.parse_ibnetdiscover,
    fabric.parse_ibswinfo,
]


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.__name__)
@given(text=st.text())
def test_garbage_never_crashes(parser, text):
    parser(text)


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.__name__)
@pytest.mark.parametrize("filler", [" ", "0 ", "a", "[", "[1] ", "| ", "{", '"', "4x "])
def test_long_lines_and_many_are_read_in_time(parser, filler):
    started = time.perf_counter()
    for head in ("", "node 0 cpus: ", "12: ", 'Switch 1 "S-1" # "', "# x: Lid 1 port 1", "a: "):
        parser(head + filler * 100_000)
        parser(f"{head}{filler * 20}\n" * 5000)
    assert time.perf_counter() - started < 60

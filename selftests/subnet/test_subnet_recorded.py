"""Recorded outputs of the subnet tools, and every reader against damaged ones."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from testing.places import SHARED

from railgauge.facts import ibtools, pci
from railgauge.subnet import errorcounters, linkinfo
from railgauge.subnet.netdiscover import parse_ibnetdiscover
from railgauge.tools import tool

CORPUS = SHARED / "corpus/ib-tools"


def recorded(name):
    if not CORPUS.is_dir():
        pytest.skip("the recorded outputs are not beside this project (../shared)")
    return (CORPUS / name).read_text()


# --- ibnetdiscover ---


def test_ibnetdiscover_by_port():
    rows = parse_ibnetdiscover(recorded("007-ibnetdiscover-p-ports.txt"))
    first = rows.ports[0]
    assert (first.kind, first.lid, first.guid) == ("CA", 134, "0x7cfe9003003b4bde")
    assert (first.speed, first.peer) == ("4xEDR", "ib-i1l1s01")
    assert [port.speed for port in rows.ports if not port.peer] == ["4x???", "4xSDR"]
    named = parse_ibnetdiscover(recorded("008-ibnetdiscover-p-quoted-names.txt"))
    assert (named.ports[0].lid, named.ports[0].speed) == (78, "4xHDR")
    last = named.ports[-1]
    assert (last.lid, last.port, last.speed, last.peer) == (478, 22, "4xQDR", "")


def test_ibnetdiscover_by_node():
    leaf = parse_ibnetdiscover(recorded("015-ibnetdiscover-ndr-leaf-fragment.txt"))
    first = leaf.ports[0]
    assert (first.guid, first.lid, first.port) == ("S-2c5eab0300b87b40", 73, 1)
    assert first.speed == "4xNDR"
    hdr = parse_ibnetdiscover(recorded("016-ibnetdiscover-hdr-with-s-w-v-e.txt"))
    assert (hdr.problem, hdr.ports[0].guid, hdr.ports[0].lid) == ("", "S-0ff08c43213b3f30", 387)
    assert (hdr.ports[-1].kind, hdr.ports[-1].lid) == ("CA", 150)


def test_record_without_ports_is_named():
    cut = parse_ibnetdiscover(recorded("014-ibnetdiscover-truncated-bad.txt"))
    assert cut.problem == "no port of H-b8e92403009ca838"
    assert parse_ibnetdiscover("").problem == "lists no node"


# --- counters ---


def test_details_of_receive_errors():
    found = errorcounters.parse_perfquery(recorded("011-perfquery-E-rcv-error-details.txt"))
    errors = {name: value for name, value in found.items() if "Select" not in name}
    assert (len(errors), set(errors.values())) == (6, {0})


def test_ports_with_errors_and_no_sum_of_a_switch():
    scan = errorcounters.parse_ibqueryerrors(recorded("019-ibqueryerrors-port-ALL.txt"))
    first = scan.ports[0]
    assert (first.node, first.port, first.counters["VL15Dropped"]) == ("nodeA mlx4_0", 1, 14)
    assert [(port.node, port.port) for port in scan.ports] == [
        ("nodeA mlx4_0", 1),
        ("nodeA mlx4_0", 2),
        ("nodeB mlx4_0", 1),
    ]


def test_links_printed_by_node_are_read_like_those_of_l():
    """``iblinkinfo`` without ``-l`` names the node above its ports; this excerpt lacks some."""
    parsed = tool("iblinkinfo").parse(recorded("020-iblinkinfo-edr-and-down.txt"))
    assert [sample.value for sample in parsed.samples] == [2, 1, 0]
    assert [problem.kind for problem in parsed.problems] == ["no-closing-line"]


# --- damage ---

READERS = [
    parse_ibnetdiscover,
    errorcounters.parse_ibqueryerrors,
    errorcounters.parse_perfquery,
    linkinfo.link_table,
    pci.parse_lspci,
    ibtools.parse_ibdev2netdev,
    ibtools.parse_show_gids,
    ibtools.parse_ibv_devinfo,
]


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
@given(text=st.text())
def test_garbage_never_crashes(reader, text):
    reader(text)


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
@pytest.mark.parametrize("filler", [" ", "0 ", "a", "[", "[1] ", "| ", "{", '"', "4x "])
def test_long_lines_and_many_are_read_in_time(reader, filler):
    started = time.perf_counter()
    for head in ("", "0x1 ", "12: ", 'Switch 1 "S-1" # "', "# Port counters: Lid 1 port 1", "a: "):
        reader(head + filler * 100_000)
        reader(f"{head}{filler * 20}\n" * 5000)
    assert time.perf_counter() - started < 60

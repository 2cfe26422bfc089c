"""Addresses in perftest's output against the survey and the other side; the time of its payload."""

from __future__ import annotations

import pytest
from testing.core_values import ROOT, transcript
from testing.tool_setting import recorded

from railgauge.config import thresholds
from railgauge.core.errors import OtherThanAsked
from railgauge.core.model import Case, Pairing
from railgauge.core.question import CaseResult
from railgauge.facts import NodeFacts
from railgauge.facts.model import GidFacts, NicFacts
from railgauge.judging.assess import read
from railgauge.tools import run_identity, tool
from railgauge.tools.perftest.addresses import QueueAddress, read_addresses

HOMELAB = thresholds.load("connectx4-homelab", ROOT / "thresholds")
CASE = Case("host_write_bandwidth", ("n1", "n2"), Pairing("mlx5_0"), (8388608,))
RULE = "-" * 87
HEADER = """\
                    RDMA_Write BW Test
 Dual-port       : OFF          Device         : mlx5_0
 Number of qps   : 1            Transport type : IB
 Connection type : RC           Using SRQ      : OFF
 PCIe relax order: OFF
 TX depth        : 128
 CQ Moderation   : 100
 Mtu             : 4096[B]
 Link type       : IB
"""
TABLE = """\
 #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]
 8388608    5000             3776.90            3776.90             0.000472
"""
ONE, OTHER = (3, 0x28A, 0x1A4DDC), (5, 0x11B, 0xC330AE)
LONG_ENOUGH_S = 12.0


def address(side, queue, gid=""):
    lid, qpn, psn = queue
    line = f" {side} address: LID {lid:#04x} QPN {qpn:#06x} PSN {psn:#08x} RKey 0x1fff00"
    return f"{line} VAddr 0x007f3b4c800000\n" + (f" GID: {gid}\n" if gid else "")


def output(local, remote, gids=("", "")):
    ends = address("local", local, gids[0]) + address("remote", remote, gids[1])
    return f"{RULE}\n{HEADER}{RULE}\n{ends}{RULE}\n{TABLE}{RULE}\n"


def facts(lid=3, other_lid=5, gids=((), ()), product=None):
    return {
        node: NodeFacts(
            node,
            product=product,
            nics=(
                NicFacts(
                    "mlx5_0", lid=one, link_layer="InfiniBand", active_mtu_bytes=4096,
                    gids=tuple(GidFacts(i, gid, None, None) for i, gid in enumerate(own)),
                ),
            ),
        )
        for node, one, own in zip(("n1", "n2"), (lid, other_lid), gids, strict=True)
    }  # fmt: skip


def judged(client, server, found=None, lasted_s=LONG_ENOUGH_S):
    run = (
        transcript("n1", stdout=client, duration_s=lasted_s),
        transcript("n2", stdout=server, role="server", duration_s=lasted_s),
    )
    return read(HOMELAB, CASE, CaseResult((run,)), facts() if found is None else found)


def refusal(*words, **more):
    with pytest.raises(OtherThanAsked) as raised:
        judged(*words, **more)
    return str(raised.value)


def test_the_two_outputs_of_a_healthy_run_agree():
    assert judged(output(ONE, OTHER), output(OTHER, ONE)).runs


@pytest.mark.parametrize("change", ["lid", "qpn", "psn"])
@pytest.mark.parametrize("side", ["client", "server"])
def test_a_side_that_names_another_queue_pair_than_the_other_side_is_denied(change, side):
    own = dict(zip(("lid", "qpn", "psn"), OTHER, strict=True))
    wrong = tuple({**own, change: own[change] + 1}.values())
    client = output(ONE, wrong if side == "client" else OTHER)
    server = output(wrong if side == "server" else OTHER, ONE)
    # Without facts only the sides can be compared.
    assert "remote address of n1: the local one of n2 is" in refusal(client, server, found={})


@pytest.mark.parametrize(
    ("client", "server"),
    [
        (
            output(OTHER, ONE),
            output(ONE, OTHER),
        ),  # the pair's other direction, or two nodes swapped
        (output((7, 1, 2), (8, 3, 4)), output((8, 3, 4), (7, 1, 2))),  # another pair
    ],
)
def test_outputs_of_other_ports_are_denied_though_they_agree_with_each_other(client, server):
    assert "LID in the local address of n1: mlx5_0 of n1 has 0x3, the tool says 0x" in refusal(
        client, server
    )
    assert judged(client, server, found={}).runs  # without facts nothing can be compared


def test_the_server_of_another_pair_is_denied():
    server = output((5, 0x777, 0x123456), ONE)
    assert "the local one of n2 is LID 0x5 QPN 0x777" in refusal(output(ONE, OTHER), server)


def test_what_an_output_or_a_survey_does_not_show_gives_no_check():
    client, server = output(ONE, OTHER), output(OTHER, ONE)
    silent = f"{RULE}\n{HEADER}{RULE}\n{TABLE}{RULE}\n"
    assert judged(client, silent).runs
    assert judged(client, "").runs
    assert judged(silent, server).runs
    assert judged(client, server, found=facts(None, None)).runs


def test_a_server_that_was_ended_early_may_have_printed_some_of_its_queue_pairs():
    more = address("local", (3, 1, 2)), address("remote", (5, 3, 4))
    client = output(ONE, OTHER).replace(
        address("remote", OTHER), address("remote", OTHER) + more[1]
    )
    assert judged(client, output(OTHER, ONE)).runs


# RoCE: the LID is 0, and the GID is one of several.
ROCE, FAR = (0, 0x129, 0x57279D), (0, 0x12A, 0x531B7)
V4 = (
    "00:00:00:00:00:00:00:00:00:00:255:255:10:00:00:12",
    "0000:0000:0000:0000:0000:ffff:0a00:000c",
)
V6 = ("254:128:00:00:00:00:00:00:16:76:116:255:254:70:225:171",
      "fe80:0000:0000:0000:104c:74ff:fe46:e1ab")  # fmt: skip
HEX = "fe:80:00:00:00:00:00:00:10:4c:74:ff:fe:46:e1:ab"


def test_a_roce_port_is_known_by_any_of_its_gids():
    found = facts(0, 0, ((V6[1], V4[1]), (V4[1],)))
    for printed in (V4[0], V6[0], HEX, "fe80::104c:74ff:fe46:e1ab"):
        client = output(ROCE, FAR, (printed, V4[0]))
        assert judged(client, output(FAR, ROCE, (V4[0], printed)), found).runs
    strange = output(ROCE, FAR, (V4[0].replace(":12", ":13"), V4[0]))
    message = refusal(strange, output(FAR, ROCE, (V4[0], V4[0].replace(":12", ":13"))), found)
    assert "GID in the local address of n1: mlx5_0 of n1 has one of its GID table" in message


def test_a_gid_that_cannot_be_read_gives_no_check():
    found = facts(0, 0, ((V6[1],), (V4[1],)))
    for printed in ("1:2", "::ffff:", "300:128:00:00:00:00:00:00:16:76:116:255:254:70:225:171"):
        assert judged(output(ROCE, FAR, (printed, V4[0])), output(FAR, ROCE), found).runs


def test_roce_with_the_lid_of_an_infiniband_port_is_denied():
    assert "LID in the local" in refusal(output(ONE, OTHER), output(OTHER, ONE), facts(0, 0))


# --- time: 5000 x 8 MiB take 10.5 s at 32 Gb/s ---


def test_a_payload_that_the_link_could_not_move_in_the_time_of_the_command_is_denied():
    outputs = output(ONE, OTHER), output(OTHER, ONE)
    message = refusal(*outputs, lasted_s=3.0)
    assert "takes at least 10.49 s for 41.94 GB at 32 Gb/s, its command took 3.00 s" in message
    for lasted_s in (10.5, 60.0, 0.0):  # just enough, a slow controller, and no time at all
        assert judged(*outputs, lasted_s=lasted_s).runs


def test_the_time_of_simulated_nodes_is_not_checked():
    outputs = output(ONE, OTHER), output(OTHER, ONE)
    assert judged(*outputs, facts(product="railgauge lab node"), lasted_s=0.3).runs


# --- what identifies a run ---


def test_an_output_shows_both_ends_of_its_queue_pairs_whatever_lids_it_has():
    text = output(ONE, OTHER)
    assert run_identity("perftest", text) == "QPN 0x11b PSN 0xc330ae, QPN 0x28a PSN 0x1a4ddc"
    assert run_identity("perftest", output((9, *ONE[1:]), (8, *OTHER[1:]))) == run_identity(
        "perftest", text
    )
    assert run_identity("perftest", output(OTHER, ONE)) == run_identity("perftest", text)
    assert run_identity("perftest", text.replace(" remote address", " address")) == ""


def test_addresses_of_a_recorded_output_are_read():
    text = recorded("corpus/perftest", "045-")
    assert read_addresses(text)["local"] == (QueueAddress(0x2C, 0x88, 0x6DC93A),)
    assert tool("perftest").parse(text).summary["local"] == read_addresses(text)["local"]
    with_gids = read_addresses(recorded("corpus/perftest", "008-"))
    assert all(one.gid for one in with_gids["local"] + with_gids["remote"])


LOG = (
    "h:1:1 [0] NCCL INFO ncclCommInitRank comm 0x1 rank {rank} nranks 2 cudaDev 0 busId 1b000"
    " commId 0x{id} - Init COMPLETE\n"
)


def test_a_collective_is_identified_by_its_communicators_unless_they_were_given():
    text = LOG.format(rank=0, id="6f2c9b1d70a3e845") + LOG.format(rank=1, id="6f2c9b1d70a3e845")
    assert run_identity("ccl-tests", text) == "commId 0x6f2c9b1d70a3e845"
    assert run_identity("ccl-tests", text.replace("commId", "pid")) == ""
    given = "h:1:1 [0] NCCL INFO NCCL_COMM_ID set by environment to 10.0.0.1:23\n"
    assert run_identity("ccl-tests", given + text) == ""
    assert run_identity("gpu-burn", text) == ""


def test_addresses_that_a_bundle_masks_are_no_contradiction():
    """``railgauge bundle --redact addresses`` replaces GIDs in facts and outputs."""
    client = output(ONE, OTHER, ("address001", "address002"))
    found = facts(gids=(("address001",), ("address002",)))
    assert judged(client, output(OTHER, ONE), found).runs

"""Error counters between two scans: growth, rates, and unknown values. No program is run."""

from dataclasses import replace

import pytest
from testing.simulated_subnet import net_file

from railgauge.config.thresholds.model import FabricLimits
from railgauge.core.errors import NoEvidence
from railgauge.core.limits import Basis
from railgauge.core.model import Fabric, Outcome
from railgauge.judging.links import BIT_ERRORS, GROWTH, Scan, judge_scan
from railgauge.judging.links.counters import surely_at_least
from railgauge.tools import tool

FABRIC = Fabric("node0001", net_file(1, 2, 1), "declared.topo")
LIMITS = FabricLimits(Basis("derived", "for this test"), {"LinkDownedCounter": 0}, 1e-12)
NOON, ONE = "2026-01-01T12:00:00.000+00:00", "2026-01-01T13:00:00.000+00:00"


def scan(*counters, began=NOON, nodes=4):
    """``counters`` of ports of leaf01, as ``"2: [SymbolErrorCounter == 7]"``."""
    lines = [f"   GUID 0x100000 port {counter}" for counter in counters]
    head = ['Errors for 0x100000 "leaf01"'] if lines else []
    end = [
        f"## Summary: {nodes} nodes checked, 1 bad nodes found",
        "##          9 ports checked, 1 ports have errors beyond threshold",
    ]
    return Scan("\n".join([*head, *lines, "", *end]), began)


def growth(before, after, limits=LIMITS):
    return judge_scan(("ibqueryerrors", "leaf01"), FABRIC, limits, after, before)


def failed(judgements):
    return {j.metric: j.reason for j in judgements if j.outcome is Outcome.FAILED}


def test_counters_that_stand_still_pass_however_high_they_stand():
    scanned = scan("2: [LinkDownedCounter == 9] [SymbolErrorCounter == 65000]")
    judgements, errors = growth(scanned, Scan(scanned.text, ONE))
    assert (failed(judgements), errors) == ({}, [])
    assert [j.metric for j in judgements] == [GROWTH, BIT_ERRORS]


def test_a_link_that_went_down_once_is_reported():
    judgements, _ = growth(scan(), scan("2: [LinkDownedCounter == 1]", began=ONE))
    assert failed(judgements) == {
        GROWTH: "leaf01 port 2 (to node0002 mlx5_0): LinkDownedCounter grew by 1 in 3600 s, "
        "limit at most 0"
    }


@pytest.mark.parametrize(("errors", "fails"), [(100, False), (700, False), (1000, True)])
def test_symbol_errors_are_judged_by_the_bits_that_the_link_carried(errors, fails):
    """4xHDR signals 212.5 Gb/s: 765 errors an hour are one in 10^12 bits."""
    judgements, _ = growth(scan(), scan(f"2: [SymbolErrorCounter == {errors}]", began=ONE))
    assert (BIT_ERRORS in failed(judgements)) is fails


def test_one_error_in_a_short_run_proves_no_high_rate():
    """1 error in 4 s is 1.2e-12; the rate proven at 95 % is a twentieth of that."""
    later = "2026-01-01T12:00:04.000+00:00"
    judgements, _ = growth(scan(), scan("2: [SymbolErrorCounter == 1]", began=later))
    assert failed(judgements) == {}


@pytest.mark.parametrize(("count", "least"), [(1, 0.0513), (3, 0.818), (10, 5.43), (100, 84.1)])
def test_what_a_count_proves_is_the_quantile_of_poisson(count, least):
    assert surely_at_least(count) == pytest.approx(least, rel=0.3 if count == 1 else 0.04)


def test_a_count_of_zero_proves_no_rate():
    assert surely_at_least(0) == 0.0


# --- what cannot be judged ---


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("2: [SymbolErrorCounter == 9]", "2: [SymbolErrorCounter == 4]", "it was cleared"),
        ("2: [SymbolErrorCounter == 9]", "1: [SymbolErrorCounter == 9]", "it was cleared"),
        ("2: [LinkDownedCounter == 255]", "2: [LinkDownedCounter == 255]", "its maximum (255)"),
    ],
)
def test_counters_that_show_nothing_are_an_error_not_a_pass(before, after, says):
    _, errors = growth(scan(before), scan(after, began=ONE))
    assert len(errors) == 1
    assert says in str(errors[0])
    assert errors[0].remedy


def test_a_fault_is_not_hidden_by_a_counter_that_shows_nothing():
    after = scan("1: [LinkDownedCounter == 2]", "2: [SymbolErrorCounter == 1]", began=ONE)
    judgements, errors = growth(scan("2: [SymbolErrorCounter == 5]"), after)
    assert list(failed(judgements)) == [GROWTH]
    assert errors


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (scan(), scan(began=NOON), "the time between"),
        (scan(), scan(began="yesterday"), "the time between"),
        (scan(), scan(began=ONE, nodes=3), "3 nodes were read, 4 before"),
        (scan(), Scan("", ONE), "read no node"),
        (scan(nodes=0), scan(began=ONE), "read no node"),
    ],
)
def test_two_scans_that_cannot_be_compared_are_an_error(before, after, says):
    with pytest.raises(NoEvidence, match=says):
        growth(before, after)


@pytest.mark.parametrize(("count", "fails"), [(4, False), (5, False), (6, True), (900, True)])
def test_a_counter_fails_above_its_limit(count, fails):
    """What a port has counted since its counters were cleared, without a scan before."""
    limits = replace(LIMITS, most={"LinkDownedCounter": 5})
    scanned = scan(f"2: [LinkDownedCounter == {count}] [PortXmitWait == 99]")
    judgements, errors = judge_scan(("ibqueryerrors", "leaf01"), FABRIC, limits, scanned)
    assert not errors
    assert bool(failed(judgements)) is fails
    if fails:
        (reason,) = failed(judgements).values()
        assert reason.startswith("leaf01 port 2 (to node0002 mlx5_0): LinkDownedCounter")
    else:
        assert [j.measured for j in judgements] == ["6 ports; 4 nodes were read"]


@pytest.mark.parametrize(("grown", "fails"), [(5, False), (6, True)])
def test_growth_fails_above_its_limit(grown, fails):
    limits = replace(LIMITS, most={"LinkDownedCounter": 5}, bit_error_rate=None)
    before, after = scan("2: [LinkDownedCounter == 7]"), f"2: [LinkDownedCounter == {7 + grown}]"
    found = growth(before, scan(after, began=ONE), limits)
    assert bool(failed(found[0])) is fails


def test_a_switch_that_is_not_declared_is_an_error():
    with pytest.raises(NoEvidence, match="has no switch leaf99"):
        judge_scan(("ibqueryerrors", "leaf99"), FABRIC, LIMITS, scan())


# --- links ---

LINE = (
    '0x{guid:016x} "{name:>30}" 1 {port}[  ] ==( {rate} {state})==>'
    ' 0x1 1 1[  ] "peer" (Could be 12X )'
)


RATE, UP = "4X        53.125 Gbps", "Active/  LinkUp"


def links(*ends, rate=RATE, state=UP, only=None):
    """``iblinkinfo -l`` of leaf01, spine01 and the two hosts, without ``ends`` (name, port).

    ``rate`` and ``state`` are those of all ports, or of the one port ``only``.
    """
    ports = [(0x100000, "leaf01", 1), (0x100000, "leaf01", 2), (0x100000, "leaf01", 3)]
    ports += [(0x200000, "spine01", 1), (0x300011, "node0001 mlx5_0", 1)]
    ports += [(0x300021, "node0002 mlx5_0", 1)]
    lines = [
        LINE.format(
            guid=guid,
            name=name,
            port=port,
            rate=rate if only in (None, (name, port)) else RATE,
            state=state if only in (None, (name, port)) else UP,
        )
        for guid, name, port in ports
        if (name, port) not in ends
    ]
    return Scan("\n".join(lines), NOON)


def linked(text):
    return judge_scan(("iblinkinfo", "leaf01"), FABRIC, LIMITS, text)[0]


def test_links_that_are_up_at_their_rate_pass():
    assert [j.outcome for j in linked(links())] == [Outcome.PASSED, Outcome.PASSED]


@pytest.mark.parametrize("end", [("leaf01", 2), ("node0002 mlx5_0", 1)])
def test_a_port_that_is_not_listed_is_not_up(end):
    (reason,) = failed(linked(links(end))).values()
    assert reason.endswith("is not in the subnet")
    assert "node0002 mlx5_0" in reason


@pytest.mark.parametrize(
    ("rate", "scanned"),
    [
        ("4X        25.78125 Gbps", "4xEDR"),
        ("1X        53.125 Gbps", "1xHDR"),
        ("2X        53.125 Gbps", "2xHDR"),
        ("4X        106.25 Gbps", "4xNDR"),
        ("4X        99.9 Gbps", "4x 99.9 Gb/s"),
    ],
)
def test_a_link_at_another_width_or_speed_is_reported(rate, scanned):
    found = failed(linked(links(rate=rate)))
    assert f"runs at {scanned}, declared 4xHDR" in found["link_width_and_speed"]


BOTH_ENDS = pytest.mark.parametrize(
    ("end", "other"),
    [
        (("leaf01", 2), "node0002 mlx5_0"),
        (("node0002 mlx5_0", 1), "leaf01 port 2"),
        (("spine01", 1), "leaf01 port 3"),
    ],
)


@BOTH_ENDS
def test_either_end_of_a_slow_cable_is_reported_with_the_other(end, other):
    (reason,) = failed(linked(links(rate="1X        53.125 Gbps", only=end))).values()
    name = end[0] if " " in end[0] else f"{end[0]} port {end[1]}"
    assert reason == f"{name} (to {other}) runs at 1xHDR, declared 4xHDR"


@BOTH_ENDS
def test_either_end_of_a_cable_that_is_down_is_reported_with_the_other(end, other):
    (reason,) = failed(linked(links(state="Initialize/  LinkUp", only=end))).values()
    name = end[0] if " " in end[0] else f"{end[0]} port {end[1]}"
    assert reason == f"{name} (to {other}): Initialize/LinkUp"


@pytest.mark.parametrize(
    "changed", [{"rate": "1X        53.125 Gbps"}, {"state": "Armed/  LinkUp"}]
)
def test_the_other_end_does_not_depend_on_which_guid_is_higher(changed):
    """That of the host is below that of its switch."""
    low = replace(FABRIC, topology=FABRIC.topology.replace("30002", "00002"))
    found = links(**changed, only=("node0002 mlx5_0", 1))
    scanned = replace(found, text=found.text.replace("30002", "00002"))
    (reason,) = failed(judge_scan(("iblinkinfo", "leaf01"), low, LIMITS, scanned)[0]).values()
    assert reason.startswith("node0002 mlx5_0 (to leaf01 port 2)")


def test_a_cable_that_is_slow_or_down_at_both_ends_is_reported_once():
    """Of the three cables of the switch."""
    slow = linked(links(rate="1X        53.125 Gbps"))
    assert [j.outcome for j in slow] == [Outcome.PASSED, *3 * [Outcome.FAILED]]
    down = linked(links(state="Initialize/  LinkUp"))
    assert [j.outcome for j in down] == [*3 * [Outcome.FAILED], Outcome.PASSED]


def test_the_far_end_of_a_cable_is_read_where_the_near_one_is_not_listed():
    slow = links(("leaf01", 2), rate="1X        53.125 Gbps", only=("node0002 mlx5_0", 1))
    found = failed(linked(slow))
    assert found["link_state"] == "leaf01 port 2 (to node0002 mlx5_0): is not in the subnet"
    assert found["link_width_and_speed"].startswith("node0002 mlx5_0 (to leaf01 port 2) runs at")


def test_a_scan_without_a_port_proves_nothing():
    with pytest.raises(NoEvidence, match="iblinkinfo printed no port"):
        linked(Scan("", NOON))


STATES = ["Initialize/  LinkUp", "Armed/  LinkUp", "Active/ Recovery", "Active/ Disabled"]


@pytest.mark.parametrize("state", STATES)
def test_only_active_and_linkup_is_up(state):
    assert "link_state" in failed(linked(links(state=state)))


# --- outputs that prove nothing ---


@pytest.mark.parametrize("name", ["sminfo", "ibnetdiscover", "iblinkinfo", "ibqueryerrors"])
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "no-output"),
        ("Segmentation fault\n", "no-table"),
        ("sh: 1: {name}: not found\n", "tool-missing"),
        ("ibwarn: mad_rpc_open_port: can't open UMAD port ((null):0)\n", "device-not-found"),
    ],
)
def test_an_output_that_proves_nothing_is_a_typed_error(name, text, kind):
    parsed = tool(name).parse(text.replace("{name}", name))
    assert parsed.errors[0].kind == kind
    assert not parsed.samples


def test_nobody_s_answer_is_an_answer():
    parsed = tool("sminfo").parse("/usr/sbin/sminfo: iberror: failed: query\n")
    assert [(s.metric, s.value) for s in parsed.samples] == [("subnet_managers", 0.0)]
    assert not parsed.errors


def test_a_manager_that_stands_by_is_not_in_charge():
    line = "sminfo: sm lid 1 sm guid 0x100000, activity count 3 priority 0 state 2 SMINFO_STANDBY\n"
    judgements, _ = judge_scan(("sminfo", ""), FABRIC, LIMITS, Scan(line, NOON))
    assert "SMINFO_STANDBY" in failed(judgements)["subnet_managers"]


def test_a_scan_that_was_cut_off_is_truncated():
    text = scan("2: [SymbolErrorCounter == 7]").text.partition("## Summary")[0]
    assert [p.kind for p in tool("ibqueryerrors").parse(text).errors] == ["truncated"]

"""Measurements without a documented figure: every NIC and collective has a derived floor."""

import math
from dataclasses import replace

import pytest
from testing.assess_values import judged, made_up_tool, measured, out, outcomes, platform
from testing.core_values import ROOT, case, cluster, document, limit, limit_of, measurement_of, put

from railgauge.config import thresholds
from railgauge.config.thresholds.model import LEVELS, Assertion
from railgauge.config.thresholds.physics import ideal, ideal_inside, in_its_unit
from railgauge.core.errors import BadInput, Uncovered
from railgauge.core.limits import Basis, Limit
from railgauge.planning import plan, required
from railgauge.planning.forecast import work
from railgauge.verdict.decision import not_applicable

RDMA = ("h200", "mi300x", "metax-c500", "connectx4-homelab")
# What all_reduce reaches in the platform's document, in GB/s: the slowest healthy figure.
REACHED = {"h200": 388.58, "mi300x": 318.98, "metax-c500": 73.05, "h100-tcpx": 78.35}
COLLECTIVES = ("all_gather", "reduce_scatter", "alltoall", "sendrecv", "broadcast")


def load(name):
    return thresholds.load(name, ROOT / "thresholds")


@pytest.mark.parametrize("name", RDMA)
def test_every_way_to_use_a_nic_is_measured(name):
    found = load(name)
    for verb in ("write", "read", "send"):
        one, both, lat = (
            found.measurements[f"host_{verb}_{what}"]
            for what in ("bandwidth", "bandwidth_bidirectional", "latency")
        )
        assert (one.command, lat.command) == (f"ib_{verb}_bw", f"ib_{verb}_lat")
        assert both.command == one.command
        assert (one.options.get("bidirectional"), both.options["bidirectional"]) == (None, True)
        assert all(each.made_at("signoff") for each in (one, both, lat))


@pytest.mark.parametrize("name", RDMA)
def test_no_floor_of_a_nic_is_below_its_document_or_nine_tenths_of_the_link(name):
    found = load(name)
    for verb in ("write", "read", "send"):
        for way, factor in (("", 1), ("_bidirectional", 2)):
            one = found.measurements[f"host_{verb}_bandwidth{way}"]
            (nic,) = {nic.data_rate_gbps for nic in found.fabric_nics}
            asked = thresholds.limit_for(one, "bw_average", found.pairings("host")[0], 2**23)
            floor = asked.floor if isinstance(asked.floor, float) else asked.floor.points[-1][1]
            gbps = floor if asked.unit == "Gb/s" else floor * 2**20 * 8 / 1e9
            assert 0.899 * factor * nic <= gbps < factor * nic


@pytest.mark.parametrize("name", REACHED)
@pytest.mark.parametrize("scope", ["node", "pair", "group"])
def test_every_collective_is_measured_within_nodes_between_two_and_over_groups(name, scope):
    found = load(name)
    for operation in COLLECTIVES:
        one = found.measurements[f"{scope}_{operation}"]
        assert (one.command, one.scope) == (f"{operation}_perf", scope)
        assert one.made_at("nightly")
        assert all(each.basis.source == "derived" for each in one.limits)
        assert one.traffic is not None or scope == "node"


@pytest.mark.parametrize("name", REACHED)
def test_a_share_of_the_ideal_is_one_of_what_all_reduce_reaches_of_its_own(name):
    """Three quarters of the ideal, and six tenths for an alltoall over a group."""
    found = load(name)
    own = ideal(
        found, found.measurements["pair_all_reduce"], None, limit(metric="busbw", unit="GB/s")
    )
    count = 0
    for one in found.measurements.values():
        for asked in one.limits:
            if "that all_reduce reaches of its own" not in asked.basis.says:
                continue
            part = 0.6 if one.name == "group_alltoall" else 0.75
            reached = REACHED[name] / own
            assert asked.floor == math.floor(100 * part * reached) / 100, one.name
            assert asked.of == "ideal"
            assert f"{100 * part:g} % of the {100 * reached:.0f} %" in asked.basis.says
            assert str(REACHED[name]) in asked.basis.says
            count += 1
    assert count >= 4


@pytest.mark.parametrize(("nodes", "gb_per_s"), [(3, 71.9), (4, 64.6), (16, 52.9), (1000, 50.0)])
def test_what_is_asked_of_an_alltoall_falls_with_the_nodes_of_its_group(nodes, gb_per_s):
    found = load("h200")
    one = found.measurements["group_alltoall"]
    best = ideal(found, one, None, one.limits[0], nodes)
    assert best == pytest.approx(gb_per_s, abs=0.06)
    assert in_its_unit(one.limits[0], best).floor == pytest.approx(0.58 * best)


@pytest.mark.parametrize("name", REACHED)
def test_the_halves_of_a_metax_node_and_no_others_are_asked_for_less(name):
    """A ring crosses the nodes' boundary once each way; an alltoall sends half of its data."""
    found = load(name).measurements
    floors = {op: found[f"node_{op}"].limits[0].floor for op in ("all_gather", "alltoall")}
    lesser = floors["alltoall"] / floors["all_gather"]
    assert lesser == (
        pytest.approx(7 / 16, rel=0.01) if name == "metax-c500" else pytest.approx(1, abs=0.1)
    )
    if name == "metax-c500":
        assert floors["all_gather"] == pytest.approx(0.75 * 65.06, rel=0.01)
        assert "000, 2.5" in found["node_alltoall"].limits[0].basis.says


# --- the ideal inside a node ---


@pytest.mark.parametrize(
    ("operation", "mesh", "switch"),
    [
        ("all_reduce", 448, None),
        ("all_gather", 448, 64),
        ("alltoall", 448, 64),
        ("broadcast", 448, 64),
        ("sendrecv", 64, 64),
        ("hypercube", None, None),
    ],
)
def test_inside_a_node_the_links_of_a_gpu_decide(operation, mesh, switch):
    assert ideal_inside(operation, 8, 64, to_switch=False) == mesh
    assert ideal_inside(operation, 8, 64, to_switch=True) == switch
    assert ideal_inside(operation, 1, 64, to_switch=False) is None


def test_the_platforms_whose_links_are_known_have_it():
    asked = limit(metric="busbw", unit="GB/s")
    known = {name: load(name) for name in REACHED}
    found = {
        name: ideal(p, p.measurements["node_alltoall"], None, asked) for name, p in known.items()
    }
    assert found == {"h200": 450, "mi300x": 448, "metax-c500": None, "h100-tcpx": 450}


# --- a floor that is a share of the ideal ---

SHARE = Limit("busbw", "GB/s", 0.6, None, Basis("derived", "x"), of="ideal")


def test_a_share_is_judged_as_a_value_of_so_many_nodes(monkeypatch):
    made_up_tool(monkeypatch)
    options = {"ranks_per_node": 8}
    on = platform(
        tool="ccl-tests", command="alltoall_perf", scope="group", limits=(SHARE,), options=options,
        asserts=(Assertion("busbw"),),
    )  # fmt: skip
    # One NIC of 50 GB/s: an ideal of 50 x 15/64 between two nodes, of 50 x 31/192 between four.
    for nodes, least in ((2, 7.03), (4, 4.84)):
        of = case(*(f"n{number}" for number in range(1, nodes + 1)))
        for value, outcome in ((least + 0.02, "passed"), (least - 0.02, "failed")):
            one = measured(out(value, metric="busbw"), on=on, of=of)
            found = judged(one, on=on)
            assert outcomes(found) == ([outcome], [])
            assert found.judgements[0].floor == pytest.approx(least, abs=0.01)
            assert found.judgements[0].best == pytest.approx(least / 0.6, abs=0.01)


def test_a_share_of_an_unknown_value_is_refused():
    with pytest.raises(Uncovered, match="not known"):
        in_its_unit(SHARE, None)
    own = replace(SHARE, of="")
    assert in_its_unit(own, None) == own


@pytest.mark.parametrize(
    ("floor", "scope", "says"),
    [(0.6, "pair", "share of an ideal that is unknown"), (1.0, "group", "must be a share")],
)
def test_a_platform_file_with_a_share_of_nothing_or_of_all_is_refused(tmp_path, floor, scope, says):
    doc = document()
    one = measurement_of(doc)
    one.update(tool="ccl-tests", scope=scope, asserts=["busbw"])
    one["command"] = "hypercube_perf" if scope == "pair" else "all_gather_perf"
    limit_of(doc).update(metric="busbw", unit="GB/s", floor=floor, of="ideal")
    found = thresholds.load("bench", put(tmp_path / "thresholds", doc))
    assert any(says in line for line in thresholds.uncovered(found))


# --- a share of a link ---


def test_a_share_of_a_path_is_of_its_slower_nic_and_both_ways_if_asked(tmp_path):
    """A port of 400 Gb/s in a slot of 63: 0.9 of it is 56.7, and 113.4 both ways at once."""
    for options, floor in (({}, 56.7), ({"bidirectional": True}, 113.4)):
        doc = document()
        doc["hardware"]["nics"][0]["pcie"] = {"generation": 3, "width": 8}
        measurement_of(doc)["options"] = options
        limit_of(doc).update(floor=0.9, of="link")
        found = thresholds.load("bench", put(tmp_path / f"{floor:g}", doc))
        assert list(thresholds.uncovered(found)) == []
        one = next(iter(found.measurements.values()))
        of = thresholds.whole(found, one, found.pairings("host")[0], one.limits[0])
        assert in_its_unit(one.limits[0], of).floor == pytest.approx(floor, abs=0.1)


def test_a_share_of_a_link_between_gpus_that_is_not_known_is_refused(tmp_path):
    doc = document()
    one = measurement_of(doc)
    one.update(tool="ccl-tests", scope="node", asserts=["busbw"], command="all_reduce_perf")
    limit_of(doc).update(metric="busbw", unit="GB/s", floor=0.5, of="link")
    found = thresholds.load("bench", put(tmp_path / "thresholds", doc))
    assert any("share of a link that is unknown" in line for line in thresholds.uncovered(found))


def test_a_share_on_a_slow_link_is_not_taken_for_a_floor_above_it(tmp_path):
    """0.6 of 0.2 Gb/s is not more than the link carries."""
    doc = document()
    doc["hardware"]["nics"][0]["rate_gbps"] = 0.2
    limit_of(doc).update(floor=0.6, of="link")
    found = thresholds.load("bench", put(tmp_path / "thresholds", doc))
    assert list(thresholds.uncovered(found)) == []


# --- a measurement that a level does not make ---


def at_signoff(tmp_path, **levels):
    doc = document()
    other = {**measurement_of(doc), "levels": {"signoff": {"sizes": ["8MiB"]}, **levels}}
    doc["measurements"]["host_read_bandwidth"] = {**other, "command": "ib_read_bw"}
    return thresholds.load("bench", put(tmp_path / "thresholds", doc))


def test_only_the_levels_that_are_named_make_it(tmp_path):
    found, nodes = at_signoff(tmp_path), cluster("n1", "n2")
    for name in LEVELS:
        level = plan.level(found, nodes, name)
        planned = {one.measurement for _, one in plan.cases(found, level)}
        asked = {
            one.key.subject
            for one in required.required_checks(required.LevelScope(found, nodes, level))
        }
        known = {one.measurement.name for one in work(found, level)}
        reasons = not_applicable(found, level)
        for seen in (planned, asked, known):
            assert ("host_read_bandwidth" in seen) == (name == "signoff")
        assert ("host_read_bandwidth" in reasons) == (name != "signoff")
        why = reasons.get("host_read_bandwidth")
        assert name == "signoff" or why == "measured only at level signoff"


def test_a_higher_level_makes_what_a_lower_one_makes(tmp_path):
    with pytest.raises(BadInput, match="nightly"):
        at_signoff(tmp_path, smoke={"sizes": ["8MiB"]})


@pytest.mark.parametrize("name", [*REACHED, "connectx4-homelab"])
def test_smoke_makes_none_of_the_measurements_without_a_figure(name):
    """A duration has no upper bound."""
    found = load(name)
    late = [one for one in found.measurements.values() if not one.made_at("smoke")]
    assert late
    assert all(one.made_at("signoff") for one in late)
    measured = [one for one in late if one.results is None]  # a diagnostic has the document's
    assert all(each.basis.source == "derived" for one in measured for each in one.limits)

"""The questions that a level requires, for a platform file that uses every kind of question."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from testing.core_values import cluster, document, limit, with_gpus

from railgauge.config import thresholds
from railgauge.config.thresholds.model import (
    Assertion,
    FabricLimits,
    Results,
    Traffic,
    Transport,
)
from railgauge.core.limits import Basis, Sweep
from railgauge.core.model import Case, Fabric, Pair, Pairing
from railgauge.core.question import (
    FABRIC,
    FACT,
    LIMITS,
    RATIO,
    RESULTS,
    TRAFFIC,
    TRANSPORT,
    FactAt,
    Question,
)
from railgauge.planning import plan, required
from railgauge.planning.required import (
    NOT_SCANNED,
    SUBNET,
    ItemKey,
    LevelScope,
    count,
    fact_question,
    gpu_label,
    links,
    part_label,
    ratio_question,
    required_checks,
    scan_rung,
    ways,
)

BASIS = Basis("derived", "made up")
BENCH = thresholds.load_file(Path("bench.json"), json.dumps(with_gpus(document())))
PLAIN = BENCH.measurements["host_write_bandwidth"]
SIZES = (65536, 8388608)
TWO = cluster("n1", "n2")


def platform(*measurements, expected=()):
    named = {name: one for name, one in BENCH.expected.items() if name in expected}
    return replace(BENCH, expected=named, measurements={one.name: one for one in measurements})


def measurement(name="m", **changes):
    plain = {"scope": "node", "rung": 3, "memory": "host", "asserts": ()}
    return replace(PLAIN, name=name, **{**plain, **changes})


def scope_of(on, of=TWO, level="nightly"):
    return LevelScope(on, of, plan.level(on, of, level))


def asked(*measurements, of=TWO, level="nightly", **more):
    """(rung, place, part, size, way, question) of each required check."""
    scope = scope_of(platform(*measurements, **more), of, level)
    listed = list(required_checks(scope))
    assert len(listed) == count(scope)
    for one in listed:
        assert one.key.nodes == (one.question.case.nodes if one.question.case else (one.place,))
    return [
        (one.rung, one.place, one.key.part, one.key.size_bytes, one.key.way, one.question)
        for one in listed
    ]


def at(*nodes, name="m", pairing=None, level="nightly"):
    return Case(name, nodes, pairing, PLAIN.extents[level].sizes, PLAIN.extents[level].repeats)


def test_each_asserted_size_is_required():
    narrow = measurement(asserts=(Assertion("bw_average", sizes=(8388608, 8388608)),))
    assert asked(narrow) == [
        (3, node, "", 8388608, "size", Question(LIMITS, at(node), 8388608)) for node in ("n1", "n2")
    ]
    both = measurement(asserts=(Assertion("bw_average"), Assertion("bw_peak")))
    assert [row[1:4] for row in asked(both)] == [
        (node, "", size) for node in ("n1", "n2") for size in SIZES
    ]


def test_each_link_and_each_gpu_is_required():
    rows = asked(measurement(asserts=(Assertion("link_bw", per="link"),)), of=cluster("n1"))
    assert [row[2:] for row in rows] == [
        (link, None, "link", Question(LIMITS, at("n1"), None, link))
        for link in ("gpu0>gpu1", "gpu1>gpu0")
    ]
    rows = asked(measurement(asserts=(Assertion("copy", per="gpu"),)), of=cluster("n1"))
    assert [row[2:] for row in rows] == [
        (gpu, None, "gpu", Question(LIMITS, at("n1"), None, gpu)) for gpu in ("gpu0", "gpu1")
    ]


def test_without_gpus_no_link_and_no_gpu_is_required():
    bare = replace(BENCH, gpus=None)
    assert links(bare) == []
    assert links(replace(BENCH, gpus=replace(BENCH.gpus, count=1))) == []
    asserts = (Assertion("link_bw", per="link"), Assertion("copy", per="gpu"))
    on = replace(platform(measurement(asserts=asserts)), gpus=None)
    assert list(required_checks(LevelScope(on, TWO, plan.level(on, TWO, "smoke")))) == []


@pytest.mark.parametrize("per", ["run", "link", "gpu", "size"])
def test_an_average_is_required_if_the_level_has_the_sizes_of_its_limit(per):
    of = Sweep(65536, 8388608, 128)
    one = measurement(
        asserts=(Assertion("bw_average", per=per),), limits=(limit(floor=1.0, over=of),)
    )
    assert bool(asked(one, level="nightly"))
    if per != "size":
        assert asked(one, level="smoke") == []


def test_a_value_per_run_is_required_once():
    rows = asked(measurement(asserts=(Assertion("tokens", per="run"),)), of=cluster("n1"))
    assert rows == [(3, "n1", "", None, "run", Question(LIMITS, at("n1")))]


def test_counters_transport_and_named_tests_are_required_if_declared():
    one = measurement(
        traffic=Traffic((0.9, 1.1), None, BASIS), transport=Transport(("IB",), (), BASIS),
        results=Results(("pcie",), BASIS), scope="pair", rung=4,
    )  # fmt: skip
    rows = asked(one)
    assert {(row[1], row[4], row[5].kind) for row in rows} == {
        ("n1:n2", kind, kind) for kind in (TRAFFIC, TRANSPORT, RESULTS)
    }
    assert all(row[5].case == at("n1", "n2") for row in rows)
    assert asked(replace(one, traffic=None, transport=None, results=None)) == []
    assert asked(one, of=cluster("n1")) == []


def test_each_path_of_each_pair_is_required():
    one = measurement(
        asserts=(Assertion("bw_average"),), scope="path", memory="gpu",
        extents={"smoke": replace(PLAIN.extents["smoke"], pairings="all")},
    )  # fmt: skip
    rows = asked(one, level="smoke")
    near, far = Pairing("mlx5_0", 0, "near"), Pairing("mlx5_0", 1, "far")
    assert [row[2] for row in rows] == [str(near), str(far)]
    assert [row[5].case.pairing for row in rows] == [near, far]
    assert {row[3] for row in rows} == {8388608}


def test_a_ratio_compares_with_the_same_place_or_with_its_first_node():
    ratio = Assertion("scaling", per="ratio", of="busbw", over="base")
    pair = measurement(scope="pair", rung=4, asserts=(ratio,))
    both = ("n1", "n2")
    for scope, nodes in (("node", ("n1",)), ("pair", both), ("group", both), ("fabric", both)):
        on = scope_of(platform(pair, measurement("base", scope=scope)))
        question = ratio_question(on, ratio, Pair("n1", "n2"), at("n1", "n2"))
        beside = at(*nodes, name="base")
        assert question == Question(RATIO, at("n1", "n2"), other=beside, metric="busbw")
    on = scope_of(platform(measurement("x", asserts=(ratio,)), measurement("base")))
    assert ratio_question(on, ratio, "n2", at("n2")).other == at("n2", name="base")
    rows = asked(pair, measurement("base"))
    assert [(row[4], row[5].kind) for row in rows] == [(RATIO, RATIO)] * len(rows)
    assert rows
    sized = replace(pair, asserts=(Assertion("bw_average"),))
    assert {row[4] for row in asked(sized, measurement("base"))} == {"size"}


def test_a_group_is_compared_with_its_first_node_and_not_with_itself():
    ratio = Assertion("scaling", per="ratio", of="model_tflops", over="base")
    whole = measurement(scope="group", rung=5, asserts=(ratio,))
    on, nodes = scope_of(platform(whole, measurement("base", scope="node"))), ("n2", "n1", "n3")
    question = ratio_question(on, ratio, plan.Group("all", nodes), at(*nodes))
    assert question.other == at("n2", name="base")


def test_required_checks_start_with_facts_then_measurements_by_rung():
    high, low = (
        measurement(name, rung=rung, asserts=(Assertion("bw_average", per="run"),))
        for name, rung in (("a", 4), ("b", 1))
    )
    rows = asked(high, low, expected=("memlock",))
    assert [row[0] for row in rows] == [0, 0, 1, 1, 4, 4]


def test_a_fact_is_required_of_each_node_and_part():
    rows = asked(expected=("memlock",))
    assert rows == [
        (0, node, "", None, FACT, Question(FACT, metric="memlock", fact=FactAt(node, ("memlock",))))
        for node in ("n1", "n2")
    ]
    memlock = BENCH.expected["memlock"]
    both = replace(memlock, name="gpu_nic_link")
    on = replace(BENCH, expected={"gpu_nic_link": both}, measurements={})
    listed = list(
        required_checks(LevelScope(on, cluster("n1"), plan.level(on, cluster("n1"), "smoke")))
    )
    parts = ["gpu0-mlx5_0", "gpu1-mlx5_0"]
    assert [one.key for one in listed] == [
        ItemKey("gpu_nic_link", FACT, ("n1",), part, None) for part in parts
    ]
    question = fact_question(on, "gpu_nic_link", "n1", {"gpu": 1, "nic": "mlx5_0"})
    assert question.fact.paths == ("topology.gpu1.mlx5_0",)
    assert listed[1].question == question


@pytest.mark.parametrize(
    ("part", "label"),
    [
        ({}, ""),
        ({"gpu": 3}, "gpu3"),
        ({"gpu": 0}, "gpu0"),
        ({"nic": "mlx5_0", "gpu": 3}, "gpu3-mlx5_0"),
        ({"adapter": "mlx5_1"}, "mlx5_1"),
        ({"link": "gpu0>gpu1"}, "gpu0>gpu1"),
        ({"switch": "s1"}, "s1"),
        ({"gpu": None, "nic": "mlx5_0"}, "mlx5_0"),
        ({"pairing": None, "gpu": 1}, "gpu1"),
        ({"pairing": Pairing("mlx5_0", 1), "gpu": 7}, "gpu1-mlx5_0"),
        ({"size": 8}, ""),
    ],
)
def test_part_labels_are_those_of_ids_and_records(part, label):
    assert part_label(part) == label


def test_a_gpu_label_has_the_gpus_number():
    assert gpu_label(3) == "gpu3"


def test_ways_are_the_kinds_of_question_of_a_level_or_of_all_levels():
    over = limit(floor=1.0, over=Sweep(65536, 8388608, 128))
    asserts = (Assertion("bw_peak"), Assertion("bw_average", per="run"), Assertion("bw_peak"))
    one = measurement(asserts=asserts, limits=(over,))
    assert ways(one) == ways(one, "nightly") == ("size", "run")
    assert ways(one, "smoke") == ("size",)
    assert ways(replace(one, extents={"smoke": one.extents["smoke"]}), "nightly") == ()
    spec = FabricLimits(BASIS)
    assert ways(measurement(fabric=spec)) == (FABRIC,)
    assert ways(measurement(traffic=Traffic((0, 1), None, BASIS))) == (TRAFFIC,)
    assert ways(measurement(transport=Transport((), (), BASIS))) == (TRANSPORT,)
    assert ways(measurement()) == ()


def test_a_scan_per_switch_requires_each_declared_switch(monkeypatch):
    of = replace(TWO, fabric=Fabric("n2", "topology", "file"))
    monkeypatch.setattr(
        required, "declared_switches", lambda fabric: {of.fabric: ("s1", "s2")}[fabric]
    )
    spec = FabricLimits(BASIS)
    one = measurement(scope="fabric", rung=1, fabric=spec, asserts=())
    rows = asked(one, of=of)
    assert [(row[2], row[5]) for row in rows] == [
        (switch, Question(FABRIC, at("n2"), placement=switch)) for switch in ("s1", "s2")
    ]
    whole = replace(one, fabric=replace(spec, per_switch=False))
    assert [row[2:] for row in asked(whole, of=of)] == [
        ("", None, FABRIC, Question(FABRIC, at("n2")))
    ]
    grown = replace(whole, name="late", fabric=replace(whole.fabric, since="m"))
    (early, late) = asked(whole, grown, of=of)
    assert (early[5].other, late[5].other) == (None, at("n2"))
    assert asked(replace(one, fabric=None), of=of) == []


# --- a subnet that the hostfile does not mention ---


def unscanned(name, rung=1):
    return (rung, "subnet", "", None, FABRIC, Question(FABRIC, Case(name, (), None, ())))


def required_of(*measurements, not_applicable=(), of=TWO, **more):
    on = replace(platform(*measurements, **more), not_applicable=dict.fromkeys(not_applicable, ""))
    scope = LevelScope(on, of, plan.level(on, of, "signoff"))
    listed = list(required_checks(scope))
    assert len(listed) == count(scope)
    return listed


def test_a_sign_off_requires_each_scan_of_a_subnet_that_no_node_scans():
    run = measurement(asserts=(Assertion("tokens", per="run"),))
    rows = asked(run, expected=("memlock",), level="signoff")
    assert [row[0] for row in rows] == [0, 0, 3, 3, *[1] * len(SUBNET)]
    assert rows[4:] == [unscanned(name) for name in SUBNET]
    assert SUBNET == (
        "fabric_manager", "fabric_cabling", "fabric_links", "fabric_errors",
        "fabric_errors_growth",
    )  # fmt: skip


def test_the_required_check_of_a_missing_scan_has_a_reason():
    listed = required_of()
    assert {one.why_not for one in listed} == {NOT_SCANNED}
    assert [one.key for one in listed] == [ItemKey(name, FABRIC, (), "", None) for name in SUBNET]
    (other, *_) = required_of(expected=("memlock",))
    assert other.why_not == ""


def test_a_scan_that_is_not_applicable_is_not_required():
    ruled = ("fabric_links", "fabric_errors")
    left = [one.key.subject for one in required_of(not_applicable=ruled)]
    assert left == [name for name in SUBNET if name not in ruled]


def test_a_missing_scan_has_the_rung_of_its_measurement_or_rung_1():
    on = platform(measurement("fabric_links", scope="fabric", rung=2))
    assert (scan_rung(on, "fabric_links"), scan_rung(on, "fabric_errors")) == (2, 1)
    rungs = {one.key.subject: one.rung for one in required_of(*on.measurements.values())}
    assert rungs == {**dict.fromkeys(SUBNET, 1), "fabric_links": 2}

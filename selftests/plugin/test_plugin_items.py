"""The items that a test of the ladder becomes, and their ids."""

import contextlib
import gc
import json
import shutil

import pytest
from testing import prepared
from testing.acceptance import environment
from testing.core_values import ROOT, document, limit_of, measurement_of, put, with_gpus

from railgauge.plugin.items import all_to_stay

HOSTFILE = """\
cluster: bench-cluster
platform: bench
nodes: node[01-04]
groups: {leaf01: "node[01-03]", leaf02: "node[03-04]"}
"""
TESTS = """\
import pytest


@pytest.mark.measures("links")
def test_link(node, link, measure, check):
    check(measure(node), link=link)


@pytest.mark.measures("links")
def test_gpu(node, gpu, measure, check):
    check(measure(node), gpu=gpu)


@pytest.mark.measures("links")
def test_run(node, measure, check):
    check(measure(node))


@pytest.mark.measures("links")
def test_size(node, size, measure, check):
    check(measure(node), size)


@pytest.mark.measures("group")
def test_group(group, size, measure, check):
    check(measure(group), size)


@pytest.mark.measures("pair")
def test_pair(pair, size, measure, check):
    check(measure(pair), size)


@pytest.mark.measures("pair")
def test_pair_run(pair, measure, check):
    check(measure(pair))


@pytest.mark.measures("pair")
def test_traffic(pair, measure, check_traffic):
    check_traffic(measure(pair))


@pytest.mark.measures("pair")
def test_transport(pair, measure, check_transport):
    check_transport(measure(pair))


@pytest.mark.measures("pair")
def test_ratio(pair, measure, check_ratio):
    check_ratio(measure(pair), measure(pair))


@pytest.mark.measures("paths")
def test_path(pair, pairing, size, measure, check):
    check(measure(pair, pairing), size)


@pytest.mark.expects("memlock")
def test_memlock(node, expect):
    expect(node)
"""


RATIO = {"metric": "scaling", "per": "ratio", "of": "busbw", "over": "group"}


def platform():
    """Eight GPUs with assertions on links, on GPUs and on all together; a pair, a group, paths."""
    doc = with_gpus(document())
    basis = limit_of(doc)["basis"]
    doc["hardware"]["gpus"]["count"] = 8
    doc["hardware"]["affinity"] = {str(gpu): {"mlx5_0": "SYS"} for gpu in range(8)}
    paths = measurement_of(doc)
    collective = {
        **paths, "tool": "ccl-tests", "command": "all_reduce_perf", "asserts": ["busbw"],
        "limits": [{"metric": "busbw", "unit": "GB/s", "floor": 30, "basis": basis}],
    }  # fmt: skip
    del collective["memory"]
    sweep = ["64KiB", "128KiB", "256KiB", "512KiB", "1MiB", "2MiB", "4MiB", "8MiB"]
    collective["levels"] = {
        **paths["levels"],
        "nightly": {"sizes": sweep},
        "signoff": {"sizes": sweep},
    }
    links = {
        **collective, "scope": "node", "rung": 3, "tool": "transferbench",
        "command": "TransferBench", "options": {"preset": "a2a"},
        "levels": {level: {"sizes": ["8MiB"]} for level in paths["levels"]},
        "asserts": [{"metric": "link_bw", "per": "link"}],
        "limits": [{"metric": "link_bw", "unit": "GB/s", "floor": 40, "basis": basis}],
    }  # fmt: skip
    doc["measurements"] = {
        "paths": paths,
        "links": links,
        "pair": {**collective, "scope": "pair", "rung": 4},
        "group": {**collective, "scope": "group", "rung": 4},
    }
    return doc


@pytest.fixture(scope="module")
def ids(tmp_path_factory):
    """``ids(doc)`` returns the items by test name, without the file's name.

    Other files of tests are given by name. What was asked before is not collected again.
    """
    known = {}

    def ids(doc, *options, **more):
        question = json.dumps([doc, options, more], sort_keys=True)
        if question not in known:
            known[question] = collected(tmp_path_factory.mktemp("site"), doc, options, more)
        return known[question]

    return ids


def collected(folder, doc, options, more):
    put(folder / "thresholds", doc)
    for name in ("tests", "hostfiles"):
        (folder / name).mkdir()
    for name in ("conftest.py", "tox.ini"):
        shutil.copy(ROOT / name, folder)
    shutil.copy(ROOT / "hostfiles" / "schema.json", folder / "hostfiles")
    (folder / "hostfiles" / "bench.yaml").write_text(HOSTFILE)
    for name, text in {"test_ladder": TESTS, **more}.items():
        (folder / "tests" / f"{name}.py").write_text(text)
    ask = ("--collect-only", "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest")
    ask += ("--hostfile", "hostfiles/bench.yaml", "--level", "smoke", *options)
    done = prepared.run(prepared.Request(ask, folder, environment(), time_limit_s=300))
    assert done.returncode == 0, done.stdout + done.stderr
    found = {}
    for line in done.stdout.splitlines():
        if "::" in line:
            name, _, rest = line.split("::", 1)[1].partition("[")
            found.setdefault(name, []).append(rest.removesuffix("]"))
    return found


def asserting(doc, measurement, *asserts):
    """The document with other assertions and a limit for each."""
    found = doc["measurements"][measurement]
    basis = found["limits"][0]["basis"]
    found["asserts"] = list(asserts)
    names = [one if isinstance(one, str) else one["metric"] for one in asserts]
    units = {"scaling": "1"}
    found["limits"] = [
        {"metric": name, "unit": units.get(name, "GB/s"), "floor": 5, "basis": basis}
        for name in names
    ]
    return doc


def test_ids_say_place_link_gpu_and_size_in_plain_words(ids):
    doc = asserting(
        platform(), "links",
        {"metric": "link_bw", "per": "link"}, {"metric": "gpu_actual", "per": "gpu"},
        {"metric": "average_bw", "per": "run"}, "slowest_link",
    )  # fmt: skip
    found = ids(doc)
    nodes = [f"node{index:02}" for index in range(1, 5)]
    assert found["test_link"] == [
        f"{node}-gpu{a}>gpu{b}" for node in nodes for a in range(8) for b in range(8) if a != b
    ]
    assert "node01-gpu0>gpu7" in found["test_link"]
    assert found["test_gpu"] == [f"{node}-gpu{gpu}" for node in nodes for gpu in range(8)]
    assert found["test_run"] == nodes
    assert found["test_size"] == [f"{node}-8MiB" for node in nodes]
    assert found["test_pair"] == ["node01:node04-8MiB", "node02:node03-8MiB"]
    assert found["test_path"][0] == "node01:node04-gpu0-mlx5_0-8MiB"
    everything = "".join(part for parts in found.values() for part in parts)
    assert not set(everything) & set("@~ /\\'\"()")


FAMILY = """\
import pytest

PAIRS = ("pair", "again", "average")


@pytest.mark.measures(*PAIRS)
def test_pairs(measurement, pair, size, measure, check):
    check(measure(pair, of=measurement), size)


@pytest.mark.measures("average")
def test_average(pair, measure, check):
    check(measure(pair))
"""


def test_a_family_has_the_items_of_each_member_that_is_asked_for(ids):
    doc = platform()
    doc["measurements"] |= {name: {**doc["measurements"]["pair"]} for name in ("again", "average")}
    asserting(doc, "average", {"metric": "avg_busbw", "per": "run"})
    over = {"from": "64KiB", "to": "8MiB", "factor": 2}
    doc["measurements"]["average"]["limits"][0]["over"] = over
    found = ids(doc, "--level", "nightly", test_family=FAMILY)
    pairs = found["test_average"]
    assert len(pairs) == 4
    last = [one for one in found["test_pairs"] if one.endswith("-8MiB")]
    assert last == [f"{name}-{pair}-8MiB" for name in ("pair", "again") for pair in pairs]


AGAIN = """\
import pytest


@pytest.mark.measures("pair")
def test_link(pair, size, measure, check):
    check(measure(pair), size)
"""


def test_two_tests_of_one_name_are_each_on_their_own_rung(ids):
    """Files are collected in order of name, and items run in order of rung."""
    found = ids(platform(), test_again=AGAIN)["test_link"]
    assert found[-2:] == ["node01:node04-8MiB", "node02:node03-8MiB"]
    assert found[0] == "node01-gpu0>gpu1"


@pytest.mark.parametrize("enabled", [True, False])
def test_the_garbage_collector_is_as_it_was_after_a_collection(enabled):
    was = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        with contextlib.suppress(KeyboardInterrupt), all_to_stay():
            assert not gc.isenabled()
            raise KeyboardInterrupt
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if was else gc.disable)()


def test_ids_have_the_names_of_groups(ids):
    """leaf02 has two nodes, which form a pair; the group ``all`` has every node."""
    assert ids(platform())["test_group"] == ["leaf01-8MiB", "all-8MiB"]


@pytest.mark.parametrize(
    ("per", "there"),
    [("link", "test_link"), ("gpu", "test_gpu"), ("run", "test_run"), ("size", "test_size")],
)
def test_a_metric_that_is_not_asserted_for_an_argument_makes_no_item(ids, per, there):
    found = ids(asserting(platform(), "links", {"metric": "link_bw", "per": per}))
    made = {name for name in found if name in ("test_link", "test_gpu", "test_run", "test_size")}
    assert made == {there}


def test_a_check_that_the_platform_does_not_ask_makes_no_item(ids):
    found = ids(platform())
    assert not {"test_traffic", "test_transport", "test_ratio", "test_pair_run"} & set(found)


def test_a_check_that_the_platform_asks_makes_items(ids):
    doc = asserting(platform(), "pair", "busbw", RATIO)
    basis = doc["measurements"]["pair"]["limits"][0]["basis"]
    doc["measurements"]["pair"].update(
        traffic={"share": [0.9, 1.3], "basis": basis},
        transport={"wanted": ["GDRDMA"], "basis": basis},
    )
    found = ids(doc)
    pairs = ["node01:node04", "node02:node03"]
    assert [found[f"test_{name}"] for name in ("traffic", "transport", "ratio")] == [pairs] * 3


def test_sizes_at_which_nothing_is_asserted_make_no_item(ids):
    doc = platform()
    for extent in doc["measurements"]["pair"]["levels"].values():
        extent["sizes"] = ["2MiB", "4MiB", "8MiB"]
    doc["measurements"]["pair"]["asserts"] = [{"metric": "busbw", "sizes": ["4MiB", "8MiB"]}]
    assert [name.split("-")[1] for name in ids(doc)["test_pair"]] == ["4MiB", "8MiB"] * 2


def test_a_pair_level_of_more_rounds_makes_more_items(ids):
    assert len(ids(platform(), "--rounds", "3")["test_pair"]) == 6


def test_an_average_over_other_sizes_than_the_level_measures_makes_no_item(ids):
    """smoke measures only 8 MiB; the floor is for two sizes."""
    doc = asserting(platform(), "pair", "busbw", {"metric": "avg_busbw", "per": "run"})
    doc["measurements"]["pair"]["limits"][1]["over"] = {
        "from": "64KiB", "to": "8MiB", "factor": 2,
    }  # fmt: skip
    assert "test_pair_run" not in ids(doc)


def test_an_average_over_the_sizes_of_the_level_makes_items(ids):
    doc = asserting(platform(), "pair", "busbw", {"metric": "avg_busbw", "per": "run"})
    doc["measurements"]["pair"]["limits"][1]["over"] = {
        "from": "64KiB", "to": "8MiB", "factor": 2,
    }  # fmt: skip
    found = ids(doc, "--level", "nightly")["test_pair_run"]
    assert len(found) == 4

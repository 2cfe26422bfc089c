"""The groups in which two nodes are measured while all others load the fabric."""

from dataclasses import replace

import pytest
from testing.core_values import ROOT, cluster

from railgauge.cli import main
from railgauge.config import thresholds
from railgauge.core.errors import BadInput
from railgauge.planning import part, plan
from railgauge.planning.required import LevelScope, required_checks
from railgauge.planning.victims import with_victims

H200 = thresholds.load("h200", ROOT / "thresholds")
LEAVES = {"a": ("a1", "a2"), "b": ("b1", "b2"), "c": ("c1", "c2")}
SIX = tuple(node for nodes in LEAVES.values() for node in nodes)


def test_each_leaf_has_a_victim_in_two_groups():
    assert with_victims(SIX, LEAVES) == {
        "a-b": ("a1", "b1", "a2", "b2", "c1", "c2"),
        "b-c": ("b1", "c1", "a1", "a2", "b2", "c2"),
        "c-a": ("c1", "a1", "a2", "b1", "b2", "c2"),
    }


def test_two_leaves_have_one_group_and_no_leaves_one_of_all():
    two = {name: LEAVES[name] for name in ("a", "b")}
    assert with_victims(SIX[:4], two) == {"a-b": ("a1", "b1", "a2", "b2")}
    assert with_victims(SIX, {}) == {"all": SIX}
    assert with_victims((*SIX[:2], "x1", "x2"), {"a": LEAVES["a"]}) == {
        "all": ("a1", "a2", "x1", "x2")
    }


@pytest.mark.parametrize("count", range(4))
def test_fewer_than_four_nodes_have_none(count):
    assert with_victims(SIX[:count], {}) == {}


def six():
    return replace(cluster(*SIX), groups=LEAVES)


def asked(level):
    found = required_checks(LevelScope(H200, six(), level))
    return [one.place for one in found if one.key.subject == "group_congestion"]


def test_a_sign_off_asks_for_it_once_for_each_leaf():
    assert asked(plan.level(H200, six(), "signoff")) == ["a-b", "b-c", "c-a"]
    assert asked(plan.level(H200, six(), "nightly")) == []


def test_one_shard_makes_all_and_some_nodes_make_none():
    whole = plan.level(H200, six(), "signoff")
    made = [asked(part.of_level(part.shard(f"{number}/3", six()), whole)) for number in (1, 2, 3)]
    assert made == [[], [], ["a-b", "b-c", "c-a"]]
    only = part.LevelPart(SIX, LEAVES, only=("a1",), partners=("a2",))
    assert asked(part.of_level(only, whole)) == []


def test_the_plan_shows_its_time(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    main(["plan", "--hostfile", "hostfiles/lab-h200.yaml", "--level", "signoff"])
    assert "group_congestion" in capsys.readouterr().out


def planned(*nodes, **options):
    measurement = H200.measurements["group_congestion"]
    changed = replace(measurement, options={**measurement.options, **options})
    platform = replace(H200, measurements={**H200.measurements, measurement.name: changed})
    case = plan.case_on(changed, "signoff", nodes, None)
    return plan.commands(case, platform, cluster(*nodes), 20000)


def test_the_victims_lead_and_all_others_load():
    server, client = planned(*SIX)
    assert (server.node, server.listens_on, client.node) == ("a2", 20000, "a1")
    latency, bandwidth = (words.split("\n") for words in client.argv[4:6])
    assert latency[:1] + latency[-1:] == ["ib_write_lat", "a2"]
    assert (bandwidth[0], "--report_gbits" in bandwidth) == ("ib_write_bw", True)
    load = client.argv[7:]
    assert load[0] == "mpirun"
    assert "-np 32 --host b1:8,b2:8,c1:8,c2:8" in " ".join(load)
    assert load[load.index("-N") + 1] == "0"


def test_what_a_network_needs_is_given_to_perftest():
    server, client = planned(*SIX, gid_index=3, service_level=1)
    for words in (*server.argv[4:6], *client.argv[4:6]):
        assert "\n-x\n3\n" in words
        assert "\n-S\n1" in words


@pytest.mark.parametrize(
    ("nodes", "options", "says"),
    [
        (SIX[:3], {}, "no pair and others that load"),
        (SIX, {"load": {"repeat": 3}}, "unknown option repeat"),
        (SIX, {"load_percent": 0}, "load_percent is 0"),
        (SIX, {"qps": 2}, "unknown option qps"),
    ],
)
def test_what_cannot_be_measured_is_refused(nodes, options, says):
    with pytest.raises(BadInput, match=says):
        planned(*nodes, **options)

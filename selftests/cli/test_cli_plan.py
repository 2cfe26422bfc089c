"""``railgauge plan``: what a run would do, computed from declared hardware only."""

import json
import shutil
import time
from collections import Counter

from testing.core_values import ROOT, one_line

LAB = ROOT / "hostfiles" / "lab-metax-c500.yaml"


def test_plan_json(railgauge):
    code, out, err = railgauge("plan", "--root", ROOT, "--hostfile", LAB, "--json")
    data = json.loads(out)
    assert (code, err) == (0, "")
    assert {"nodes", "rounds", "steps", "estimate_s"} <= set(data)
    assert data["nodes"] == ["mx01", "mx02", "mx03", "mx04"]
    assert len(data["rounds"]) == 2
    assert all(len(pairs) == 2 for pairs in data["rounds"])
    assert data["estimate_s"] == sum(step["estimate_s"] for step in data["steps"]) > 0
    over_nics = [step for step in data["steps"] if step["rung"] < 3]
    assert len(over_nics) == 4 * (2 * 7 + 16 + 2)
    above = data["steps"][len(over_nics) :]
    places = Counter((step["measurement"], len(step["nodes"])) for step in above)
    others = ("all_gather", "reduce_scatter", "alltoall", "sendrecv", "broadcast")
    assert places == {
        **{(f"node_{name}", 1): 4 for name in (*others, "reduce")},
        **{(f"pair_{name}", 2): 4 for name in others},
        **{(f"group_{name}", 4): 1 for name in others},
        ("node_all_reduce", 1): 4, ("pair_all_reduce", 2): 4, ("pair_all_reduce_one_gpu", 2): 4,
        ("group_all_reduce", 4): 1, ("node_serving", 1): 4, ("pair_serving", 2): 4,
    }  # fmt: skip
    step = data["steps"][0]
    assert step["commands"][1]["argv"][0].endswith("ib_write_bw")
    assert ":".join(step["nodes"]) in data["rounds"][step["round"] - 1]


def test_plan_for_people(railgauge):
    code, out, _ = railgauge("plan", "--root", ROOT, "--hostfile", LAB, "--level", "smoke")
    assert code == 0
    assert "4 nodes, platform metax-c500, level smoke" in out
    assert "round 1: mx01:mx04 mx02:mx03" in out


def test_the_plan_says_what_it_covers_and_how_long_it_takes(railgauge):
    """Text and JSON agree, and the steps add up to the whole."""
    arguments = ("plan", "--root", ROOT, "--hostfile", LAB, "--level", "smoke", "-n", 2)
    _, words, _ = railgauge(*arguments)
    _, out, _ = railgauge(*arguments, "--json")
    data = json.loads(out)
    assert data["coverage"] == {
        "nodes": {"tested": 4, "declared": 4},
        "pairs": {"tested": 4, "declared": 6},
        "rails": {"tested": 2, "declared": 2},
        "leaves": {"tested": 2, "declared": 2},
        "pairs_within_leaves": {"tested": 2, "declared": 2},
        "pairs_between_leaves": {"tested": 2, "declared": 4},
    }
    assert "covers 4 of 4 nodes, 4 of 6 pairs, 2 of 2 rails, 2 of 2 leaves" in words
    assert data["leaves"] == {"leaf01": ["mx01", "mx02"], "leaf02": ["mx03", "mx04"]}
    took = {count: each["estimate_s"] for count, each in data["workers"].items()}
    assert set(took) == {"1", "2", "4"}
    assert took["1"] == data["estimate_s"] == sum(step["estimate_s"] for step in data["steps"])
    assert took["1"] > took["2"] > took["4"] > took["1"] / 4
    assert f"about {took['1'] / 60:.0f} min one after the other" in words
    assert f"{took['2'] / 60:.0f} min with -n 2" in words


LEAVES = ", ".join(f"leaf{n:02}: 'n[{n * 32 + 1:04}-{n * 32 + 32:04}]'" for n in range(39))


def test_a_plan_for_1250_nodes_fits_a_screen_and_takes_seconds(railgauge, log):
    hosts = log(
        f"cluster: big\nplatform: h200\nnodes: n[0001-1250]\ngroups: {{{LEAVES}}}\n", "big.yaml"
    )
    arguments = ("plan", "--root", ROOT, "--hostfile", hosts)
    start = time.process_time()
    code, words, _ = railgauge(*arguments)
    assert code == 0
    assert time.process_time() - start < 20
    assert all(len(line) < 200 for line in words.splitlines() if "not applicable" not in line)
    assert "nodes: n[0001-1250]" in words
    assert "leaves: 39, of 32 nodes each: leaf[00-38]" in words
    assert "round 2: 625 pairs: n0002:n0001 " in words
    assert words.count("and 617 more") == 2
    assert "1,250 of 780,625 pairs" in words
    assert "39 of 39 leaves, 624 of 19,344 pairs within leaves, 623 of 758,784" in words
    code, _, err = railgauge(*arguments, "--level", "signoff", "--rounds", 900, "--json")
    assert code == 2
    assert "steps, too many to list; ask for fewer --rounds" in one_line(err)


def test_many_rounds_are_counted(railgauge, log):
    hosts = log("cluster: c\nplatform: h200\nnodes: n[01-20]\n", "c.yaml")
    _, words, _ = railgauge("plan", "--root", ROOT, "--hostfile", hosts, "--level", "signoff")
    assert "rounds 1 to 19: up to 10 pairs each, 190 in all" in words
    assert "leaf" not in words


def test_more_rounds_mean_more_steps(railgauge):
    counts = []
    for rounds in (1, 2, 3):
        _, out, _ = railgauge(
            "plan", "--root", ROOT, "--hostfile", LAB, "--json", "--rounds", rounds
        )
        counts.append(len(json.loads(out)["steps"]))
    # Each round: 2 pairs, each over 2 NICs in 7 ways, 18 GPU paths, 7 collectives and 1 service.
    # Once: 4 nodes' 7 collectives and service, and 6 collectives over all.
    once, each = 4 * (7 + 1) + 6, 2 * (2 * 7 + 18 + 7 + 1)
    assert counts == [once + rounds * each for rounds in (1, 2, 3)]


def test_plan_of_a_plain_hostfile(railgauge, log):
    hosts = log("a slots=8\nb slots=8\n", "hosts")
    code, _, err = railgauge("plan", "--root", ROOT, "--hostfile", hosts)
    assert code == 2
    assert "--platform NAME" in one_line(err)
    code, out, _ = railgauge(
        "plan", "--root", ROOT, "--hostfile", hosts, "--platform", "h200", "--json"
    )
    assert code == 0
    assert json.loads(out)["rounds"] == [["a:b"]]


def test_root_may_be_elsewhere(railgauge, tmp_path, monkeypatch):
    for name in ("thresholds", "hostfiles"):
        shutil.copytree(ROOT / name, tmp_path / "site" / name)
    monkeypatch.chdir(tmp_path)
    code, _, _ = railgauge(
        "plan", "--root", "site", "--hostfile", "site/hostfiles/lab-metax-c500.yaml"
    )
    assert code == 0
    code, _, err = railgauge("plan", "--hostfile", "site/hostfiles/lab-metax-c500.yaml")
    assert code == 2
    assert err.startswith("railgauge: 2 complaints about the input:\n")
    assert all("--root" in line for line in err.splitlines()[1:])

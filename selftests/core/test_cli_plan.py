"""``railgauge plan``: what a run would do, from declared hardware alone."""

import json
import shutil
from collections import Counter

from core_values import ROOT, one_line

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
    assert len(over_nics) == 4 * (2 + 16)
    places = Counter((step["measurement"], len(step["nodes"])) for step in data["steps"][72:])
    assert places == {
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


def test_more_rounds_mean_more_steps(railgauge):
    counts = []
    for rounds in (1, 2, 3):
        _, out, _ = railgauge(
            "plan", "--root", ROOT, "--hostfile", LAB, "--json", "--rounds", rounds
        )
        counts.append(len(json.loads(out)["steps"]))
    # Each round: 2 pairs, each over 2 NICs, 16 GPU paths, 2 collectives and 1 service.
    # Once: 4 nodes' collective and service, and the collective over all.
    assert counts == [9 + rounds * 2 * (2 + 16 + 2 + 1) for rounds in (1, 2, 3)]


def test_plan_of_a_plain_hostfile(railgauge, log):
    hosts = log("a slots=8\nb slots=8\n", "hosts")
    code, _, err = railgauge("plan", "--root", ROOT, "--hostfile", hosts)
    assert code == 2
    assert "--platform NAME" in one_line(err)
    code, out, _ = railgauge(
        "plan", "--root", ROOT, "--hostfile", hosts, "--platform", "metax-c500", "--json"
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
    assert "--root" in one_line(err)

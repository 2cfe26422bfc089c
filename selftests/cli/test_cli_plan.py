"""``railgauge plan``: what a run would do, computed from declared hardware only."""

import json
import re
import shutil
import time
from collections import Counter

import pytest
from testing.core_values import ROOT, one_line

LAB = ROOT / "hostfiles" / "lab-metax-c500.yaml"


def test_plan_prints_json(railgauge):
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
        ("gpu_matrix_bf16", 1): 4, ("gpu_memory_copy", 1): 4,
        **{(f"node_{name}", 1): 4 for name in (*others, "reduce")},
        **{(f"pair_{name}", 2): 4 for name in others},
        **{(f"group_{name}", 4): 1 for name in others},
        ("node_all_reduce", 1): 4, ("pair_all_reduce", 2): 4, ("pair_all_reduce_one_gpu", 2): 4,
        ("group_all_reduce", 4): 1, ("node_serving", 1): 4, ("pair_serving", 2): 4,
        **{(f"node_{name}", 1): 4 for name in ("replay", "training")},
        **{(f"pair_{name}", 2): 4 for name in ("replay", "training")}, ("group_training", 4): 1,
    }  # fmt: skip
    step = data["steps"][0]
    assert step["commands"][1]["argv"][0].endswith("ib_write_bw")
    assert ":".join(step["nodes"]) in data["rounds"][step["round"] - 1]


def test_plan_prints_text_for_people(railgauge):
    code, out, _ = railgauge("plan", "--root", ROOT, "--hostfile", LAB, "--level", "smoke")
    assert code == 0
    assert "4 nodes, platform metax-c500, level smoke" in out
    assert "round 1: mx01:mx04 mx03:mx02" in out


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
    assert f"{took['2'] / 60:.0f} min with --at-once 2" in words


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
    assert all(len(line) < 200 for line in words.splitlines())
    assert len(words.splitlines()) < 50
    assert "nodes: n[0001-1250]" in words
    assert "leaves: 39, of 32 nodes each: leaf[00-38]" in words
    assert "round 2: 625 pairs: n0002:n0001 " in words
    assert words.count("and 617 more") == 2
    assert "1,250 of 780,625 pairs" in words
    assert "39 of 39 leaves, 624 of 19,344 pairs within leaves, 623 of 758,784" in words
    code, _, err = railgauge(*arguments, "--level", "signoff", "--rounds", 900, "--json")
    assert code == 2
    assert "steps, and at most 100,000 are listed; ask for a part with --shard" in one_line(err)


@pytest.mark.parametrize(
    ("platform", "level"), [("h200", "smoke"), ("h200", "nightly"), ("connectx4-homelab", "smoke")]
)
def test_a_plan_for_twenty_thousand_nodes_takes_seconds(railgauge, log, platform, level):
    """It took 15 to 40 s; the time grew with the square of the nodes."""
    hosts = log(f"cluster: big\nplatform: {platform}\nnodes: a[1-20000]\n", "20k.yaml")
    start = time.process_time()
    code, words, _ = railgauge("plan", "--root", ROOT, "--hostfile", hosts, "--level", level)
    assert time.process_time() - start < 5
    assert code == 0
    assert "nodes: a[1-20000]" in words
    assert (" items, and a run at most 10,000,000" in words) is (
        (platform, level) == ("h200", "nightly")
    )


def test_one_shard_of_very_many_takes_seconds(railgauge, log):
    """Its time grew with their number: each of them was made."""
    hosts = log("cluster: big\nplatform: h200\nnodes: a[1-20000]\n", "20k.yaml")
    start = time.process_time()
    code, words, _ = railgauge("plan", "--root", ROOT, "--hostfile", hosts, "--shard", "5/2000")
    assert time.process_time() - start < 5
    assert code == 0
    assert "shard 5/2000 uses a[" in words


@pytest.mark.parametrize(
    ("nodes", "more", "says"),
    [
        ("a[1-1000000]", (), "names 1,000,000 nodes, and at most 20,000 are read"),
        ("a[1-20000]", ("--level", "signoff"), "199,990,000 pairs of 20,000 nodes, and at most"),
        ("a[1-20000]", ("--rounds", 500), "nodes, and at most 1,000,000 are planned"),
        ("a[1-20000]", ("--json",), "steps, and at most 100,000 are listed"),
        ("a[1-9]\ngroups: {g: 'a[1-999999]'}", (), "names 999,999 nodes, and at most 20,000"),
    ],
)  # fmt: skip
def test_a_plan_without_end_is_refused_in_a_line(railgauge, log, nodes, more, says):
    hosts = log(f"cluster: big\nplatform: h200\nnodes: {nodes}\n", "endless.yaml")
    start = time.process_time()
    code, out, err = railgauge("plan", "--root", ROOT, "--hostfile", hosts, *more)
    assert time.process_time() - start < 5
    assert (code, out) == (2, "")
    assert says in one_line(err)


def test_many_rounds_are_counted(railgauge, log):
    hosts = log("cluster: c\nplatform: h200\nnodes: n[01-20]\n", "c.yaml")
    _, words, _ = railgauge("plan", "--root", ROOT, "--hostfile", hosts, "--level", "signoff")
    assert "rounds 1 to 19: up to 10 pairs each, 190 in all" in words
    assert "leaf" not in words


def big(log, nodes, platform="h200"):
    return log(
        f"cluster: big\nplatform: {platform}\nnodes: n[001-{nodes:03}]\nmodel: m\n", f"{nodes}.yaml"
    )


def test_the_first_lines_are_what_matters(railgauge, log):
    plan = ("plan", "--root", ROOT, "--hostfile", big(log, 16), "--level", "smoke")
    _, words, _ = railgauge(*plan, "--rounds", 2)
    lines = words.splitlines()
    assert lines[0] == "big: 16 nodes, platform h200, level smoke"
    assert lines[1].startswith("about 156 min one after the other")
    assert lines[2] == (
        "longer than the 30 min that a smoke run is meant to take, by 126 min: with --at-once 8 it "
        "takes 20 min"
    )
    assert lines[3] == "nodes: n[001-016]"
    rungs = [line.split(":")[0] for line in lines[4:] if line.startswith("rung ")]
    assert rungs == [
        "rung 0, preflight", "rung 1, network, 43 min", "rung 2, gpudirect, 21 min",
        "rung 3, intranode, 51 min", "rung 4, collective, 30 min",
        "rung 5, application, 11 min",
    ]  # fmt: skip
    order = [words.index(f"\n{what}") for what in ("rung 4", "covers", "not applicable", "round 1")]
    assert order == sorted(order)


def test_smoke_of_many_nodes_says_which_it_measures(railgauge, log):
    plan = ("plan", "--root", ROOT, "--hostfile", big(log, 64), "--level", "smoke")
    _, words, _ = railgauge(*plan)
    lines = words.splitlines()
    assert lines[1].startswith("about 30 min one after the other")
    assert lines[2] == "nodes: n[001-064]"
    assert lines[3].startswith("SAMPLE, 3 of 64 nodes by themselves and in pairs")
    assert ": n[001,022,043]" in words[: words.index("\nrung 0")]
    assert "covers 3 of 64 nodes" in words
    _, out, _ = railgauge(*plan, "--json")
    data = json.loads(out)
    assert data["sample"] == ["n001", "n022", "n043"]
    assert data["rungs"]["3"]["estimate_s"] == 3 * 190


def test_rungs_add_up(railgauge):
    _, out, _ = railgauge("plan", "--root", ROOT, "--hostfile", LAB, "--json")
    data = json.loads(out)
    assert sum(one["estimate_s"] for one in data["rungs"].values()) == data["estimate_s"]
    assert set(data["rungs"]) == {str(step["rung"]) for step in data["steps"]}


def test_a_run_that_ends_in_time_has_no_warning(railgauge):
    _, words, _ = railgauge("plan", "--root", ROOT, "--hostfile", LAB)
    assert "longer than" not in words


def test_a_night_that_is_too_long_says_by_how_much_and_what_helps(railgauge, log):
    plan = ("plan", "--root", ROOT, "--hostfile", big(log, 64), "--level", "nightly")
    _, words, _ = railgauge(*plan)
    assert (
        "longer than the 8 h that a nightly run is meant to take, by 20 h: with --at-once 4"
        in words
    )


def test_if_no_number_of_workers_helps_fewer_rounds_do(railgauge, log):
    plan = ("plan", "--root", ROOT, "--hostfile", big(log, 64), "--rounds", 63)
    _, words, _ = railgauge(*plan)
    assert "that a nightly run is meant to take, even with --at-once 64, by 7 h" in words
    assert "\nwith --rounds 1, where each node meets 1 partner or more: " in words


def test_a_sign_off_says_what_it_costs_and_what_else_there_is(railgauge, log):
    plan = ("plan", "--root", ROOT, "--hostfile", big(log, 64), "--level", "signoff")
    _, words, _ = railgauge(*plan)
    _, out, _ = railgauge(*plan[:-2], "--level", "signoff", "--rounds", 2, "--json")
    fewer = json.loads(out)["estimate_s"]
    first = words.splitlines()[1]
    assert first.startswith("about 45 days one after the other, 32 h with --at-once 64")
    line = "with --rounds 2, where each node meets 2 partners or more: "
    assert f"{line}{fewer / 86400:.0f} days, " in words
    assert "longer than" not in words


def test_a_sign_off_says_what_it_needs_of_this_machine(railgauge, log):
    plan = ("plan", "--root", ROOT, "--hostfile", big(log, 64), "--level", "signoff")
    _, words, _ = railgauge(*plan)
    (line,) = re.findall(r"needs on this machine about .*?\)", words.replace("\n    ", " "), re.S)
    items = int(re.search(r"judges ([\d,]+) items", words)[1].replace(",", ""))
    assert "items; pytest collects one item for each test and node" in words
    gib = items * 7 / 1024 / 1024
    assert f"about {gib + 90 / 1024:.1f} GiB of memory and " in line
    assert "for each worker of -n " in line
    assert "7 KiB and 3.7 ms an item, 23 ms a run of a tool" in line, "the basis"
    _, nightly, _ = railgauge(*plan[:-2])
    assert "needs on this machine" not in nightly
    _, small, _ = railgauge(*plan[:3], "--hostfile", big(log, 8), "--level", "smoke")
    assert "pytest collects" not in small


def test_the_cost_of_a_run_grows_with_its_items(railgauge, log):
    costs = []
    for count in (4, 8):
        _, out, _ = railgauge("plan", "--root", ROOT, "--hostfile", big(log, count), "--json")
        data = json.loads(out)
        costs.append((data["items"], data["resource_estimate"]))
    (few, less), (many, more) = costs
    assert more["memory_mib"] - less["memory_mib"] == pytest.approx((many - few) * 18 / 1024)
    assert more["cpu_s"] > less["cpu_s"] > 1
    assert more["worker_memory_mib"] > less["worker_memory_mib"] > 55
    assert less["basis"].startswith("18 KiB and 3.7 ms an item, ")


def test_tests_that_are_left_out_are_folded_by_reason(railgauge, log):
    plan = ("plan", "--root", ROOT, "--hostfile", big(log, 4))
    _, folded, _ = railgauge(*plan)
    _, whole, _ = railgauge(*plan, "--all")
    _, out, _ = railgauge(*plan, "--json")
    reasons = json.loads(out)["not_applicable"]
    names = [name for name in reasons if not name.endswith(" traffic")]
    assert len(names) > 25
    assert all(f"not applicable: {name}: {reasons[name]}\n" in whole for name in names)
    lines = folded[folded.index("\nnot applicable, ") : folded.index("\nround 1")]
    assert len(lines.splitlines()) < 20
    assert all(name in lines for name in names)
    assert "the platform declares no Ethernet NIC: host_tcp_bandwidth," in folded
    assert "(ib_write_bw: " in whole
    assert "(ib_write_bw: " not in folded


def test_more_rounds_mean_more_steps(railgauge):
    counts = []
    for rounds in (1, 2, 3):
        _, out, _ = railgauge(
            "plan", "--root", ROOT, "--hostfile", LAB, "--json", "--rounds", rounds
        )
        counts.append(len(json.loads(out)["steps"]))
    # Each round: 2 pairs, each over 2 NICs in 7 ways, 18 GPU paths, 7 collectives, 2 trainings and
    # 1 service. Once: 4 nodes' 7 collectives, 2 trainings, service and 2 runs of GPUs alone, and 6
    # collectives and a training over all.
    once, each = 4 * (7 + 2 + 1 + 2) + 7, 2 * (2 * 7 + 18 + 7 + 2 + 1)
    assert counts == [once + rounds * each for rounds in (1, 2, 3)]


def test_a_plain_hostfile_can_be_planned(railgauge, log):
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

"""Every recorded run of a collective gets the verdict that its document gives it."""

import json

import pytest
from testing.core_values import ROOT, TRANSCRIPTS, needs_transcripts

from railgauge.cli import main

pytestmark = needs_transcripts

ACCEPTED, REJECTED, INCOMPLETE = 0, 1, 10
# The excerpts of H200 have no closing lines: no row misses, and more may have followed.
RUNS = {
    "metax-mccl-allreduce-1node-8gpu-healthy": ("metax-c500", "node_all_reduce", ACCEPTED, 22),
    "metax-mccl-allreduce-2node-16gpu-healthy": ("metax-c500", "pair_all_reduce", ACCEPTED, 22),
    "metax-mccl-allreduce-2node-16gpu-no-gdr": ("metax-c500", "pair_all_reduce", REJECTED, 22),
    "metax-mccl-allreduce-2node-2gpu-no-gdr": (
        "metax-c500", "pair_all_reduce_one_gpu", REJECTED, 1,
    ),
    "h200-nccl-allreduce-8g-baseline": ("h200", "group_all_reduce", INCOMPLETE, 0),
    "h200-nccl-allreduce-8g-tuned": ("h200", "group_all_reduce", INCOMPLETE, 0),
    "h200-nccl-allreduce-8g-eud": ("h200", "group_all_reduce", REJECTED, 1),
    "h200-nccl-allreduce-8g-untuned": ("h200", "group_all_reduce", REJECTED, 1),
    "mi300x-rccl-allreduce-8gpu": ("mi300x", "node_all_reduce", ACCEPTED, 33),
}  # fmt: skip


def judge(capsys, platform, path, *more, tool="ccl-tests"):
    words = ["judge", "--root", ROOT, "--platform", platform, "--tool", tool, "--json", *more, path]
    code = main([str(word) for word in words])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", RUNS)
def test_the_verdict_on_a_recorded_collective(capsys, name):
    platform, measurement, verdict, least = RUNS[name]
    code, output = judge(capsys, platform, TRANSCRIPTS / f"{name}.txt")
    assert code == verdict, output["errors"]
    assert output["measurement"] == measurement
    assert output["pairing"] is None
    assert all("no-closing-line" in error for error in output["errors"])
    assert bool(output["errors"]) == (verdict == INCOMPLETE)
    assert len(output["judgements"]) >= least
    bad = [one for one in output["judgements"] if one["outcome"] == "failed"]
    assert bool(bad) is (verdict == REJECTED)


@pytest.mark.parametrize("name", [name for name in RUNS if not name.startswith("h200")])
@pytest.mark.parametrize("level", ["nightly", "signoff"])
def test_the_upper_levels_require_a_whole_sweep(capsys, name, level):
    platform, measurement, verdict, _ = RUNS[name]
    code, output = judge(capsys, platform, TRANSCRIPTS / f"{name}.txt", "--level", level)
    assert (code, output["measurement"]) == (verdict, measurement)


def test_every_recorded_collective_is_looked_at():
    recorded = {path.stem for path in TRANSCRIPTS.glob("*allreduce*.txt")}
    assert recorded == {*RUNS, "mi300x-rccl-allreduce-8gpu-graph"}


def test_the_graph_run_does_not_say_that_it_is_one(capsys):
    """The heading does not show graph mode: judged as it looks, or by the named measurement."""
    path = TRANSCRIPTS / "mi300x-rccl-allreduce-8gpu-graph.txt"
    more = ("--measurement", "node_all_reduce_graph", "--level", "signoff")
    _, output = judge(capsys, "mi300x", path, *more)
    outcomes = {one["outcome"] for one in output["judgements"]}
    assert outcomes == {"passed"}
    assert judge(capsys, "mi300x", path)[1]["measurement"] == "node_all_reduce"


def test_without_a_graph_small_reductions_are_too_slow_for_one(capsys):
    path = TRANSCRIPTS / "mi300x-rccl-allreduce-8gpu.txt"
    code, _ = judge(capsys, "mi300x", path, "--measurement", "node_all_reduce_graph")
    assert code == REJECTED


def test_every_link_and_gpu_of_a_recorded_all_to_all_is_judged(capsys):
    path = TRANSCRIPTS / "mi300x-transferbench-a2a.txt"
    code, output = judge(capsys, "mi300x", path, tool="transferbench")
    names = {one["metric"] for one in output["judgements"]}
    assert code == ACCEPTED, output["errors"]
    assert {"link_bw gpu0>gpu7", "link_bw gpu7>gpu0", "gpu_actual gpu7", "average_bw"} <= names
    assert len(output["judgements"]) == 56 + 8 + 1


def test_one_slow_link_of_the_all_to_all_rejects(capsys, tmp_path):
    lines = (TRANSCRIPTS / "mi300x-transferbench-a2a.txt").read_text()
    slow = tmp_path / "slow.txt"
    assert "47.182" in lines
    slow.write_text(lines.replace("47.182", "17.182"))
    code, _ = judge(capsys, "mi300x", slow, tool="transferbench")
    assert code != ACCEPTED


def test_one_slow_row_of_many_rejects(capsys, tmp_path):
    text = (TRANSCRIPTS / "h200-nccl-allreduce-8g-tuned.txt").read_text()
    row = next(line for line in text.splitlines() if "390.96" in line)
    slow = row.replace("42569.3", "85138.6").replace("201.79", "100.89").replace("390.96", "195.48")
    path = tmp_path / "slow.txt"
    path.write_text(text.replace(row, slow))
    code, output = judge(capsys, "h200", path)
    assert code == REJECTED
    assert output["judgements"][0]["worst"] == 195.48


@pytest.mark.parametrize("name", [name for name in RUNS if not name.startswith("h200")])
def test_half_of_a_table_is_not_accepted(capsys, tmp_path, name):
    lines = (TRANSCRIPTS / f"{name}.txt").read_text().splitlines(True)
    half = tmp_path / "half.txt"
    half.write_text("".join(lines[: len(lines) // 2]))
    words = ["judge", "--root", ROOT, "--platform", RUNS[name][0], "--tool", "ccl-tests", half]
    assert main([str(word) for word in words]) != ACCEPTED


@pytest.mark.parametrize(
    ("name", "tool", "measurement", "count"),
    [("h200-dcgmi-diag-eud", "dcgmi-diag", "gpu_diagnostic_extended", 1),
     ("h200-azure-nhc", "azure-nhc", "node_health_check", 9)],
)  # fmt: skip
def test_the_diagnostics_of_document_001_are_judged_and_accepted(
    capsys, name, tool, measurement, count
):
    code, output = judge(capsys, "h200", TRANSCRIPTS / f"{name}.txt", tool=tool)
    assert (code, output["measurement"], output["errors"]) == (ACCEPTED, measurement, [])
    assert [one["outcome"] for one in output["judgements"]] == ["passed"] * count


def test_a_cut_transcript_of_them_is_not_accepted(capsys, tmp_path):
    for name, tool in (("h200-dcgmi-diag-eud", "dcgmi-diag"), ("h200-azure-nhc", "azure-nhc")):
        whole = (TRANSCRIPTS / f"{name}.txt").read_text(encoding="utf-8")
        path = tmp_path / name
        path.write_text("".join(whole.splitlines(keepends=True)[:-1]), encoding="utf-8")
        assert judge(capsys, "h200", path, tool=tool)[0] == 10

"""One mean over many iterations does not prove stability: an error beside any missed limit."""

import json

import pytest
from testing.core_values import ROOT, dispersed, judgement, limit

from railgauge.cli import main
from railgauge.config import thresholds
from railgauge.core.errors import StabilityUnproven
from railgauge.core.model import Case, Outcome, Parsed, Sample
from railgauge.judging import assess
from railgauge.judging.evidence import stability_doubt
from railgauge.judging.judge import judge_proven
from railgauge.tools import tool

SIZE = 8589934592
STRICT = dispersed(cv_max=0.01)
PLANNED = {"iterations": 1, "cycles": 20}
COLUMNS = ("out_of_place", "in_place")
SIDE = " {us:.1f} {alg:.2f} {bus:.2f} 0"
ROW = f" {{size}} 2147483648 float sum -1{SIDE}{SIDE}\n"


def read(rows, **summary):
    found = [
        Sample("bw_average", "Gb/s", 390.0 - row, SIZE, 2 * row + column, COLUMNS[column])
        for row in range(rows)
        for column in (0, 1)
    ]
    return Parsed("ccl-tests", "2.1", tuple(found), summary)


def doubt(*runs, against=STRICT, options=PLANNED, **more):
    return stability_doubt(runs, against, SIZE, options, **more)


def test_all_planned_rows_leave_no_doubt():
    assert doubt(read(20), read(20)) is None


def test_one_row_over_many_iterations_gives_the_doubt_and_a_remedy():
    found = doubt(read(1, iterations=1000))
    assert isinstance(found, StabilityUnproven)
    assert found.kind == "stability-unproven"
    assert str(found) == (
        "one row over 1000 iterations cannot show whether iterations are alike; run with -n 1 -N 20"
    )


def test_one_short_run_of_several_is_enough_for_doubt():
    found = doubt(read(20), read(19, iterations=1))
    assert found is not None
    assert "19 of 20 planned rows, each over 1 iteration, cannot show" in str(found)


def test_without_a_header_the_number_of_iterations_is_unknown():
    assert "one row cannot show whether" in str(doubt(read(1)))


def test_two_rows_are_enough_in_an_unplanned_output():
    assert doubt(read(2), is_planned=False) is None
    assert doubt(read(1), is_planned=False) is not None


@pytest.mark.parametrize(
    "more",
    [
        {"against": limit()},
        {"against": dispersed(cv_max=0.01), "options": {"iterations": 20}},
        {"options": {"iterations": 20, "cycles": 1}},
    ],
)
def test_where_no_rows_are_planned_or_judged_there_is_no_doubt(more):
    assert doubt(read(1), **more) is None


def test_a_missed_limit_stands_and_a_pass_does_not():
    found = doubt(read(1, iterations=1000))
    missed = judge_proven(judgement(Outcome.FAILED, reason="too slow"), found)
    assert missed.outcome is Outcome.FAILED
    assert missed.reason.startswith("too slow; one row over 1000 iterations")
    with pytest.raises(StabilityUnproven):
        judge_proven(judgement(), found)
    assert judge_proven(judgement(), None) == judgement()


# --- as a run, and the console command, say it ---


def printed(folder, busbw, rows=1, iterations=1000):
    """Two nodes of eight GPUs, in the format of nccl-tests."""
    ranks = "".join(
        f"#  Rank {rank:2d} Group  0 Pid {4000 + rank} on node{rank // 8} device  {rank % 8} "
        f"[0x{rank % 8:02x}] NVIDIA H200\n"
        for rank in range(16)
    )
    algbw = busbw / (2 * 15 / 16)
    row = ROW.format(size=SIZE, us=SIZE / algbw / 1e3, alg=algbw, bus=busbw)
    path = folder / "log.txt"
    path.write_text(
        f"# Collective test starting: all_reduce_perf\n"
        f"# nThread 1 nGpus 1 minBytes {SIZE} maxBytes {SIZE} step: 2(factor) warmup iters: 5 "
        f"iters: {iterations} agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n{ranks}#\n"
        "#       size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
        "#        (B) (elements) (us) (GB/s) (GB/s) (us) (GB/s) (GB/s)\n"
        f"{row * rows}# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {busbw:.2f}\n#\n"
    )
    return path


@pytest.mark.parametrize(("rows", "is_proof"), [(20, True), (19, False), (1, False)])
def test_a_run_must_print_all_the_rows_that_it_planned(tmp_path, rows, is_proof):
    platform = thresholds.load("h200", ROOT / "thresholds")
    measurement = platform.measurements["pair_all_reduce"]
    case = Case(measurement.name, ("node0", "node1"), None, (SIZE,))
    parsed = tool("ccl-tests").parse(printed(tmp_path, 390.0, rows, 1).read_text())
    found = assess.limits(platform, assess.Measured(case, measurement, (parsed,), ()), SIZE)
    assert [error.kind for error in found.errors] == ([] if is_proof else ["stability-unproven"])
    assert [one.outcome for one in found.judgements] == ([Outcome.PASSED] if is_proof else [])


def judged(capsys, path):
    words = ["judge", "--root", ROOT, "--platform", "h200", "--tool", "ccl-tests", "--json", path]
    code = main([str(word) for word in words])
    return code, json.loads(capsys.readouterr().out)


def test_a_steady_mean_of_170_misses_its_floor_and_proves_nothing(capsys, tmp_path):
    code, answer = judged(capsys, printed(tmp_path, 170.0))
    assert (code, answer["measurement"]) == (1, "pair_all_reduce")
    (only,) = answer["judgements"]
    assert only["outcome"] == "failed"
    assert "170 GB/s (worst of 2) at 8GiB, limit >= 369.1 GB/s" in only["reason"]
    assert "one row over 1000 iterations cannot show" in only["reason"]
    assert "run with -n 1 -N 20" in only["reason"]


def test_a_good_mean_over_many_iterations_is_no_proof(capsys, tmp_path):
    code, answer = judged(capsys, printed(tmp_path, 390.0))
    assert (code, answer["verdict"]) == (10, "incomplete")
    assert answer["judgements"] == []
    assert len(answer["errors"]) == 1


def test_single_iterations_that_are_alike_pass(capsys, tmp_path):
    code, answer = judged(capsys, printed(tmp_path, 390.0, rows=20, iterations=1))
    assert (code, answer["errors"]) == (0, [])


def test_the_text_reports_it_too(capsys, tmp_path):
    path = printed(tmp_path, 170.0)
    words = ["judge", "--root", ROOT, "--platform", "h200", "--tool", "ccl-tests", path]
    main([str(word) for word in words])
    out = capsys.readouterr().out
    failed = next(line for line in out.splitlines() if "failed: busbw 170 GB/s" in line)
    assert "one row over 1000 iterations" in failed

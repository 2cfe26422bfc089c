"""What Slurm and node-problem-detector get of ``railgauge node``: exit codes and lines."""

from __future__ import annotations

import pytest
from testing.node_checks import checked

from railgauge.cli import node_report
from railgauge.cli.node_report import FORMATS, NodeReport
from railgauge.core.terms import Verdict

GOOD = NodeReport(Verdict.ACCEPTED, "n1: accepted", "", ("more",), {"node": "n1"})
BROKEN = NodeReport(Verdict.REJECTED, "n1: rejected: x", "railgauge: x", (), {})
WRONG_SETTING = NodeReport(Verdict.REJECTED, "n1: rejected: y", "", (), {})
UNSEEN = NodeReport(Verdict.INCOMPLETE, "n1: incomplete: z", "", (), {})


@pytest.mark.parametrize(
    ("named", "report", "code", "out", "err"),
    [
        ("text", GOOD, 0, ["n1: accepted", "more"], []),
        ("text", BROKEN, 1, ["n1: rejected: x"], []),
        ("text", WRONG_SETTING, 1, ["n1: rejected: y"], []),
        ("text", UNSEEN, 10, ["n1: incomplete: z"], []),
        ("slurm", GOOD, 0, [], []),
        ("slurm", BROKEN, 1, ["railgauge: x"], []),
        ("slurm", WRONG_SETTING, 0, [], ["n1: rejected: y"]),
        ("slurm", UNSEEN, 10, ["n1: incomplete: z"], []),
        ("npd", GOOD, 0, ["n1: accepted"], []),
        ("npd", BROKEN, 1, ["railgauge: x"], []),
        ("npd", WRONG_SETTING, 0, ["n1: rejected: y"], []),
        ("npd", UNSEEN, 2, ["n1: incomplete: z"], []),
    ],
)
def test_each_caller_gets_its_exit_codes(named, report, code, out, err):
    printed = FORMATS[named](report)
    assert (printed.code, [*printed.out], [*printed.err]) == (code, out, err)


def test_a_report_is_read_back_as_it_was_written():
    assert node_report.from_json(GOOD.to_json()) == GOOD
    for damaged in (None, [], {}, {**GOOD.to_json(), "verdict": "fine"}, {"verdict": "accepted"}):
        assert node_report.from_json(damaged) is None


def test_slurm_gets_nothing_of_a_good_node_and_the_reason_of_a_broken_one(start_lab):
    done = checked(start_lab("h200"), "--format", "slurm")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    bench = start_lab("h200", "ecc@h200-01:3", "port-down@h200-01:mlx5_1")
    done = checked(bench, "--format", "slurm")
    assert (done.returncode, done.stderr) == (1, "")
    assert (
        done.stdout == "railgauge: link-down mlx5_1, gpu-memory-errors gpu3, simulated node check\n"
    )
    npd = checked(bench, "--format", "npd")
    assert (npd.returncode, npd.stdout) == (1, done.stdout)


def test_a_format_and_json_exclude_each_other(start_lab):
    done = checked(start_lab("connectx4-homelab"), "--format", "npd", "--json")
    assert done.returncode == 2
    assert "exclude each other" in done.stderr

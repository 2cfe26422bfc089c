"""``railgauge triage``: what to do about each node of a run."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from railgauge.cli import run_argument, text
from railgauge.core.errors import BadInput
from railgauge.core.terms import EXIT_CODES_IN_WORDS
from railgauge.diagnosis.catalogue.kind import CauseAction, CauseSeverity
from railgauge.report.triage import cells, commands
from railgauge.report.triage.printed import remarks, table
from railgauge.report.triage.reading import read
from railgauge.report.triage.sheet import TriageRow, TriageSheet, sheet

HELP = (
    "print what to do about each node of a run, worst first; commands for Slurm and Kubernetes are"
    " printed, never run"
)
EXAMPLE = (
    "example: railgauge triage reports/latest --format slurm; "
    f"exit codes: those of the run's verdict, {EXIT_CODES_IN_WORDS}"
)
_TABLE, _CSV = "table", "csv"
_FORMATS = {
    _TABLE: lambda made: "\n".join(table(made)),
    _CSV: lambda made: cells.lines(made).rstrip("\n"),
    "slurm": lambda made: "\n".join(commands.slurm(made)),
    "kubernetes": lambda made: "\n".join(commands.kubernetes(made)),
    "npd": lambda made: "\n".join(commands.npd(made)),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    run_argument.add(parser, "the run's folder, or its verdict.json (default: reports/latest)")
    parser.add_argument(
        "--format",
        choices=_FORMATS,
        help="table (the default), csv, the commands that drain nodes (slurm, kubernetes), or "
        "those that set a condition of each node, as node-problem-detector has them (npd)",
    )
    parser.add_argument(
        "--suspects",
        action="store_true",
        help="also list causes of which several parts are suspected; they are never drained",
    )


def run(options: argparse.Namespace) -> int:
    """Return the exit code of the run's verdict."""
    if options.json and options.format:
        raise BadInput("--json and --format exclude each other", remedy="drop one of them")
    found = read(run_argument.named(options))
    made = sheet(found, suspects=options.suspects)
    if options.json:
        text.print_json(_plain(made))
    else:
        print(_FORMATS[options.format or _TABLE](made))
    if options.format == _CSV:  # which has no comments
        sys.stderr.writelines(f"{remark}\n" for remark in remarks(made))
    return found.run.verdict.exit_code


def _plain(made: TriageSheet) -> dict[str, Any]:
    return {
        "run_id": made.run.run_id,
        "cluster": made.run.cluster,
        "evidence": made.run.evidence,
        "verdict": made.run.verdict,
        "causes": [_row(row) for row in (*made.rows, *made.elsewhere)],
        "unknown": [{"node": o.node, "what": o.what, "why": o.why} for o in made.open],
        "left_out": made.left_out,
        "without_cause": made.without,
        "severities": {one: one.meaning for one in CauseSeverity},
        "actions": {one: one.meaning for one in CauseAction},
    }


def _row(row: TriageRow) -> dict[str, Any]:
    return {
        "node": row.node,
        "place": row.place,
        "severity": row.triage.severity,
        "action": row.triage.action,
        "cause": row.cause,
        "part": row.part,
        "suspect": row.is_suspect,
        "drain": row.drains,
        "why": row.says,
        "do": row.remedy,
    }

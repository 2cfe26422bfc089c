"""``railgauge node``: the node checks itself, with the rules of the acceptance.

What the check itself needs is imported when one is made (``node_check``): a kept result is printed
without it.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import os
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from railgauge import __version__
from railgauge.cli import text
from railgauge.cli.node_report import FORMATS, NodeReport, from_json
from railgauge.core import arguments
from railgauge.core.errors import BadInput
from railgauge.core.terms import Verdict
from railgauge.leases.files import locked_within
from railgauge.run.node_state import NodeState, own_folder, state_of

HELP = "check the node that it runs on by itself, without SSH: for Slurm, Kubernetes and by hand"
EXAMPLE = (
    "example: railgauge node --hostfile hostfiles/mine.yaml; it changes nothing. "
    "Exit codes: 0 accepted, 1 rejected, 10 incomplete, 2 bad usage or input. With --format slurm "
    "1 is for what railgauge triage drains a node for, with the reason, 10 for what is not known, "
    "and 0 for the rest, without output; with --format npd these are 1, 2 and 0, as "
    "node-problem-detector has them"
)
_BUDGET_S, _LEAST_S, _MOST_S = 50.0, 10.0, 7200.0
_SECONDS_PER_MINUTE = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--hostfile", type=Path, metavar="FILE", help="the cluster that the node belongs to"
    )
    parser.add_argument(
        "--platform", metavar="NAME", help="without a hostfile, or for a plain list"
    )
    parser.add_argument(
        "--name",
        metavar="NODE",
        help="which node of the hostfile this is (default: $SLURMD_NODENAME, or the host's name)",
    )
    parser.add_argument(
        "--format", choices=FORMATS, help="the reader of the output (default: text)"
    )
    parser.add_argument(
        "--budget",
        type=arguments.number(_LEAST_S, _MOST_S, "seconds"),
        default=_BUDGET_S,
        metavar="SECONDS",
        help="what is not read by then is not known (default: %(default)g)",
    )
    parser.add_argument(
        "--cache", type=arguments.number(0, math.inf, "minutes"), default=0.0, metavar="MINUTES",
        help="print the last result if it is younger and rejects nothing (default: check anew)",
    )  # fmt: skip
    parser.add_argument(
        "--measure", action="append", default=[], metavar="NAME",
        help="also make this measurement of the platform file, of this node alone, while no other "
        "run holds the node; may be repeated, and needs a longer --budget",
    )  # fmt: skip
    parser.add_argument(
        "--log-since", type=_since, default="boot", metavar="WHEN",
        help="judge what the kernel has logged since then: boot (default), check: the check before "
        "this one, so that each line is reported once, or a time, such as that of a repair: "
        "2026-11-24T18:00",
    )  # fmt: skip
    parser.add_argument(
        "--busy", action="store_true", help="the node may run jobs: processes on GPUs are no fault"
    )
    parser.add_argument(
        "--state", type=Path, metavar="DIR",
        help="where results, counters and the lock are kept (default: /run/railgauge for root, "
        "else $XDG_RUNTIME_DIR/railgauge or ~/.cache/railgauge)",
    )  # fmt: skip


def _since(value: str) -> str:
    try:
        return value if value in ("boot", "check") else datetime.fromisoformat(value).isoformat()
    except ValueError:
        what = f"{value} is neither boot nor check nor a time such as 2026-11-24T18:00"
        raise argparse.ArgumentTypeError(what) from None


def run(options: argparse.Namespace) -> int:
    """Check the node, or print a recent result; the exit code is the format's."""
    if options.json and options.format:
        raise BadInput("--json and --format exclude each other", remedy="drop one of them")
    until = time.monotonic() + options.budget
    named = options.name or os.environ.get("SLURMD_NODENAME", "") or os.uname().nodename
    state, inputs = state_of(named, options.state or own_folder()), _inputs(options, named)
    report = _recent(state, inputs, options.cache * _SECONDS_PER_MINUTE)
    report = report or _checked(options, named, state, inputs, until)
    if options.json:
        text.print_json(report.data)
        return report.verdict.exit_code
    answer = FORMATS[options.format or "text"](report)
    for lines, stream in ((answer.out, sys.stdout), (answer.err, sys.stderr)):
        stream.writelines(f"{text.printable(' '.join(line.splitlines()))}\n" for line in lines)
    return answer.code


def _recent(state: NodeState, inputs: str, age_s: float) -> NodeReport | None:
    """The last result, if it is recent and no rejection: a rejected node may be repaired."""
    found_s, found = state.result(inputs)
    report = from_json(found) if found_s < age_s else None
    return None if report and report.verdict is Verdict.REJECTED else report


def _checked(
    options: argparse.Namespace, named: str, state: NodeState, inputs: str, until: float
) -> NodeReport:
    """Check the node, or wait for another process that does, and take its result."""
    began = time.monotonic()
    with locked_within(state.lock, until - began) as is_mine:
        waited_s = time.monotonic() - began
        found_s, found = state.result(inputs)
        if found_s < waited_s and (report := from_json(found)):
            return report
        if not is_mine:
            return _taken(named, options.budget)

        from railgauge.cli import node_check  # noqa: PLC0415 - 0.5 s to import

        report = node_check.made(options, named, state, until)
        state.keep(inputs, report.to_json())
        return report


def _taken(named: str, budget_s: float) -> NodeReport:
    why = f"another check of the node has not ended within {budget_s:g} s"
    verdict = Verdict.INCOMPLETE
    data = {"node": named, "verdict": verdict, "why": why}
    return NodeReport(verdict, f"{named}: {verdict}: {why}", "", (), data)


def _inputs(options: argparse.Namespace, named: str) -> str:
    """A digest of what a result depends on besides the node; a changed file changes it."""
    parts = [__version__, named, options.platform, options.busy, options.measure]
    parts += [options.log_since]
    parts += [os.fspath(options.root.absolute())]
    parts += [_stamp(path) for path in _files(options)]
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _files(options: argparse.Namespace) -> Iterator[Path]:
    if options.hostfile:
        yield options.hostfile.absolute()
    yield from sorted((options.root / "thresholds").rglob("*.json"))


def _stamp(path: Path) -> tuple[str, int, int]:
    try:
        found = path.stat()
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=str(path)) from None
    return os.fspath(path), found.st_size, found.st_mtime_ns

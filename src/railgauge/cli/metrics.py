"""``railgauge metrics``: a finished run as OpenMetrics text, for a node exporter."""

from __future__ import annotations

import argparse
import io
import sys
from dataclasses import asdict
from pathlib import Path

from railgauge.cli import finished_run, run_argument, text
from railgauge.core.errors import BadInput
from railgauge.core.run_files import VERDICT
from railgauge.report import openmetrics
from railgauge.run.store import write_whole

HELP = "print a run's verdict, causes and worst margins as OpenMetrics text"
EXAMPLE = (
    "example: railgauge metrics reports/latest "
    "-o /var/lib/node_exporter/textfile/railgauge-mine.prom"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    run_argument.add(parser)
    parser.add_argument(
        "-o", dest="output", type=Path, metavar="FILE",
        help="replace FILE in one step (the collector reads *.prom), instead of printing",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    folder = run_argument.folder(options)
    finished = finished_run.read(folder)
    try:
        families = openmetrics.families(finished)
    except BadInput as error:
        raise BadInput(error.what, where=str(folder / VERDICT)) from None
    if options.output:
        _write(options.output, openmetrics.text(families))
    if options.json:
        text.print_json([asdict(family) for family in families])
    elif not options.output:
        _print(openmetrics.text(families))
    return 0


def _write(path: Path, content: str) -> None:
    try:
        write_whole(path, content)
    except OSError as error:
        raise BadInput(f"cannot be written: {error.strerror}", where=str(path)) from None


def _print(content: str) -> None:
    """Print UTF-8 in any locale: the format has no other encoding and no escape for one."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    sys.stdout.write(content)

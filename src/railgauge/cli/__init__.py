"""The console command ``railgauge``: parse, judge and plan without a cluster.

Exit codes: those of a verdict (0 also for done), and 2 for input that cannot be used.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from railgauge import __version__
from railgauge.cli import (
    allure,
    bundle,
    causes,
    certificate,
    compare,
    countersign,
    init,
    inventory,
    judge,
    lab,
    leaves,
    limits,
    merge,
    metrics,
    parse,
    plan,
    platform,
    prune,
    slurm_nodes,
    tcp_lab,
    text,
    thresholds,
    trend,
    triage,
    undo,
    verify,
)
from railgauge.core.errors import RailgaugeError
from railgauge.core.terms import EXIT_CODES_IN_WORDS

_BAD_USAGE = 2
_CUT_SHORT = 141  # the code that a shell reports for a program that wrote to a closed pipe
_COMMANDS = (
    init,
    parse,
    judge,
    plan,
    platform,
    leaves,
    slurm_nodes,
    limits,
    causes,
    thresholds,
    trend,
    certificate,
    compare,
    merge,
    triage,
    inventory,
    metrics,
    allure,
    bundle,
    prune,
    verify,
    countersign,
    undo,
    lab,
    tcp_lab,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; bad input gives one line on stderr."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    options = _parser().parse_args(argv)
    code = _CUT_SHORT
    try:
        code = options.run(options)
        sys.stdout.flush()
    except RailgaugeError as error:
        print(f"railgauge: {text.printable(str(error))}", file=sys.stderr)
        return _BAD_USAGE
    except BrokenPipeError:
        # The reader (head, less) closed the pipe; Python must not print an error at exit either.
        # The exit code is that of the command if it had ended, else 141: a rejection is never 0.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return 130
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="railgauge",
        description="Acceptance tests for GPU clusters. The acceptance run itself is pytest: "
        "pytest --hostfile FILE. These commands work without a cluster.",
        epilog=f"exit codes: {EXIT_CODES_IN_WORDS}, 2 bad usage or input",
    )
    parser.add_argument("--version", action="version", version=f"railgauge {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for module in _COMMANDS:
        command = commands.add_parser(
            module.NAME, help=module.HELP, description=module.HELP, epilog=module.EXAMPLE
        )
        command.add_argument("--json", action="store_true", help="print JSON")
        command.add_argument(
            "--root",
            type=Path,
            default=Path(),
            metavar="DIR",
            help="where thresholds/ and hostfiles/ are (default: here)",
        )
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser

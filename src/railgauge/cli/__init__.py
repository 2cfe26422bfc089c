"""The console command ``railgauge``: parse, judge and plan without a cluster.

Exit codes: those of a verdict (0 also for done), 2 for input that cannot be used, and 3 for an
error in railgauge or its installation. Python's own 1 would mean a rejected cluster.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from railgauge import __version__
from railgauge.cli import text
from railgauge.core.errors import RailgaugeError
from railgauge.core.exhaustion import bound_thread_starts
from railgauge.core.masking import MASK_OF_PROCESS
from railgauge.core.terms import EXIT_CODES_IN_WORDS
from railgauge.run import streams
from railgauge.run.progress import screen

_BAD_USAGE = 2
_BROKEN = 3
_CUT_SHORT = 141  # the code that a shell reports for a program that wrote to a closed pipe
COMMANDS = {
    "init": "railgauge.cli.init",
    "docs": "railgauge.cli.docs",
    "completion": "railgauge.cli.completion",
    "parse": "railgauge.cli.parse",
    "judge": "railgauge.cli.judge",
    "check": "railgauge.cli.check",
    "node": "railgauge.cli.node",
    "plan": "railgauge.cli.plan",
    "platform": "railgauge.cli.platform",
    "leaves": "railgauge.cli.leaves",
    "slurm-nodes": "railgauge.cli.slurm_nodes",
    "limits": "railgauge.cli.limits",
    "causes": "railgauge.cli.causes",
    "thresholds": "railgauge.cli.thresholds",
    "trend": "railgauge.cli.trend",
    "certificate": "railgauge.cli.certificate",
    "compare": "railgauge.cli.compare",
    "merge": "railgauge.cli.merge",
    "requalify": "railgauge.cli.requalify",
    "triage": "railgauge.cli.triage",
    "inventory": "railgauge.cli.inventory",
    "metrics": "railgauge.cli.metrics",
    "allure": "railgauge.cli.allure",
    "bundle": "railgauge.cli.bundle",
    "prune": "railgauge.cli.prune",
    "verify": "railgauge.cli.verify",
    "countersign": "railgauge.cli.countersign",
    "undo": "railgauge.cli.undo",
    "lab": "railgauge.cli.lab",
    "tcp-lab": "railgauge.cli.tcp_lab",
}
"""The module of each command, in the order of the help text."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; bad input gives one line on stderr.

    Secrets are masked in all output.
    """
    words = sys.argv[1:] if argv is None else argv
    MASK_OF_PROCESS.know(os.environ)
    MASK_OF_PROCESS.learn_words(words)
    with streams.masked_streams():
        return _run(words)


def _run(words: Sequence[str]) -> int:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    code = _CUT_SHORT
    bound_thread_starts()
    try:
        options = parser(_asked_for(words)).parse_args(words)
        with screen.shown(f"railgauge {words[0]}"):
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
    except (Exception, SystemExit) as error:
        import traceback  # noqa: PLC0415 - these two take 0.03 s to import

        from railgauge.site import installed  # noqa: PLC0415

        if failed := installed.failed_import(error):
            print(f"railgauge: {text.printable(installed.explained(failed))}", file=sys.stderr)
            return _BROKEN
        if isinstance(error, SystemExit):  # of --help, --version and bad usage
            raise
        traceback.print_exc()
        return _BROKEN
    return code


def _asked_for(words: Sequence[str]) -> Sequence[str]:
    """Return the command that the words begin with, or all: importing all of them takes 0.5 s."""
    first = words[:1]
    return first if set(first) & set(COMMANDS) else list(COMMANDS)


class _Parser(argparse.ArgumentParser):
    """Prints no character that could control the terminal, such as in an untrusted file name."""

    def error(self, message: str) -> NoReturn:
        super().error(text.printable(message))


def parser(names: Iterable[str]) -> argparse.ArgumentParser:
    """The parser of these commands."""
    whole = _Parser(
        prog="railgauge",
        description="Acceptance tests for GPU clusters. The acceptance run itself is pytest: "
        "pytest --hostfile FILE. Most of these commands touch no node.",
        epilog=f"exit codes: {EXIT_CODES_IN_WORDS}, 2 bad usage or input",
    )
    whole.add_argument("--version", action="version", version=f"railgauge {__version__}")
    commands = whole.add_subparsers(metavar="COMMAND", required=True)
    for name in names:
        module = import_module(COMMANDS[name])
        command = commands.add_parser(
            name, help=module.HELP, description=module.HELP, epilog=module.EXAMPLE
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
    return whole

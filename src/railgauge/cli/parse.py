"""``railgauge parse TOOL FILE``: parse a tool's output to JSON."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from railgauge import tools
from railgauge.cli import text
from railgauge.core.model import Parsed
from railgauge.core.terms import Verdict
from railgauge.tools.finding import find

HELP = "parse the output of a tool and print it as JSON"
EXAMPLE = "example: railgauge parse perftest ib_write_bw.log"
_AUTO = "auto"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    known = ", ".join(tools.NAMES)
    parser.add_argument("tool", metavar="TOOL", help=f"one of: {known}; or {_AUTO}, which finds it")
    parser.add_argument("file", metavar="FILE", help="a log, or - for standard input")


def run(options: argparse.Namespace) -> int:
    """Always print JSON; exit code 10 if the output has an error or no value."""
    if options.tool == _AUTO:
        parsed = find(text.read(options.file), options.file)
    else:
        tool = tools.tool(options.tool)
        parsed = tool.parse(text.read(options.file))
    text.print_json(to_json(parsed))
    return Verdict.INCOMPLETE.exit_code if parsed.errors or not parsed.samples else 0


def to_json(parsed: Parsed) -> dict[str, Any]:
    """Return the fields of ``Parsed``; empty fields of samples are left out."""
    data = asdict(parsed)
    del data["not_shown"]  # it is for comparison with a command, which is not known here
    data["samples"] = [
        {key: value for key, value in sample.items() if value not in (None, "")}
        for sample in data["samples"]
    ]
    return data

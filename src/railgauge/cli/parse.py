"""``railgauge parse TOOL FILE``: what a tool's output says, as JSON."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from railgauge import tools
from railgauge.cli import text
from railgauge.core.model import Parsed
from railgauge.core.terms import Verdict

NAME = "parse"
HELP = "read what a tool printed and print it as JSON"
EXAMPLE = "example: railgauge parse perftest ib_write_bw.log"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tool", metavar="TOOL", help=f"one of: {', '.join(tools.NAMES)}")
    parser.add_argument("file", metavar="FILE", help="a log, or - for standard input")


def run(options: argparse.Namespace) -> int:
    """JSON in any case; exit code 10 if the output holds an error or no value at all."""
    parsed = tools.tool(options.tool).parse(text.read(options.file))
    text.print_json(to_json(parsed))
    return Verdict.INCOMPLETE.exit_code if parsed.errors or not parsed.samples else 0


def to_json(parsed: Parsed) -> dict[str, Any]:
    """What was read, as ``Parsed`` has it; fields of samples that hold nothing are left out."""
    data = asdict(parsed)
    del data["not_shown"]  # of what was asked for, and nothing was
    data["samples"] = [
        {key: value for key, value in sample.items() if value not in (None, "")}
        for sample in data["samples"]
    ]
    return data

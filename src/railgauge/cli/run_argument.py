"""The argument ``RUN``: the folder of the run that a command reads."""

from __future__ import annotations

import argparse
from pathlib import Path

_HELP = "the run's folder (default: reports/latest)"


def add(parser: argparse.ArgumentParser, help_text: str = _HELP) -> None:
    parser.add_argument(
        "run_folder",
        nargs="?",
        type=Path,
        metavar="RUN",
        help=help_text,
    )


def folder(options: argparse.Namespace) -> Path:
    """Return the folder that was named, or that of the newest run."""
    named: Path = options.run_folder or options.root / "reports" / "latest"
    return named.resolve()

"""The argument ``RUN``: the folder of the run that a command reads."""

from __future__ import annotations

import argparse
from pathlib import Path


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run_folder",
        nargs="?",
        type=Path,
        metavar="RUN",
        help="the run's folder (default: reports/latest)",
    )


def folder(options: argparse.Namespace) -> Path:
    """Return the folder that was named, or that of the newest run."""
    named: Path = options.run_folder or options.root / "reports" / "latest"
    return named.resolve()

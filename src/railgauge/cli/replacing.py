"""The option ``--force`` of commands that write a file of a site: without it none is replaced."""

from __future__ import annotations

import argparse
from pathlib import Path

from railgauge.core.errors import BadInput


def add_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--force", action="store_true", help="replace the file if it is there")


def refuse_existing(path: Path, options: argparse.Namespace) -> None:
    """Raise ``BadInput`` if the file is there and ``--force`` was not given."""
    if path.exists() and not options.force:
        raise BadInput("exists already", where=str(path), remedy="another name, or --force")

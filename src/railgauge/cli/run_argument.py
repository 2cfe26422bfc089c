"""The argument ``RUN``: the folder of the run that a command reads."""

from __future__ import annotations

import argparse
from pathlib import Path

from railgauge.core.errors import BadInput
from railgauge.judging.record import FILE as RECORDS
from railgauge.run.folders import EVIDENCE

_HELP = "the run's folder (default: reports/latest)"


def add(parser: argparse.ArgumentParser, help_text: str = _HELP) -> None:
    parser.add_argument(
        "run_folder",
        nargs="?",
        type=Path,
        metavar="RUN",
        help=help_text,
    )


def named(options: argparse.Namespace) -> Path:
    """Return the path that was named, or the folder of the newest run."""
    path: Path = options.run_folder or options.root / "reports" / "latest"
    return path.resolve()


def folder(options: argparse.Namespace) -> Path:
    """Return that path; raises ``BadInput`` for a folder without the files that a run leaves."""
    path = named(options)
    if (bundle := of_pruned(path)) != path:
        raise BadInput(
            "was reduced by railgauge prune",
            where=str(path),
            remedy=f"railgauge verify and railgauge certificate read {bundle}",
        )
    return path


def of_pruned(path: Path) -> Path:
    """Return the bundle to which railgauge prune has reduced a folder, else the path."""
    bundle = path / EVIDENCE
    return bundle if bundle.is_file() and not (path / RECORDS).exists() else path

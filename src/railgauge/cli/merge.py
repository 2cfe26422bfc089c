"""``railgauge merge``: makes one run of several parts, judged again from their evidence."""

from __future__ import annotations

import argparse
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any

from railgauge.cli import pytest_session, text
from railgauge.core.errors import BadInput
from railgauge.core.naming import NAME as VALID
from railgauge.core.run_files import VERDICT
from railgauge.core.terms import EXIT_CODES_IN_WORDS
from railgauge.run.progress import screen

HELP = "make one run of several: shards, parts of the ladder, or a sign-off and a node's --only run"
EXAMPLE = (
    "example: railgauge merge reports/RUN1 reports/RUN2 --into reports/20261124-180000-mine; "
    f"exit codes: those of the verdict, {EXIT_CODES_IN_WORDS}, 2 for runs that cannot be merged"
)
_LONGEST_NAME = 200


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="RUN", help="the folder of a run, or a bundle of one"
    )
    add_into(parser)


def add_into(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--into",
        type=Path,
        metavar="FOLDER",
        help="the folder of the merged run, whose name is its id "
        "(default: a new one in reports/, as of any run)",
    )


def run(options: argparse.Namespace) -> int:
    """Return the exit code of the merged run's verdict."""
    folder, code = merged(options.runs, options)
    if options.json:
        text.print_json({"folder": str(folder), "verdict": verdict(folder)})
    return code


def merged(runs: Sequence[Path], options: argparse.Namespace) -> tuple[Path, int]:
    """Merge the runs; return the folder and the exit code of the verdict. Raises ``BadInput``."""
    from railgauge.bundle import merging  # noqa: PLC0415 - 0.3 s to import

    with merging.opened(runs) as parts:
        cluster = parts[0].cluster().name
        with _made(_folder(options, cluster)) as folder:
            merging.write(parts, folder)
    with nullcontext() if options.json else screen.paused():  # pytest prints by itself
        return folder, _reported(folder, quiet=options.json)


def _folder(options: argparse.Namespace, cluster: str) -> Path:
    into: Path | None = options.into
    if into is None:
        name = f"{datetime.now().astimezone():%Y%m%d-%H%M%S}-{cluster}"
        return Path(options.root, "reports", name).resolve()
    folder = into.absolute()
    if not VALID.fullmatch(folder.name) or len(folder.name) > _LONGEST_NAME:
        raise BadInput(f"{folder.name[:60]!r} cannot be the id of a run", where="--into")
    return folder


@contextmanager
def _made(folder: Path) -> Iterator[Path]:
    """A new folder, which is removed if the block fails. Raises ``BadInput`` if it exists."""
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise BadInput("exists", where=str(folder), remedy="name a new folder") from None
    except OSError as error:
        raise BadInput(f"cannot be made: {error.strerror}", where=str(folder)) from None
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _reported(folder: Path, *, quiet: bool) -> int:
    """Write the reports by a session of pytest that collects nothing; return its exit code."""
    plugins = ("-p", "railgauge.plugin", "-p", "no:cacheprovider", "-p", "no:xdist")
    # Pytest takes half a second to rewrite the asserts of a plugin.
    plain = "--assert=plain"
    place = ("-c", os.devnull, "--rootdir", str(folder), "--noconftest")
    words = (*plugins, plain, *place, "--merged", str(folder))
    return pytest_session.ended(words, folder, quiet=quiet, environment=_environment())


def _environment() -> Mapping[str, str]:
    """This process's, without options that are meant for the runs of a site."""
    return {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}


def verdict(folder: Path) -> dict[str, Any]:
    """Return what ``verdict.json`` of a run holds."""
    found: dict[str, Any] = json.loads(text.read(str(folder / VERDICT)))
    return found

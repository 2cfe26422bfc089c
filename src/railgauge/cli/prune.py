"""``railgauge prune``: reduce each old run to a bundle and the files of trend and compare."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from railgauge.cli import private_key, text
from railgauge.core import arguments
from railgauge.core.errors import BadInput
from railgauge.core.progress import PROGRESS_OF_PROCESS

if TYPE_CHECKING:
    from railgauge.bundle.prune import OldRun, Pruning

HELP = "reduce old runs to a bundle each and what trend and compare need"
EXAMPLE = (
    "example: railgauge prune --keep 14 --yes; without --yes it only prints what would be deleted; "
    "exit codes: 0 done, 1 a run could not be reduced, 2 bad usage"
)
_NOT_ALL = 1
_MB = 1e6
_MOST_LINES = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "reports", nargs="?", type=Path, metavar="REPORTS", help="default: reports/"
    )
    parser.add_argument(
        "--keep", type=arguments.count, required=True, metavar="N",
        help="the newest N runs of each cluster stay whole",
    )  # fmt: skip
    parser.add_argument("--yes", action="store_true", help="do it; without it nothing is changed")
    private_key.add(parser)


def run(options: argparse.Namespace) -> int:
    """Exit code 1 if a run could not be reduced, else 0."""
    from railgauge.bundle import prune  # noqa: PLC0415 - keys and envelopes take 0.3 s to import

    found = prune.find(options.reports or options.root / "reports", options.keep)
    key = private_key.load(options.key) if options.key else None
    made: dict[str, int] = {}
    failed: dict[str, str] = {}
    for old in PROGRESS_OF_PROCESS.counted("run", found.old if options.yes else ()):
        try:
            made[old.folder.name] = prune.reduce(old, key)
        except BadInput as error:
            failed[old.folder.name] = str(error)
    if options.json:
        text.print_json(_json(found, made, failed))
    else:
        print(text.printable("\n".join(_lines(found, made, failed, done=options.yes))))
    return _NOT_ALL if failed else 0


def _json(found: Pruning, made: dict[str, int], failed: dict[str, str]) -> dict[str, object]:
    return {
        "old": [
            {"run": old.folder.name, "files": len(old.names), "bytes": old.size_bytes}
            for old in found.old
        ],
        "reduced": made, "not_reduced": failed, "reduced_before": found.reduced,
        "left_alone": found.left_alone,
    }  # fmt: skip


def _lines(
    found: Pruning, made: dict[str, int], failed: dict[str, str], *, done: bool
) -> list[str]:
    lines = [f"left alone: {name}: {why}" for name, why in found.left_alone]
    for old in found.old[:_MOST_LINES]:
        name = old.folder.name
        lines.append(
            f"NOT REDUCED: {failed[name]}" if name in failed else _line(old, made.get(name))
        )
    if len(found.old) > _MOST_LINES:
        lines.append(f"and {len(found.old) - _MOST_LINES} more (all with --json)")
    gone = [old for old in found.old if old.folder.name not in failed]
    files, size = sum(len(old.names) for old in gone), sum(old.size_bytes for old in gone)
    bundles = f", {sum(made.values()) / _MB:.1f} MB of bundles made" if done else ""
    before = f"; reduced before: {found.reduced}" if found.reduced else ""
    verb = "went" if done else "would go"
    lines.append(f"{len(gone)} runs: {files} files, {size / _MB:.1f} MB {verb}{bundles}{before}")
    return [*lines, *([] if done or not gone else ["nothing was changed: give --yes to do it"])]


def _line(old: OldRun, bundle_bytes: int | None) -> str:
    to = "" if bundle_bytes is None else f", now a bundle of {bundle_bytes / _MB:.1f} MB"
    return f"{old.folder.name}: {len(old.names)} files, {old.size_bytes / _MB:.1f} MB{to}"

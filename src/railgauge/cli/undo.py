"""``railgauge undo``: restore settings that a run with ``--prepare`` could not restore itself.

What it runs, and where, follows from the hostfile and the platform file of this site. From the
run's folder come only values: which settings of which nodes were changed, and what they were
before.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from railgauge.cli import run_argument, text
from railgauge.core.errors import BadInput
from railgauge.core.model import Cluster, Command, Transcript
from railgauge.core.programs import placed
from railgauge.core.run_files import MANIFEST
from railgauge.run import inputs, invocation, prepare
from railgauge.run.newer import refuse_newer
from railgauge.run.prepare import JOURNAL, Preparer, SettingChange
from railgauge.run.store import Store
from railgauge.run.unchanged import refuse_changed
from railgauge.transport.registry import connect, opened
from railgauge.transport.sessions import Sessions

HELP = "restore the settings that a crashed run with --prepare left changed on the nodes"
EXAMPLE = "example: railgauge undo --hostfile hostfiles/mine.yaml reports/latest"

_NOT_ALL = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    run_argument.add(parser)
    parser.add_argument(
        "--hostfile", required=True, type=Path, metavar="FILE", help="the hostfile of the run"
    )
    parser.add_argument("--platform", metavar="NAME", help="for a plain hostfile")


def run(options: argparse.Namespace) -> int:
    """Restore all settings; exit code 10 if one could not be restored."""
    folder = run_argument.folder(options)
    changes = _changes(folder)
    cluster, platform = inputs.site(options.hostfile, options.root, options.platform)
    _refuse_other_hostfile(folder, cluster)
    steps = platform.preparations
    prepare.refuse_others(changes, (node.name for node in cluster.nodes), steps)
    with opened(cluster) as reached, _sessions(reached) as carry_out:
        preparer = Preparer(carry_out, Store(folder), reached.rootfs, steps, changes)
        to_restore = [placed(command, reached.tools) for _, command in preparer.restoring()]
        _print_commands(to_restore, sys.stderr if options.json else sys.stdout)
        complaints = preparer.undo()
    if to_restore:
        Store(folder).renew_in_manifest(JOURNAL)
    _print(options.json, len(to_restore) - len(complaints), complaints)
    return _NOT_ALL if complaints else 0


def _changes(folder: Path) -> list[SettingChange]:
    """What the run changed. Raises ``BadInput`` for a changed folder, or one of another user.

    A run that crashed has no manifest; its journal was written before each change.
    """
    refuse_newer(folder)
    journal = _read(folder, JOURNAL)
    for path in (folder, folder / JOURNAL):
        if path.lstat().st_uid != os.geteuid():
            remedy = "run it as the user who made the run"
            raise BadInput("is another user's", where=str(path), remedy=remedy)
    if (folder / MANIFEST).is_file():
        refuse_changed(folder)
    return prepare.from_journal(journal)


def _refuse_other_hostfile(folder: Path, cluster: Cluster) -> None:
    recorded = _read(folder, invocation.FILE).get("hostfile_sha256")
    if recorded != invocation.hostfile_sha256(cluster):
        what = "is not the hostfile of that run, or was changed since"
        raise BadInput(what, where=cluster.source, remedy=f"compare it with the one in {folder}")
    if cluster.transport == "lab":
        what = "the lab has ended with its run: there is nothing to restore"
        raise BadInput(what, where=cluster.source)


@contextmanager
def _sessions(cluster: Cluster) -> Iterator[prepare.Run]:
    sessions = Sessions(cluster, lambda node: connect(cluster.transport, node))

    def carry_out(command: Command) -> Transcript:
        return sessions[command.node].run(placed(command, cluster.tools))

    try:
        yield carry_out
    finally:
        sessions.close()


def _print_commands(commands: Sequence[Command], out: TextIO) -> None:
    for command in commands:
        print(text.printable(f"{command.node}: {shlex.join(command.argv)}"), file=out, flush=True)


def _print(as_json: bool, undone: int, complaints: list[str]) -> None:
    if as_json:
        text.print_json({"undone": undone, "complaints": complaints})
        return
    for complaint in complaints:
        print(text.printable(f"NOT UNDONE: {complaint}"))
    print(f"{undone} settings put back, {len(complaints)} not")


def _read(folder: Path, name: str) -> dict[str, Any]:
    """The object in a file of the run. Raises ``BadInput``."""
    where, remedy = str(folder), "name the folder of a run that was made with --prepare"
    try:
        found = json.loads((folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not valid JSON"
        raise BadInput(f"{name} cannot be read: {why}", where=where, remedy=remedy) from None
    if not isinstance(found, dict):
        raise BadInput(f"{name} holds no JSON object", where=where, remedy=remedy)
    return found

"""``railgauge undo``: restore settings that a run with ``--prepare`` could not restore itself."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from railgauge.cli import run_argument, text
from railgauge.config import hostfile
from railgauge.core.errors import BadInput
from railgauge.core.model import Cluster, Command, Transcript
from railgauge.core.programs import placed
from railgauge.run import prepare
from railgauge.run.newer import refuse_newer
from railgauge.run.prepare import JOURNAL, Preparer, SettingChange
from railgauge.run.store import Store
from railgauge.transport.registry import connect, opened
from railgauge.transport.sessions import Sessions

HELP = "restore the settings that a crashed run with --prepare left changed on the nodes"
EXAMPLE = "example: railgauge undo reports/latest"

_NOT_ALL = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    run_argument.add(parser)


def run(options: argparse.Namespace) -> int:
    """Restore all settings; exit code 10 if one could not be restored."""
    folder = run_argument.folder(options)
    refuse_newer(folder)
    changes = prepare.from_journal(_read(folder, JOURNAL))
    with opened(hostfile.cluster_from_json(_read(folder, "cluster.json"))) as cluster:
        complaints = _undo(cluster, Store(folder), changes)
    open_before = sum(not change.undone for change in changes)
    _print(options.json, open_before - len(complaints), complaints)
    return _NOT_ALL if complaints else 0


def _undo(cluster: Cluster, store: Store, changes: Sequence[SettingChange]) -> list[str]:
    sessions = Sessions(cluster, lambda node: connect(cluster.transport, node))

    def carry_out(command: Command) -> Transcript:
        return sessions[command.node].run(placed(command, cluster.tools))

    try:
        return Preparer(carry_out, store, cluster.rootfs, changes).undo()
    finally:
        sessions.close()


def _print(as_json: bool, undone: int, complaints: list[str]) -> None:
    if as_json:
        text.print_json({"undone": undone, "complaints": complaints})
        return
    for complaint in complaints:
        print(f"NOT UNDONE: {complaint}")
    print(f"{undone} settings put back, {len(complaints)} not")


def _read(folder: Path, name: str) -> Any:
    try:
        return json.loads((folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not valid JSON"
        raise BadInput(
            f"{name} cannot be read: {why}",
            where=str(folder),
            remedy="name the folder of a run that was made with --prepare",
        ) from None

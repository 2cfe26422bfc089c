"""Nodes that are rebooted while a run goes on, or before it is carried on: noticed and said.

A reboot ends every connection, so that each new connection is where to look: one short command.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from railgauge.bundle.contents import FolderContents
from railgauge.core.model import Command
from railgauge.core.plain import to_plain
from railgauge.facts import NodeFacts
from railgauge.facts.boot import FILE, Reboot, boot_argv, parse_boot_id
from railgauge.transport import Session

if TYPE_CHECKING:
    from railgauge.plugin.context import Context

_TIME_LIMIT_S = 20.0


class Watch:
    """Compares the boot id at each new connection with the one that was surveyed."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._known: dict[str, str] = {}

    def __call__(self, node: str, session: Session) -> None:
        """Raises a ``TransportError`` if the connection is not good for one command."""
        was = self._known.get(node) or self._surveyed(node)
        if not was:
            return
        argv = boot_argv(self._context.cluster.rootfs)
        said = session.run(Command(node, argv, {"LC_ALL": "C"}, _TIME_LIMIT_S))
        now = parse_boot_id(said.stdout) if said.exit_code == 0 else None
        if now and now != was:
            during = self._context.store.folder.name
            keep(self._context, [Reboot(node, was, now, during=during)])
        self._known[node] = now or was

    def was_there(self, node: str) -> bool:
        """Whether the survey has reached it."""
        return self._facts(node) is not None

    def _surveyed(self, node: str) -> str | None:
        """Nothing before the survey, which reads it itself."""
        facts = self._facts(node)
        return facts.boot_id if facts else None

    def _facts(self, node: str) -> NodeFacts | None:
        if not (self._context.store.folder / "environment.json").exists():
            return None
        found = self._context.found.get(node)
        return found if isinstance(found, NodeFacts) else None


def noticed(context: Context) -> tuple[Reboot, ...]:
    """All that this run has noticed, whichever of its processes did."""
    return FolderContents(context.store.folder).reboots()


def keep(context: Context, reboots: Iterable[Reboot]) -> None:
    for reboot in reboots:
        context.store.append(FILE, to_plain(reboot))

"""Nodes that are rebooted while a run goes on, or before it is carried on: noticed and kept.

A reboot ends every connection, so that each new connection is where to look: one short command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from railgauge.core.model import Command
from railgauge.core.plain import to_plain
from railgauge.facts import NodeAnswer, NodeFacts
from railgauge.facts.boot import FILE, Reboot, boot_argv, parse_boot_id
from railgauge.run.store import Store
from railgauge.transport import Session

_TIME_LIMIT_S = 20.0


class Watch:
    """Compares the boot id at each new connection with the one that was surveyed."""

    def __init__(
        self, store: Store, rootfs: str, found: Callable[[], Mapping[str, NodeAnswer]]
    ) -> None:
        """``found`` gives what the survey found: nothing as long as it has not ended."""
        self._store = store
        self._rootfs = rootfs
        self._found = found
        self._known: dict[str, str] = {}

    def __call__(self, node: str, session: Session) -> None:
        """Raises a ``TransportError`` if the connection is not good for one command."""
        was = self._known.get(node) or self._surveyed(node)
        if not was:
            return
        argv = boot_argv(self._rootfs)
        said = session.run(Command(node, argv, {"LC_ALL": "C"}, _TIME_LIMIT_S))
        now = parse_boot_id(said.stdout) if said.exit_code == 0 else None
        if now and now != was:
            keep(self._store, [Reboot(node, was, now, during=self._store.folder.name)])
        self._known[node] = now or was

    def was_there(self, node: str) -> bool:
        """Whether the survey has reached it."""
        return self._facts(node) is not None

    def _surveyed(self, node: str) -> str | None:
        """Nothing before the survey, which reads it itself."""
        facts = self._facts(node)
        return facts.boot_id if facts else None

    def _facts(self, node: str) -> NodeFacts | None:
        found = self._found().get(node)
        return found if isinstance(found, NodeFacts) else None


def keep(store: Store, reboots: Iterable[Reboot]) -> None:
    for reboot in reboots:
        store.append(FILE, to_plain(reboot))

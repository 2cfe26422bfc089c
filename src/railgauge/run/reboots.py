"""Detects and records reboots of nodes, during a run or before it is resumed.

A reboot ends every connection to the node, so each new connection reads the node's boot id with
one short command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from railgauge.core.codec import to_plain
from railgauge.core.model import Command
from railgauge.facts import NodeAnswer, NodeFacts
from railgauge.facts.boot import (
    FILE,
    MARKS,
    KernelMark,
    Reboot,
    boot_argv,
    parse_boot_id,
)
from railgauge.run.store import Store
from railgauge.transport import Session

_TIME_LIMIT_S = 20.0


class Watch:
    """Compares the boot id at each new connection with the last known one."""

    def __init__(
        self, store: Store, rootfs: str, found: Callable[[], Mapping[str, NodeAnswer]]
    ) -> None:
        """``found`` returns the survey's result; it is empty until the survey has ended."""
        self._store = store
        self._rootfs = rootfs
        self._found = found
        self._known: dict[str, str] = {}

    def __call__(self, node: str, session: Session) -> None:
        """Check one new connection. Raises ``TransportError`` if it cannot run one command."""
        was = self._known.get(node) or self._surveyed(node)
        if not was:
            return
        argv = boot_argv(self._rootfs)
        said = session.run(Command(node, argv, {"LC_ALL": "C"}, _TIME_LIMIT_S, plain=True))
        now = parse_boot_id(said.stdout) if said.exit_code == 0 else None
        if now and now != was:
            keep(self._store, [Reboot(node, was, now, during=self._store.folder.name)])
        self._known[node] = now or was

    def was_there(self, node: str) -> bool:
        """Whether the survey has reached the node."""
        return self._facts(node) is not None

    def _surveyed(self, node: str) -> str | None:
        """The boot id in the survey; ``None`` before the survey has ended."""
        facts = self._facts(node)
        return facts.boot_id if facts else None

    def _facts(self, node: str) -> NodeFacts | None:
        found = self._found().get(node)
        return found if isinstance(found, NodeFacts) else None


def keep_marks(store: Store, marks: Iterable[KernelMark]) -> None:
    for mark in marks:
        store.append(MARKS, to_plain(mark))


def keep(store: Store, reboots: Iterable[Reboot]) -> None:
    for reboot in reboots:
        store.append(FILE, to_plain(reboot))

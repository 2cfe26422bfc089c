"""Detects and records reboots of nodes, during a run or before it is resumed.

A reboot ends every connection to the node, so each new connection reads the node's boot id with
one short command. If the id has changed, the node is surveyed again: results of two machines must
never count as those of one node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from railgauge.core.codec import to_plain
from railgauge.core.errors import NodeUnreachable, NoEvidence, OtherMachine
from railgauge.core.model import Command
from railgauge.core.naming import listed
from railgauge.facts import NodeAnswer, NodeFacts
from railgauge.facts.boot import (
    FILE,
    MARKS,
    KernelMark,
    Reboot,
    boot_argv,
    parse_boot_id,
)
from railgauge.facts.identity import exchanged
from railgauge.run.store import Store
from railgauge.transport import Session

_TIME_LIMIT_S = 20.0
SurveyAgain = Callable[[str, Session], NodeAnswer]


class Watch:
    """Compares the boot id at each new connection with the last known one."""

    def __init__(
        self,
        store: Store,
        rootfs: str,
        found: Callable[[], Mapping[str, NodeAnswer]],
        again: SurveyAgain,
    ) -> None:
        """``found`` returns the survey's result; it is empty until the survey has ended.

        ``again`` surveys one node once more.
        """
        self._store = store
        self._rootfs = rootfs
        self._found = found
        self._again = again
        self._known: dict[str, str] = {}

    def __call__(self, node: str, session: Session) -> None:
        """Check one new connection.

        Raises ``TransportError`` if it cannot run one command, or if it is to another machine.
        """
        was = self._known.get(node) or self._surveyed(node)
        if not was:
            return
        argv = boot_argv(self._rootfs)
        output = session.run(Command(node, argv, {"LC_ALL": "C"}, _TIME_LIMIT_S, plain=True))
        now = parse_boot_id(output.stdout) if output.exit_code == 0 else None
        if now and now != was:
            self._refuse_other_machine(node, session)
            keep(self._store, [Reboot(node, was, now, during=self._store.folder.name)])
        self._known[node] = now or was

    def _refuse_other_machine(self, node: str, session: Session) -> None:
        before, answer = self._facts(node), self._again(node, session)
        if isinstance(answer, NoEvidence):
            what = "it is not known whether the machine is the same since it was rebooted"
            raise NodeUnreachable(f"{what}: {answer.what}", where=node)
        if before and (others := exchanged(before, answer)):
            raise other_machine(node, others)

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


def other_machine(node: str, others: Sequence[str]) -> OtherMachine:
    """The error for a node whose identities in ``others`` differ from the survey."""
    return OtherMachine(
        f"another machine answers than the one that was surveyed: its {listed(others, _MOST_NAMED)}"
        f" {'is another one' if len(others) == 1 else 'are others'}",
        where=node,
        remedy="put back what was exchanged and carry the run on with --resume, or start a new run",
    )


_MOST_NAMED = 5


def keep_marks(store: Store, marks: Iterable[KernelMark]) -> None:
    for mark in marks:
        store.append(MARKS, to_plain(mark))


def keep(store: Store, reboots: Iterable[Reboot]) -> None:
    for reboot in reboots:
        store.append(FILE, to_plain(reboot))

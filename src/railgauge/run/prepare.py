"""Host preparation (``--prepare``): the only changes that railgauge makes on a node.

Each step of a platform file says how to read a setting, what it should be, and how to write it.
What was there before is written down in the run's folder *before* anything is changed; at the end,
also after an interrupt, it is put back in reverse order. After a crash ``railgauge undo RUN`` does
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from railgauge.config.thresholds.model import Preparation
from railgauge.core.errors import NoEvidence, ToolFailed
from railgauge.core.model import Command, Transcript
from railgauge.core.plain import from_plain, to_plain
from railgauge.run.store import Store

JOURNAL = "prepared.json"

_TIME_LIMIT_S = 60.0

Run = Callable[[Command], Transcript]


@dataclass(frozen=True, slots=True)
class SettingChange:
    """One setting of one node: what it was, what it was set to, and whether it was put back."""

    node: str
    step: str
    before: str
    after: str
    undo: tuple[str, ...]
    undone: bool = False


class Preparer:
    """Applies and undoes preparations on nodes, and keeps the journal."""

    def __init__(
        self, run: Run, store: Store, rootfs: str, changes: Sequence[SettingChange] = ()
    ) -> None:
        self._run = run
        self._store = store
        self._rootfs = rootfs
        self.changes = list(changes)

    def apply(self, nodes: Iterable[str], steps: Sequence[Preparation]) -> None:
        """Bring every node to what the steps want. Raises ``NoEvidence`` at the first refusal."""
        for node in nodes:
            for step in steps:
                self._apply(node, step)

    def _apply(self, node: str, step: Preparation) -> None:
        where = f"{node}: {step.name}"
        before = self._value(node, step.read, where)
        if before == step.want:
            return
        saved = self._printed(node, step.save, where) if step.save else before
        undo = _filled(step.undo, saved, self._rootfs)
        self.changes.append(SettingChange(node, step.name, before, step.want, undo))
        self._write_journal()
        try:
            self._value(node, step.apply, where)
        except NoEvidence:
            self._close_if_unchanged(node, step, saved)
            raise
        after = self._value(node, step.read, where)
        if after != step.want:
            raise ToolFailed(
                f"is {after!r} after it was set to {step.want!r}",
                where=where,
                remedy="log in as root, or set it by hand and leave --prepare out",
            )

    def _close_if_unchanged(self, node: str, step: Preparation, saved: str) -> None:
        """The last change was refused: if all is as it was, there is nothing to put back.

        Whoever may not change a setting may not put it back either, and would be told that it
        still is what it never was.
        """
        try:
            now = (self._printed if step.save else self._value)(node, step.save or step.read, node)
        except NoEvidence:
            return
        if now == saved:
            self._close(len(self.changes) - 1)

    def _close(self, index: int) -> None:
        self.changes[index] = replace(self.changes[index], undone=True)
        self._write_journal()

    def undo(self) -> list[str]:
        """Put everything back, last change first; the complaints of what could not be."""
        complaints = []
        for index, change in reversed(list(enumerate(self.changes))):
            if change.undone:
                continue
            try:
                self._value(change.node, change.undo, change.node)
            except NoEvidence as error:
                complaints.append(f"{change.node}: {change.step} is still {change.after}: {error}")
                continue
            self._close(index)
        return complaints

    def _value(self, node: str, argv: Sequence[str], where: str) -> str:
        """What a command prints, in one line; the same value printed several times counts once."""
        lines = {line.strip() for line in self._printed(node, argv, where).splitlines()}
        return ", ".join(sorted(lines - {""}))

    def _printed(self, node: str, argv: Sequence[str], where: str) -> str:
        words = _filled(argv, "", self._rootfs)
        done = self._run(Command(node, words, {"LC_ALL": "C"}, _TIME_LIMIT_S))
        if done.exit_code != 0 or done.error:
            said = (done.stderr.strip() or done.stdout.strip() or done.error).splitlines()
            why = said[-1][:200] if said else f"exit code {done.exit_code}"
            raise ToolFailed(f"{' '.join(words)[:100]}: {why}", where=where)
        return done.stdout

    def _write_journal(self) -> None:
        self._store.write_json(JOURNAL, {"changes": to_plain(self.changes)})


def _filled(argv: Sequence[str], before: str, rootfs: str) -> tuple[str, ...]:
    """``{before}`` and ``{rootfs}`` in whole arguments: nothing is ever pasted into shell text."""
    root = rootfs.rstrip("/")
    return tuple(word.replace("{before}", before).replace("{rootfs}", root) for word in argv)


def from_journal(data: Mapping[str, Any]) -> list[SettingChange]:
    """The changes that a run wrote down."""
    return [from_plain(SettingChange, change) for change in data["changes"]]

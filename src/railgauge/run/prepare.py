"""Host preparation (``--prepare``): the only changes that railgauge makes on a node.

Each step of a platform file has the commands that read and write a setting, and the wanted value.
The previous value is stored in the run's folder *before* the setting is changed. At the end of the
run, also after an interrupt, the settings are restored in reverse order. After a crash ``railgauge
undo`` restores them. The journal holds values and no commands: the restoring commands are made from
the platform file, so that a manipulated journal cannot run a program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from railgauge.config.thresholds.model import Preparation
from railgauge.core import run_files
from railgauge.core.codec import from_plain, to_plain
from railgauge.core.errors import BadInput, NoEvidence, ToolFailed
from railgauge.core.model import Command, Transcript
from railgauge.run.store import Store

JOURNAL = "prepared.json"

_TIME_LIMIT_S = 60.0

Run = Callable[[Command], Transcript]


@dataclass(frozen=True, slots=True)
class SettingChange:
    """One changed setting of one node: old value, new value, and whether it was restored.

    ``saved`` replaces ``{before}`` in the command that restores it.
    """

    node: str
    step: str
    before: str
    after: str
    saved: str
    undone: bool = False


class Preparer:
    """Applies and undoes preparations on nodes, and keeps the journal."""

    def __init__(
        self,
        run: Run,
        store: Store,
        rootfs: str,
        steps: Sequence[Preparation],
        changes: Sequence[SettingChange] = (),
    ) -> None:
        self._run = run
        self._store = store
        self._rootfs = rootfs
        self._steps = {step.name: step for step in steps}
        self.changes = list(changes)

    def apply(self, nodes: Iterable[str]) -> None:
        """Apply the steps to every node. Raises ``NoEvidence`` at the first step that fails."""
        for node in nodes:
            for step in self._steps.values():
                self._apply(node, step)

    def _apply(self, node: str, step: Preparation) -> None:
        where = f"{node}: {step.name}"
        before = self._value(node, step.read, where)
        if before == step.want:
            return
        saved = self._printed(node, step.save, where) if step.save else before
        self._write_journal(SettingChange(node, step.name, before, step.want, saved))
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
                remedy="log in as root, add become, or change it by hand and omit --prepare",
            )

    def _close_if_unchanged(self, node: str, step: Preparation, saved: str) -> None:
        """Mark the last change as undone if it failed and the setting has its old value.

        A user without the right to change a setting cannot restore it either. Without this step
        ``undo`` would fail and report a change that was never made.
        """
        try:
            now = (self._printed if step.save else self._value)(node, step.save or step.read, node)
        except NoEvidence:
            return
        if now == saved:
            self._close(len(self.changes) - 1)

    def _close(self, index: int) -> None:
        """Note that a setting has its old value again.

        A full disk must not prevent the restoring of other settings. A setting that is not noted is
        restored again by ``railgauge undo``, which changes nothing.
        """
        self.changes[index] = replace(self.changes[index], undone=True)
        with suppress(OSError):
            self._write_journal()

    def undo(self) -> list[str]:
        """Undo all changes, the last one first; return a line for each that could not be undone."""
        complaints = []
        for index, command in self.restoring():
            change = self.changes[index]
            try:
                self._output(command, change.node)
            except NoEvidence as error:
                complaints.append(f"{change.node}: {change.step} is still {change.after}: {error}")
                continue
            self._close(index)
        return complaints

    def restoring(self) -> Iterator[tuple[int, Command]]:
        """The index of each change that stands, the last one first, with what restores it."""
        for index, change in reversed(list(enumerate(self.changes))):
            if not change.undone:
                undo = self._steps[change.step].undo
                yield index, self._command(change.node, undo, change.saved)

    def _value(self, node: str, argv: Sequence[str], where: str) -> str:
        """The command's output as one line: its distinct lines, sorted and joined by commas."""
        lines = {line.strip() for line in self._printed(node, argv, where).splitlines()}
        return ", ".join(sorted(lines - {""}))

    def _printed(self, node: str, argv: Sequence[str], where: str) -> str:
        return self._output(self._command(node, argv), where)

    def _command(self, node: str, argv: Sequence[str], before: str = "") -> Command:
        words = _filled(argv, before, self._rootfs)
        return Command(node, words, {"LC_ALL": "C"}, _TIME_LIMIT_S, as_root=True)

    def _output(self, command: Command, where: str) -> str:
        done = self._run(command)
        if done.exit_code != 0 or done.error:
            lines = (done.stderr.strip() or done.stdout.strip() or done.error).splitlines()
            why = lines[-1][:200] if lines else f"exit code {done.exit_code}"
            raise ToolFailed(f"{' '.join(command.argv)[:100]}: {why}", where=where)
        return done.stdout

    def _write_journal(self, *new: SettingChange) -> None:
        """Write the journal; a new change counts only once the journal holds it."""
        self._store.write_json(JOURNAL, {"changes": to_plain([*self.changes, *new])})
        self.changes += new


def _filled(argv: Sequence[str], before: str, rootfs: str) -> tuple[str, ...]:
    """Fill ``{before}`` and ``{rootfs}`` into the arguments; no shell text is ever built."""
    root = rootfs.rstrip("/")
    return tuple(word.replace("{rootfs}", root).replace("{before}", before) for word in argv)


def from_journal(data: Mapping[str, Any]) -> list[SettingChange]:
    """The changes in the journal of a run. Raises ``BadInput`` for that of an earlier version."""
    if data.get(run_files.FIELD, 1) != run_files.VERSIONS[JOURNAL]:
        what = "is of an earlier version of railgauge, which kept commands and no values"
        raise BadInput(what, where=JOURNAL, remedy="use the version of railgauge that made it")
    return [from_plain(SettingChange, change) for change in data["changes"]]


def refuse_others(
    changes: Iterable[SettingChange], nodes: Iterable[str], steps: Iterable[Preparation]
) -> None:
    """Raise ``BadInput`` unless these steps, on these nodes, make all of the changes."""
    known, wanted = set(nodes), {step.name: step.want for step in steps}
    for change in changes:
        if change.node not in known:
            raise BadInput(f"{change.node!r} is no node of the hostfile", where=JOURNAL)
        if wanted.get(change.step) != change.after:
            what = f"the platform file has no step that sets {change.step!r} to {change.after!r}"
            raise BadInput(what, where=JOURNAL, remedy="restore the platform file of the run")

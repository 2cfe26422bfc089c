"""``--confirm``: after the last item suspects are measured again, with partners found good."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from railgauge.bundle.contents import AGAIN, FolderContents, confirmed
from railgauge.core import naming
from railgauge.core.model import Case
from railgauge.core.plain import to_plain
from railgauge.core.question import CaseResult
from railgauge.diagnosis import RunResults, diagnose
from railgauge.diagnosis.confirm import confirmations
from railgauge.judging.assess import Assessor
from railgauge.judging.confirmation import FILE, FOLDER, Confirmed, Remeasurement
from railgauge.plugin import resuming
from railgauge.report.causes import printable

if TYPE_CHECKING:
    from railgauge.plugin.context import Context

_ENDED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)


def results(context: Context) -> tuple[Confirmed, ...]:
    """What came of what was asked so far, judged from what was kept of it."""
    if not (context.store.folder / FILE).exists():
        return ()
    return FolderContents(context.store.folder).confirmed(context.platform)


def after_the_last(context: Context, session: pytest.Session, findings: RunResults) -> None:
    """Ask and measure, if it was wanted and the run came to its end.

    An interrupt ends this, and not the verdict of what the run has measured.
    """
    asked = _wanted(context, session, findings)
    if not asked:
        return
    for one in asked:  # before the first is measured: what lacks then is known to lack
        context.store.append(FILE, to_plain(one))
    try:
        _measure(context, asked)
    except KeyboardInterrupt:
        _say(context, "confirm: broken off")
        session.exitstatus = pytest.ExitCode.INTERRUPTED


def _wanted(
    context: Context, session: pytest.Session, findings: RunResults
) -> Sequence[Remeasurement]:
    """A replay repeats what its run asked: it can have no other answers."""
    if context.recording:
        return context.recording.contents.asked()
    if not context.config.getoption("--confirm") or session.exitstatus not in _ENDED:
        return ()
    asked = confirmations(findings, diagnose(findings))
    if not asked:
        _say(context, "")
        _say(context, "confirm: nothing is suspected that could be measured again")
    return asked


def _measure(context: Context, asked: Sequence[Remeasurement]) -> None:
    _say(context, "")  # ends the line of dots
    assessor = Assessor(context.platform, _Again(context))
    for number, one in enumerate(asked, 1):
        case = one.question.case
        assert case is not None
        came = confirmed(one, assessor)
        at = " ".join(filter(None, (naming.place(case.nodes), str(case.pairing or ""))))
        _say(context, f"confirm: {number} of {len(asked)}: {case.measurement} {at}: {_word(came)}")


def _word(came: Confirmed) -> str:
    if came.error:
        return came.error
    return "slow again" if came.missed else "within its limit this time"


def _say(context: Context, line: str) -> None:
    out = context.config.pluginmanager.getplugin("terminalreporter")
    if out is not None:
        out.write_line(printable(line))


class _Again:
    """Measures as the run does, and keeps it in a folder of its own; a replay has it there."""

    def __init__(self, context: Context) -> None:
        self._recording = context.recording
        self._store = context.store_at(context.store.folder / FOLDER)
        self._runner = context.runner_into(
            self._store, resuming.taking_over(context.earlier, context.store, FOLDER)
        )
        self.found = context.found

    def result(self, case: Case) -> CaseResult:
        if self._recording is None:
            return self._runner.measure(case)
        return self._store.save(case, self._recording.contents.result(case, AGAIN))

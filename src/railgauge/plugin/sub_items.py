"""Runs an item with sub-items: each of them is a row of it (``planning.sub_items``).

pytest sets up, calls and tears down the item once. In its call, the function of the test is called
for each row in turn. A row passes its gate, is judged and has a record as an item of its own has,
under the id that such an item would have. A row that fails does not keep the next one from being
measured. The item's own outcome is the worst of its rows.

Example: of 128 rows two fail. The reports of pytest say "failed: 2 of 128 did not pass, first …".
"""

from __future__ import annotations

import inspect
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import pytest

from railgauge.core.errors import NoEvidence
from railgauge.core.exhaustion import raise_if_exhausted
from railgauge.core.model import GOOD, Outcome
from railgauge.judging.record import ItemRecord, from_json, worst
from railgauge.planning.collected import each_row
from railgauge.plugin import gating, recording
from railgauge.plugin.items import ABOUT
from railgauge.plugin.opening import SERVICES
from railgauge.plugin.recording import DRAFT, Draft

CONTROLLER = "railgauge-controller"


@dataclass(slots=True)
class _Rows:
    """The rows of an item that have ended. ``sent`` are those that its last report contains."""

    have_begun: bool = False
    outcomes: list[Outcome] = field(default_factory=list)
    first_bad: str = ""
    sent: list[dict[str, Any]] = field(default_factory=list)

    def add(self, record: ItemRecord) -> None:
        self.outcomes.append(record.outcome)
        if not self.first_bad and record.outcome not in GOOD:
            self.first_bad = f"{record.id.partition('::')[2]}: {record.reason}"

    @property
    def reason(self) -> str:
        """How many did not pass, and the first of them; empty if all passed."""
        bad = sum(outcome not in GOOD for outcome in self.outcomes)
        return f"{bad} of {len(self.outcomes)} did not pass, first {self.first_bad}" if bad else ""


_ROWS = pytest.StashKey[_Rows]()


def collected_line(items: Sequence[pytest.Item]) -> str:
    """The line after a collection about items with sub-items; empty if there are none."""
    if not any(map(_spans, items)):
        return ""
    rows = sum(item.stash[ABOUT].rows if ABOUT in item.stash else 1 for item in items)
    return (
        f"{rows:,} items will be judged, as rows of the {len(items):,} that are collected: one of "
        "these may have all checks of a test on one node as sub-items"
    )


def has_any(item: pytest.Item) -> bool:
    return bool(_spans(item))


def _spans(item: pytest.Item) -> Sequence[Any]:
    about = item.stash.get(ABOUT, None)
    return about.spans if about else ()


def _each_row(item: pytest.Item) -> Generator[dict[str, Any], None, None]:
    """The values of each row; the item is about the row until the next one."""
    own, about = item.stash[DRAFT], item.stash[ABOUT]
    try:
        for row, chosen in each_row(item.nodeid, about):
            item.stash[ABOUT], item.stash[DRAFT] = row, Draft()
            yield chosen
    finally:
        item.stash[DRAFT], item.stash[ABOUT] = own, about


def call(item: pytest.Function) -> None:
    """Call the test's function for each row, until the session is to stop."""
    rows = item.stash[_ROWS] = _Rows(have_begun=True)
    own = inspect.signature(item.obj).parameters
    arguments = {name: value for name, value in item.funcargs.items() if name in own}
    with closing(_each_row(item)) as each:
        for chosen in each:
            _run(item, {**arguments, **chosen})
            _keep(item, rows)
            if item.session.shouldfail or item.session.shouldstop:
                return


def _run(item: pytest.Function, arguments: dict[str, Any]) -> None:
    """Run a row as pytest runs an item: what its function raises is its result."""
    draft, began_s = item.stash[DRAFT], perf_counter()
    try:
        gating.pass_gate(item)
        gating.behind_gate(item)
        item.obj(**arguments)
        recording.require_judgement(item)
    except (pytest.exit.Exception, KeyboardInterrupt):
        raise
    except BaseException as error:  # pytest's skip is no Exception
        raise_if_exhausted(error)
        draft.error = error
        draft.in_test = recording.is_of_test(item, pytest.ExceptionInfo.from_exception(error))
    draft.duration_s += perf_counter() - began_s


def _keep(item: pytest.Item, rows: _Rows) -> None:
    """Keep the record of the row: in this process, or with the item's last report."""
    store = item.config.stash[SERVICES].store
    record = recording.finished(item)
    rows.add(record)
    plain = record.to_json()
    written = recording.masked(plain, store)
    controller: Any = item.config.pluginmanager.getplugin(CONTROLLER)
    if not controller:
        rows.sent.append(written)
    elif written == plain:
        controller.acceptance.keep(written, record)  # which shares values with other rows
    else:
        controller.acceptance.keep(written, from_json(written))


def observe(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Give a report of the item the outcome of its rows.

    An error outside of the rows, such as that of a fixture, is recorded for every row.
    """
    rows = item.stash.setdefault(_ROWS, _Rows())
    error = call.excinfo.value if call.excinfo else None
    if report.when == "call" and error is None and not rows.have_begun:
        error = _not_called(item)
    if error is not None:
        _end_all(item, rows, error)
    if report.when == "setup" and report.passed:
        return
    short = recording.in_short(worst(rows.outcomes), rows.reason)
    if report.when == "teardown":
        short[recording.ROWS] = rows.sent
    report.railgauge = short  # type: ignore[attr-defined]


def forget(item: pytest.Item) -> None:
    """Forget what was noted while the item ran; its records hold what has to remain."""
    of_run: tuple[pytest.StashKey[Any], ...] = (DRAFT, _ROWS)
    for key in of_run:
        if key in item.stash:
            del item.stash[key]


def _not_called(item: pytest.Item) -> NoEvidence:
    return NoEvidence(
        "the function of the test was not called",
        where=item.nodeid,
        remedy="look for a plugin or a conftest.py that calls tests in its own way",
    )


def _end_all(item: pytest.Item, rows: _Rows, error: BaseException) -> None:
    """Record the error for every row, also for rows that had passed."""
    rows.outcomes.clear()
    for _ in _each_row(item):
        item.stash[DRAFT].error = error
        _keep(item, rows)

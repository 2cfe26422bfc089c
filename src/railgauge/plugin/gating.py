"""What an item does at the gate: it goes on, is blocked, or only has its results checked.

The items of a collective share one measurement. If their gate is closed by anything that does not
keep the collective from running, the first of them makes the measurement, and every one of them
judges the results. If these are right, the item stays blocked: its speed is not judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import pytest

from railgauge.core.terms import Rung
from railgauge.judging import by_evidence
from railgauge.judging.record import ItemRecord
from railgauge.planning import plan
from railgauge.planning.marks import MEASURES
from railgauge.plugin import asking
from railgauge.plugin.items import ABOUT
from railgauge.plugin.opening import SERVICES, SETTINGS
from railgauge.plugin.recording import DRAFT, begun, keep_judgements
from railgauge.verdict.unanswered import never_ran

PLACE = pytest.StashKey[int]()
"""The place of an item in the ladder: at last the number of records before its first one."""
_CLOSED = pytest.StashKey[tuple[str, ...]]()


def expect(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Register all items of the run, in the order of the ladder."""
    registered, place = list[tuple[int, tuple[str, ...], int]](), 0
    for item in items:
        about = item.stash.get(ABOUT, None)
        item.stash[PLACE], rows = place, about.rows if about else 1
        registered.append((about.rung, _gated(item), rows) if about else (-1, (), rows))
        place += rows
    config.stash[SERVICES].gates.expect(registered)


def pass_gate(item: pytest.Item) -> None:
    """Wait for the rungs below the item; skip it if the run was stopped or an item blocks it.

    What had been measured before the run was stopped is judged.
    A collective whose results can still be checked is not skipped yet; see ``behind_gate``.
    """
    item.stash[_CLOSED] = ()  # a row of an item may have another answer than the one before it
    blockers = _blockers(item)
    run = item.config.stash[SERVICES]
    if not run.engine.was_measured and (why := run.gates.stopped):
        item.session.shouldfail = why
        _skip(item, never_ran(begun(item), why))
    if not blockers:
        return
    if _is_checked(item):
        item.stash[_CLOSED] = blockers
    else:
        _skip(item, by_evidence.blocked(begun(item), blockers))


def is_measured(item: pytest.Item) -> bool:
    """Whether a measurement is made for an item, whose lower rungs have all ended."""
    if item.config.stash[SERVICES].gates.stopped:
        return False
    return not _blockers(item) or _is_checked(item)


def _blockers(item: pytest.Item) -> tuple[str, ...]:
    """What blocks the item, after all items below it have ended."""
    about, stash = item.stash[ABOUT], item.config.stash
    is_gated = about.rung > Rung.PREFLIGHT and not stash[SETTINGS].no_gates
    return stash[SERVICES].gates.blockers(about.rung, _gated(item)) if is_gated else ()


def _gated(item: pytest.Item) -> tuple[str, ...]:
    about = item.stash[ABOUT]
    return plan.gate_nodes(item.config.stash[SETTINGS].platform, about.subject.name, about.nodes)


def _is_checked(item: pytest.Item) -> bool:
    """Whether the results of a blocked item's collective are checked all the same."""
    about, stash = item.stash[ABOUT], item.config.stash
    found = stash[SETTINGS].platform.measurements.get(about.subject.name)
    if about.subject.kind != MEASURES or found is None:
        return False
    return stash[SERVICES].gates.is_checked(found, about.nodes)


def behind_gate(item: pytest.Item) -> None:
    """If the item's gate is closed, check its results and skip it; wrong results fail it."""
    blockers = item.stash.get(_CLOSED, ())
    if not blockers:
        return
    stash, subject = item.config.stash, item.stash[ABOUT].subject
    settings, run = stash[SETTINGS], stash[SERVICES]
    measurement = settings.platform.measurements[subject.name]
    case = plan.case_at(measurement, settings.level.name, place_of(item))
    asking.say_transcript(item, case)
    shut = by_evidence.blocked(begun(item), blockers, case)
    found = by_evidence.judged(shut, asking.assessor(item.config))
    keep_judgements([found], run.store)
    _end(item, found)
    asking.raise_if_missed(item, found.judgements)
    pytest.skip(found.reason)


def ended(item: pytest.Item, record: ItemRecord, row: int = 0) -> None:
    """Tell the gates above that an item has ended, or a row of it."""
    gates = item.config.stash[SERVICES].gates
    gates.ended(record, item.stash[PLACE] + row, _gated(item))


def place_of(item: pytest.Item) -> plan.Place:
    values = item.callspec.params  # type: ignore[attr-defined]
    found: plan.Place = values.get("pair") or values.get("group") or values["node"]
    return found


def _skip(item: pytest.Item, record: ItemRecord) -> NoReturn:
    _end(item, record)
    pytest.skip(record.reason)


def _end(item: pytest.Item, record: ItemRecord) -> None:
    """The item does not come to its test. What ended it first counts, if a plugin runs it again."""
    draft = item.stash[DRAFT]
    draft.ended = draft.ended or record

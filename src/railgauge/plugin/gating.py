"""An item at its gate: it goes on, is blocked, or only has its results checked.

The engine decides this for the item's measurement (``run.engine``), and the item waits for the
decision. A collective behind a closed gate is still measured if it can run, and each of its items
checks the results. If they are right, the item stays blocked: its speed is not judged.
"""

from __future__ import annotations

import time
from typing import NoReturn

import pytest

from railgauge.judging import by_evidence
from railgauge.judging.record import ItemRecord
from railgauge.plugin import asking
from railgauge.plugin.opening import SERVICES
from railgauge.plugin.recording import DRAFT, begun
from railgauge.run import judgement_lines
from railgauge.run.decided import MeasuringError
from railgauge.verdict.unanswered import never_ran

_CLOSED = pytest.StashKey[tuple[str, ...]]()


def pass_gate(item: pytest.Item) -> None:
    """Wait for the engine's decision about the item's case; skip the item if it is blocked.

    A collective whose results can still be checked is not skipped yet; see ``behind_gate``.
    """
    item.stash[_CLOSED] = ()  # each row of an item has its own gate
    if not asking.has_case(item):
        return
    waited_s, draft = time.perf_counter(), item.stash[DRAFT]
    decided = item.config.stash[SERVICES].decisions.wait(asking.case_of(item))
    # An item lasts as long as its measurement, not as long as it waited for it.
    draft.duration_s += decided.took_s - (time.perf_counter() - waited_s)
    if decided.stopped:
        _skip(item, never_ran(begun(item), decided.stopped))
    if decided.broken:
        raise MeasuringError(decided.broken)
    if decided.measured:
        item.stash[_CLOSED] = decided.blockers
    elif decided.blockers:
        _skip(item, by_evidence.blocked(begun(item), decided.blockers))


def behind_gate(item: pytest.Item) -> None:
    """If the item's gate is closed, check its results and skip it; wrong results fail it."""
    blockers = item.stash.get(_CLOSED, ())
    if not blockers:
        return
    case = asking.case_of(item)
    asking.note_transcript(item, case)
    shut = by_evidence.blocked(begun(item), blockers, case)
    found = by_evidence.judged(shut, asking.assessor(item.config))
    judgement_lines.keep_all([found], item.config.stash[SERVICES].store)
    _end(item, found)
    asking.raise_if_missed(item, found.judgements)
    pytest.skip(found.reason)


def _skip(item: pytest.Item, record: ItemRecord) -> NoReturn:
    _end(item, record)
    pytest.skip(record.reason)


def _end(item: pytest.Item, record: ItemRecord) -> None:
    """End the item before its test. The first record counts, even if a plugin runs it again."""
    draft = item.stash[DRAFT]
    draft.ended = draft.ended or record

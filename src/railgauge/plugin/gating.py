"""What an item does at the gate: it goes on, is blocked, or only has its results checked.

The items of a collective share one measurement. If their gate is closed by anything that does not
keep the collective from running, the first of them makes the measurement, and every one of them
judges the results. If these are right, the item stays blocked: its speed is not judged.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from railgauge.config.thresholds import Measurement
from railgauge.core.errors import NoEvidence
from railgauge.core.terms import Scope
from railgauge.judging.correctness import checks_results
from railgauge.judging.prevention import prevents
from railgauge.judging.record import ItemRecord
from railgauge.planning import plan
from railgauge.planning.marks import MEASURES
from railgauge.plugin.asking import check_results
from railgauge.plugin.items import ABOUT
from railgauge.plugin.opening import SERVICES, SETTINGS
from railgauge.plugin.recording import DRAFT

_CLOSED = pytest.StashKey[tuple[str, ...]]()


def pass_gate(item: pytest.Item) -> None:
    """Wait for the rungs below the item; skip it if the run was stopped or an item blocks it.

    What had been measured before the run was stopped is judged.
    A collective whose results can still be checked is not skipped yet; see ``behind_gate``.
    """
    item.stash[_CLOSED] = ()  # a row of an item may have another answer than the one before it
    blockers = _blockers(item)
    run = item.config.stash[SERVICES]
    if not run.engine.was_measured and (why := run.gates.stopped):
        _never(item, why)
    if not blockers:
        return
    if _is_checked(item):
        item.stash[_CLOSED] = blockers
    else:
        _block(item, blockers)


def is_measured(item: pytest.Item) -> bool:
    """Whether a measurement is made for an item, whose lower rungs have all ended."""
    if item.config.stash[SERVICES].gates.stopped:
        return False
    return not _blockers(item) or _is_checked(item)


def _blockers(item: pytest.Item) -> tuple[str, ...]:
    """What blocks the item, after all items below it have ended."""
    about, stash = item.stash[ABOUT], item.config.stash
    is_gated = about.rung > 0 and not stash[SETTINGS].no_gates
    return stash[SERVICES].gates.blockers(about.rung, about.gated) if is_gated else ()


def _is_checked(item: pytest.Item) -> bool:
    """Whether the results of a blocked item's collective are checked all the same."""
    about, gates = item.stash[ABOUT], item.config.stash[SERVICES].gates
    return bool(_collective(item)) and not gates.prevented(about.rung, about.gated)


def behind_gate(item: pytest.Item) -> None:
    """If the item's gate is closed, check its results and skip it; wrong results fail it."""
    blockers = item.stash.get(_CLOSED, ())
    if not blockers:
        return
    level, measurement = item.config.stash[SETTINGS].level.name, _collective(item)
    assert measurement is not None
    try:
        check_results(item, plan.case_at(measurement, level, place_of(item)))
    except NoEvidence as error:
        item.stash[DRAFT].unchecked = error
        _block(item, blockers, f"; whether its results are right is unknown: {error.what}")
    _block(item, blockers, "; its results are right")


def ended(item: pytest.Item, record: ItemRecord) -> None:
    """Tell the gates above that an item has ended, or a row of it."""
    gates = item.config.stash[SERVICES].gates
    gates.finished(record.id, record.outcome, prevents(record))


def _collective(item: pytest.Item) -> Measurement | None:
    """The measurement of the item, if its tool checks results and runs on a pair, group or node."""
    about, platform = item.stash[ABOUT], item.config.stash[SETTINGS].platform
    found = platform.measurements.get(about.subject.name)
    if about.subject.kind != MEASURES or found is None or not checks_results(found.tool):
        return None
    return found if found.scope in (Scope.PAIR, Scope.GROUP, Scope.NODE) else None


def place_of(item: pytest.Item) -> plan.Place:
    values = item.callspec.params  # type: ignore[attr-defined]
    found: plan.Place = values.get("pair") or values.get("group") or values["node"]
    return found


def _block(item: pytest.Item, blockers: Sequence[str], told: str = "") -> None:
    item.stash[DRAFT].blocked_by = tuple(blockers)
    more = f" and {len(blockers) - 1} more" if len(blockers) > 1 else ""
    pytest.skip(f"blocked by {blockers[0]}{more}{told}")


def _never(item: pytest.Item, why: str) -> None:
    item.stash[DRAFT].never = True
    item.session.shouldfail = why
    pytest.skip(why)

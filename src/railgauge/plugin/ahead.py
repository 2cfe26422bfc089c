"""``--at-once K``: runs the items of a session in the order in which an engine has measured them.

pytest's own loop takes one item after the other. This one takes the unit of items that can be
judged next, while the threads of ``run.engine`` measure the cases of others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from railgauge.core.model import Case
from railgauge.core.terms import Scope
from railgauge.planning import plan
from railgauge.planning.held import All
from railgauge.planning.marks import MEASURES
from railgauge.planning.work_queue import Unit
from railgauge.plugin import gating, worksheet
from railgauge.plugin.items import ABOUT
from railgauge.plugin.opening import SERVICES, SETTINGS
from railgauge.run.engine import CaseEngine, EngineWork


class AheadOfItems:
    """Plugin of a process that makes several measurements at once."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        engine: CaseEngine = session.config.stash[SERVICES].engine
        if session.testsfailed or session.config.option.collectonly:
            return None  # pytest's own loop says so
        with engine.begin(_work(session.items)):
            while (unit := engine.next_unit()) is not None:
                _run(session, unit, engine)
                engine.judged(unit)
        return True


def _work(items: Sequence[pytest.Item]) -> EngineWork:
    units = worksheet.units_of(items)
    firsts = ((unit, items[unit.items[0]]) for unit in units)
    cases_of = {unit: cases for unit, item in firsts if (cases := _cases(item))}
    return EngineWork(units, cases_of, lambda unit: gating.is_measured(items[unit.items[0]]))


def _cases(item: pytest.Item) -> tuple[Case, ...]:
    """Return the cases that an item asks for; none if it measures nothing, or scans a subnet."""
    about, settings = item.stash.get(ABOUT, None), item.config.stash[SETTINGS]
    if about is None or about.subject.kind != MEASURES:
        return ()
    measurement = settings.platform.measurements[about.subject.name]
    if measurement.scope == Scope.FABRIC:
        return ()
    pairing = cast("dict[str, Any]", item.callspec.params).get("pairing")  # type: ignore[attr-defined]
    pairings = pairing.values if isinstance(pairing, All) else (pairing,)
    place, level = gating.place_of(item), settings.level.name
    return tuple(plan.case_at(measurement, level, place, each) for each in pairings)


def _run(session: pytest.Session, unit: Unit, engine: CaseEngine) -> None:
    """Run the items of a unit as pytest's own loop does."""
    items = [session.items[place] for place in unit.items]
    for item, following in zip(items, [*items[1:], _after(session, engine)], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)


def _after(session: pytest.Session, engine: CaseEngine) -> pytest.Item:
    """Return the item after a unit, for which pytest keeps the fixtures that both use.

    Where none can be judged yet it is not known, and pytest keeps those of the session.
    """
    unit = engine.upcoming()
    return session.items[unit.items[0]] if unit else cast("pytest.Item", session)

"""``--at-once K`` and ``-n W``: runs items in the order in which an engine has measured them.

pytest's own loop takes one item after the other, and that of a worker of pytest-xdist starts an
item only when the next one has arrived. These loops take the unit of items that can be judged next,
while the threads of ``run.engine`` measure the cases of others.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, cast

import pytest

from railgauge.core.model import Case
from railgauge.core.terms import Scope
from railgauge.planning import plan
from railgauge.planning.held import All
from railgauge.planning.marks import MEASURES
from railgauge.planning.work_queue import Unit, WorkQueue
from railgauge.plugin import gating, worksheet
from railgauge.plugin.items import ABOUT
from railgauge.plugin.opening import SERVICES, SETTINGS
from railgauge.run.engine import CaseEngine, EngineWork

# How often a worker with room asks for more: a node may have waited long enough for its partner.
_ASK_S = 1.0

RunItem = Callable[[int, pytest.Item], None]


class AheadOfItems:
    """Plugin of a process that makes several measurements at once."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.testsfailed or session.config.option.collectonly:
            return None  # pytest's own loop says so

        def run(place: int, following: pytest.Item) -> None:
            item = session.items[place]
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)

        _run_all(session, WorkQueue(worksheet.units_of(session.items)), run)
        return True


class AheadInWorker:
    """Plugin of a worker of pytest-xdist, which runs what its controller hands to it."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        xdist, engine = _interactor(session.config), session.config.stash[SERVICES].engine
        handed = Handed(session.items, lambda: xdist.sendevent("unscheduled", indices=[]))

        def hear(command: tuple[str, dict[str, Any]] | None) -> None:
            handed.hear(command)
            engine.look()

        def run(place: int, following: pytest.Item) -> None:
            xdist.item_index, item, began_s = place, session.items[place], time.perf_counter()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            lasted_s = time.perf_counter() - began_s
            xdist.sendevent("runtest_protocol_complete", item_index=place, duration=lasted_s)

        xdist.channel.setcallback(hear, endmarker=None)
        with suppress(session.Failed, session.Interrupted):  # the controller is told at the end
            _run_all(session, handed, run)
        return True


class Handed(WorkQueue):
    """The units that the controller has handed to a worker, and that may start now.

    The controller has decided that by a queue of its own, of all units.
    """

    def __init__(
        self,
        items: Sequence[pytest.Item],
        ask: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``ask`` tells the controller that this worker has room."""
        super().__init__((), clock)
        self._items = items
        self._ask = ask
        self._asked_s = clock()
        self._heard: deque[tuple[int, ...]] = deque()
        self._is_whole = False

    def hear(self, command: tuple[str, dict[str, Any]] | None) -> None:
        """Note what the controller says; called by another thread, at last with ``None``."""
        if command and command[0] == "runtests":
            self._heard.append(tuple(command[1]["indices"]))
        else:
            self._is_whole = True

    def __bool__(self) -> bool:
        """Whether a unit waits, or may still come."""
        return not self._is_whole or bool(self._heard) or super().__bool__()

    def start(self, most: int, may: Callable[[Unit], bool] | None = None) -> list[Unit]:
        while self._heard:
            places = self._heard.popleft()
            self.add(worksheet.unit_of(self._items[places[0]], places))
        found = super().start(most, may)
        if not found and not self._is_whole and self._clock() - self._asked_s >= _ASK_S:
            self._asked_s = self._clock()
            self._ask()
        return found


def _interactor(config: pytest.Config) -> Any:
    """Return xdist's plugin of a worker: it has no name, and a class that nobody can import."""
    plugins = config.pluginmanager.get_plugins()
    return next(plugin for plugin in plugins if type(plugin).__name__ == "WorkerInteractor")


def _run_all(session: pytest.Session, queue: WorkQueue, run: RunItem) -> None:
    """Measure the units of a queue, and run the items of each when it has been measured."""
    engine, items = session.config.stash[SERVICES].engine, session.items
    work = EngineWork(
        queue,
        lambda unit: _cases(items[unit.items[0]]),
        lambda unit: gating.is_measured(items[unit.items[0]]),
    )
    with engine.begin(work):
        try:
            while (unit := engine.next_unit()) is not None:
                _run(session, unit, engine, run)
                engine.judged(unit)
        except (session.Failed, session.Interrupted):
            for unit in engine.stop():  # or there would be evidence without a judgement
                for place in unit.items:
                    run(place, cast("pytest.Item", session))
            raise


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


def _run(session: pytest.Session, unit: Unit, engine: CaseEngine, run: RunItem) -> None:
    """Run the items of a unit as pytest's own loop does."""
    following = [*(session.items[place] for place in unit.items[1:]), _after(session, engine)]
    for place, after in zip(unit.items, following, strict=True):
        run(place, after)
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

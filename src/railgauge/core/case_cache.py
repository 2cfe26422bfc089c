"""A cache of what was computed from cases, for the last few places.

A place is a measurement on certain nodes. The items of one place follow each other and ask for the
same cases, one for each pairing. A measured case does not change. Two places are kept, because an
item may compare two measurements.
"""

from __future__ import annotations

from threading import Lock
from typing import Generic, TypeVar

from railgauge.core.model import Case

_Made = TypeVar("_Made")
_MOST_PLACES = 2


class CaseCache(Generic[_Made]):
    """A value for each case at the last few places. Several threads may use it at once."""

    def __init__(self) -> None:
        self._changing = Lock()
        self._places: dict[tuple[str, tuple[str, ...]], dict[Case, _Made]] = {}

    def get(self, case: Case) -> _Made | None:
        return self._places.get((case.measurement, case.nodes), {}).get(case)

    def keep(self, case: Case, value: _Made) -> _Made:
        """Keep the value, and forget all values of the place that was kept first."""
        place = case.measurement, case.nodes
        with self._changing:
            self._places[place] = {**self._places.pop(place, {}), case: value}
            if len(self._places) > _MOST_PLACES:
                del self._places[next(iter(self._places))]
        return value

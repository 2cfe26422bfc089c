"""Gates: failures on a rung keep the rungs above it from being measured. Pure.

The lowest rung that fails explains a failure, so the rungs above it are not measured. A failed pair
blocks measurements inside a node only if it leaves the node under suspicion
(``judging.suspicion``). A collective behind its gate may still be run to check its results, but not
if an item below it prevents that (``judging.prevention``).

Gates follow evidence alone. A failed assert of a site's own test, or an error of a fixture, shows
nothing about the nodes, and closes no gate.

Example: the items of rung 1 on node ``a`` are ``link[a]`` (passed) and ``errors[a]`` (failed).
An item of rung 2 on the pair ``a:b`` is then blocked by ``errors[a]``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from railgauge.config.thresholds import Measurement
from railgauge.core.model import Outcome
from railgauge.core.terms import Scope
from railgauge.judging.correctness import checks_results
from railgauge.judging.prevention import Prevents, prevents
from railgauge.judging.record import ItemRecord, blank, settled
from railgauge.judging.suspicion import NodeOutcomes

_WRONG = (Outcome.FAILED, Outcome.ERROR)
_CHECKED = (Scope.PAIR, Scope.GROUP, Scope.NODE)


@dataclass(frozen=True, slots=True)
class Ended:
    """An item that has ended, as the gates above it see it.

    ``place`` is its place in the ladder, ``nodes`` are those whose gates it may close. ``outcome``
    is that of its evidence; *not run* without any.
    """

    id: str
    place: int
    rung: int
    nodes: tuple[str, ...]
    outcome: Outcome
    prevents: Prevents = Prevents.NONE


def ended(item: ItemRecord, place: int, nodes: tuple[str, ...]) -> Ended:
    shown = _shown(item)
    return Ended(item.id, place, item.rung, nodes, shown.outcome, prevents(shown))


def _shown(item: ItemRecord) -> ItemRecord:
    """The item as its evidence alone gives it."""
    if item.by_evidence or item.outcome not in _WRONG:
        return item
    plain = replace(blank(item), outcome=Outcome.NOT_RUN)
    return settled(plain, item.judgements, None) if item.judgements else plain


@dataclass(slots=True)
class _Floor:
    """The outcomes of the items of one node on one rung.

    ``prevents`` has the collectives that some items make impossible or dangerous.
    """

    ended: NodeOutcomes
    prevents: dict[str, Prevents] = field(default_factory=dict)


@dataclass(slots=True)
class Gates:
    """Failures by node and rung."""

    _floors: dict[str, dict[int, _Floor]] = field(default_factory=dict)
    _places: dict[str, int] = field(default_factory=dict)

    def note(self, one: Ended) -> None:
        """Take the result of an item; the latest one with evidence counts, as it may run again."""
        if one.outcome is Outcome.NOT_RUN:
            return
        for node in dict.fromkeys(one.nodes):
            floors = self._floors.setdefault(node, {})
            floor = floors.setdefault(one.rung, _Floor(NodeOutcomes(node)))
            floor.ended.note(one.id, one.nodes, one.outcome)
            floor.prevents.pop(one.id, None)
            if one.prevents:
                floor.prevents[one.id] = one.prevents
        if one.outcome in _WRONG:
            self._places[one.id] = one.place

    def blockers(self, rung: int, nodes: Sequence[str]) -> tuple[str, ...]:
        """The ids of the items that failed below ``rung`` and block ``nodes``, in ladder order."""
        found = set[str]()
        for floor in self._below(rung, nodes):
            found.update(floor.ended.suspicious() if len(nodes) == 1 else floor.ended.wrong)
        return tuple(sorted(found, key=self._places.__getitem__))

    def is_checked(self, measurement: Measurement, nodes: Sequence[str]) -> bool:
        """Whether a measurement behind its gate is made nevertheless, to check its results."""
        if measurement.scope not in _CHECKED or not checks_results(measurement.tool):
            return False
        below = self._below(measurement.rung, nodes)
        found = (one for floor in below for one in floor.prevents.values())
        return not any(one.covers(len(nodes)) for one in found)

    def _below(self, rung: int, nodes: Iterable[str]) -> Iterator[_Floor]:
        for node in nodes:
            floors = self._floors.get(node, {})
            yield from (floor for low, floor in floors.items() if low < rung)

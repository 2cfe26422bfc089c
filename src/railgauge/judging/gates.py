"""Gates: failures on a rung keep the rungs above it from being measured. Pure.

The lowest rung that fails explains a failure, so the rungs above it are not measured. A collective
behind its gate may still be run to check its results, but not if an item below it prevents that
(``judging.prevention``).

Gates follow evidence alone. A failed assert of a site's own test, or an error of a fixture, shows
nothing about the nodes, and closes no gate.

Example: the items of rung 1 on node ``a`` are ``link[a]`` (passed) and ``errors[a]`` (failed).
An item of rung 2 on the pair ``a:b`` is then blocked by ``errors[a]``.

A failed pair does not show which of its two nodes is at fault. It blocks measurements inside a node
only if it leaves the node under suspicion. A node that reached all limits of the same test over the
same part with another partner is not: the fault is at its partner, or between the two.

Example: ``a`` and ``b`` are slow with each other over ``mlx5_0``. ``a`` was fast with ``c`` over
``mlx5_0`` at all sizes, and ``b`` was measured with ``a`` only. ``b`` is under suspicion.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from railgauge.config.thresholds import Measurement
from railgauge.core.model import Outcome
from railgauge.core.terms import Scope
from railgauge.judging.correctness import checks_results
from railgauge.judging.prevention import Prevents, prevents
from railgauge.judging.record import ItemRecord, blank, settled

_WRONG = (Outcome.FAILED, Outcome.ERROR)
_CHECKED = (Scope.PAIR, Scope.GROUP, Scope.NODE)
_PAIR = 2
_SIZE = re.compile(r"-[0-9]+(?:[KMG]i)?B\]")
_FINE = (Outcome.PASSED, Outcome.MARGINAL)


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


def asked(item_id: str, nodes: Sequence[str]) -> str:
    """The question of an item: its id without nodes and message size."""
    return _SIZE.sub("]", item_id.replace(":".join(nodes), "", 1))


@dataclass(slots=True)
class NodeOutcomes:
    """Passed and failed questions of one node, with its partners.

    ``wrong`` has, by the id of each item, its question and its partner; both are empty for an item
    that is not of a pair.
    """

    node: str
    wrong: dict[str, tuple[str, str]] = field(default_factory=dict)
    fine: dict[str, set[str]] = field(default_factory=dict)

    def note(self, item_id: str, nodes: Sequence[str], outcome: Outcome) -> None:
        """Take the outcome of an item; the latest one counts."""
        is_pair = len(nodes) == _PAIR
        partner = next((other for other in nodes if other != self.node), "") if is_pair else ""
        self.wrong.pop(item_id, None)
        if outcome in _WRONG:
            self.wrong[item_id] = (asked(item_id, nodes) if partner else "", partner)
        elif outcome in _FINE and partner:
            self.fine.setdefault(asked(item_id, nodes), set()).add(partner)

    def suspicious(self) -> Iterator[str]:
        """Yield the failed items that leave the node under suspicion."""
        bad: dict[str, set[str]] = {}
        for about, partner in self.wrong.values():
            bad.setdefault(about, set()).add(partner)
        cleared = {about for about in bad if self.fine.get(about, set()) - bad[about]}
        return (item for item, (about, _) in self.wrong.items() if about not in cleared)


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

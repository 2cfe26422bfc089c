"""One fact of a node against what the platform file expects: both looked up by their paths. Pure.

Nothing but paths has to be kept of such a comparison: with the facts of the nodes and a platform
file it can be made again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from railgauge.errors import FactMissing, NoEvidence
from railgauge.facts import NodeFacts, require
from railgauge.judge import judge_fact
from railgauge.model import Judgement
from railgauge.question import FactAt
from railgauge.thresholds import Expectation, Platform

_MOST_DIGITS = 6  # of an index in a path

Found = Mapping[str, NodeFacts | NoEvidence]


def judge_at(at: FactAt, expectation: Expectation, platform: Platform, found: Found) -> Judgement:
    """The fact at its paths against the expectation. Raises ``NoEvidence`` if it is not known."""
    facts = found.get(at.node)
    if facts is None:
        raise FactMissing("was not surveyed", where=at.node)
    if isinstance(facts, NoEvidence):
        raise facts
    declared = declared_at(platform, at.declared) if at.declared else None
    if at.same_as:
        declared = require(facts, at.same_as)
    peers = _peers(at, found) if expectation.rule == "alike" else None
    return judge_fact(expectation, value_at(facts, at), declared=declared, peers=peers)


def value_at(facts: NodeFacts, at: FactAt) -> object:
    """The value at the path, or the list of the values at several."""
    values = [_at(facts, path, at.absent) for path in at.paths]
    return values[0] if len(values) == 1 else values


def _at(facts: NodeFacts, path: str, absent: str) -> Any:
    head, star, rest = path.partition(".*.")
    try:
        if star:
            return sorted(f"{item.name} {_field(item, rest)}" for item in require(facts, head))
        return require(facts, path) if not absent or _has(facts, path) else absent
    except (AttributeError, TypeError):
        raise FactMissing(f"there is no fact {path[:80]}", where=facts.node) from None


def _has(facts: NodeFacts, path: str) -> bool:
    """Whether the node has the device that ``path`` is about: ``nics.mlx5_0.pci_address``."""
    kind, _, inner = path.partition(".")
    return any(item.name == inner.partition(".")[0] for item in require(facts, kind))


def _peers(at: FactAt, found: Found) -> dict[str, object]:
    """The same fact of every node that has it, by node."""
    values: dict[str, object] = {}
    for node, facts in found.items():
        try:
            if not isinstance(facts, NoEvidence):
                values[node] = value_at(facts, at)
        except FactMissing:
            continue
    return values


def declared_at(platform: Platform, path: str) -> object:
    """What the hardware section says at ``gpus.model``, ``nics.mlx5_0.model``, ``affinity.0.ib0``.

    Raises ``FactMissing`` if it says nothing at all there.
    """
    value: Any = platform
    for name in path.split("."):
        value = _step(value, name)
        if value is None:
            raise FactMissing(f"the platform file declares no {path[:80]}", where=platform.name)
    return value


def _step(value: Any, name: str) -> Any:
    number = int(name) if name.isdecimal() and len(name) < _MOST_DIGITS else None
    if isinstance(value, Mapping):
        return value.get(name if number is None else number)
    if isinstance(value, tuple) and number is not None:
        return value[number] if number < len(value) else None
    if isinstance(value, tuple):
        return next((item for item in value if getattr(item, "name", "") == name), None)
    return _field(value, name)


def _field(value: Any, name: str) -> Any:
    return None if name.startswith("_") else getattr(value, name, None)

"""Compare one fact of a node with the platform file's expectation, both found by path. Pure.

A record keeps only the paths, so the comparison can be repeated with the nodes' facts and another
platform file. Example: the path ``nics.mlx5_0.firmware`` is looked up on each node; with the rule
``alike`` and the values 28.1, 28.1 and 27.9, the third node fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from railgauge.config.thresholds import Expectation, Platform
from railgauge.config.thresholds.model import CARRIES
from railgauge.config.thresholds.physics import slot_need_gbps
from railgauge.core.errors import FactMissing, NoEvidence, VersionUndeclared
from railgauge.core.model import Judgement, Outcome
from railgauge.core.question import FactAt
from railgauge.facts import FactsByNode, NodeFacts, require
from railgauge.judging import among
from railgauge.judging.judge import judge_fact

_MOST_DIGITS = 6  # of an index in a path


def judge_at(
    at: FactAt, expectation: Expectation, platform: Platform, found: FactsByNode
) -> Judgement:
    """Judge the fact at its paths by the expectation.

    Raises ``NoEvidence`` if the fact is unknown, or if it is a version that the limits were not
    measured with and that the hostfile does not declare.
    """
    facts = found.get(at.node)
    if facts is None:
        raise FactMissing("was not surveyed", where=at.node)
    if isinstance(facts, NoEvidence):
        raise facts
    if expectation.rule in among.RULES:
        return among.judge_among(at, expectation, found)
    value = value_at(facts, at)
    declared = _declared(at, expectation, platform, facts)
    peers = _peers(at, facts, found, expectation.value) if expectation.rule == "alike" else ()
    judged = judge_fact(expectation, value, declared=declared, peers=peers)
    if judged.outcome is Outcome.PASSED:
        _refuse_undeclared(at.node, expectation, value)
    return judged


def _refuse_undeclared(node: str, expectation: Expectation, value: object) -> None:
    """Raise ``VersionUndeclared`` for a version that the limits were not measured with.

    Such a version can pass the rule: all nodes may have it.
    """
    known, name = expectation.measured_with, expectation.name
    if known and value not in known:
        raise VersionUndeclared(
            f"{name} is {str(value)[:80]}; the limits were measured with {known[0]}",
            where=node,
            remedy="if this version is intended, declare it in the hostfile: "
            f"versions: {{{name}: VERSION}}",
        )


def _declared(at: FactAt, expectation: Expectation, platform: Platform, facts: NodeFacts) -> object:
    """The wanted value where the expectation itself does not hold it, else ``None``."""
    if expectation.rule == "by_model" and isinstance(expectation.value, Mapping):
        return _of_model(at, expectation.value, facts)
    if expectation.rule == CARRIES:
        return _slot_need(at, platform)
    if at.declared:
        return declared_at(platform, at.declared)
    if not expectation.is_declared or expectation.rule == "by_model":
        return None
    if not at.same_as:
        raise FactMissing(
            f"the hardware section has no field for {expectation.name}",
            where=platform.name,
            remedy="write what it must be: equals, one_of, at_least or at_most",
        )
    return _at(facts, at.same_as, "")


def _slot_need(at: FactAt, platform: Platform) -> float:
    """What the NIC of ``nics.mlx5_0.pcie_width`` needs of its slot, in Gb/s."""
    name = at.paths[0].split(".")[1]
    need = slot_need_gbps(platform, name) if declared_at(platform, f"nics.{name}") else None
    if need is None:
        raise FactMissing(f"the platform file declares no slot of {name[:80]}", where=platform.name)
    return need


def _of_model(at: FactAt, by_model: Mapping[str, object], facts: NodeFacts) -> object:
    kind, model = _device(at)
    name = require(facts, f"{kind}.{model}")
    if name not in by_model:
        raise FactMissing(
            f"nothing is declared for the model {name[:80]}",
            where=at.node,
            remedy=f"declare it beside {', '.join(by_model)}",
        )
    return by_model[name]


# The field that holds the model of a device, by the kind of device.
_MODELS = {"gpus": "model", "nics": "hca_type"}


def _device(at: FactAt) -> tuple[str, str]:
    """``gpus.0`` and ``model`` of the path ``gpus.0.vbios``."""
    kind, _, rest = at.paths[0].partition(".")
    name, _, field = rest.partition(".")
    if kind not in _MODELS or not field:
        raise FactMissing(f"{at.paths[0][:80]} names no device that has a model", where=at.node)
    return f"{kind}.{name}", _MODELS[kind]


def value_at(facts: NodeFacts, at: FactAt) -> object:
    """The value at the path, or a list of values if there are several paths."""
    values = [_at(facts, path, at.absent) for path in at.paths]
    return values[0] if len(values) == 1 else values


def _at(facts: NodeFacts, path: str, absent: str) -> Any:
    try:
        return require(facts, path) if not absent or _has(facts, path) else absent
    except (AttributeError, TypeError):
        raise FactMissing(f"there is no fact {path[:80]}", where=facts.node) from None


def _has(facts: NodeFacts, path: str) -> bool:
    """Whether the node has the device that ``path`` is about: ``nics.mlx5_0.pci_address``."""
    kind, _, inner = path.partition(".")
    return any(item.name == inner.partition(".")[0] for item in require(facts, kind))


def _peers(at: FactAt, facts: NodeFacts, found: FactsByNode, among: object) -> list[object]:
    """The same fact of every node that has it, or of every device of the same model."""
    nodes = [one for one in found.values() if not isinstance(one, NoEvidence)]
    if among == "model":
        return list(_of_devices(at, facts, nodes))
    values: list[object] = []
    for one in nodes:
        try:
            values.append(value_at(one, at))
        except FactMissing:
            continue
    return values


def _of_devices(at: FactAt, facts: NodeFacts, nodes: list[NodeFacts]) -> Iterator[object]:
    device, model = _device(at)
    kind, field = device.partition(".")[0], at.paths[0].rpartition(".")[2]
    name = require(facts, f"{device}.{model}")
    for item in (item for one in nodes for item in getattr(one, kind)):
        if getattr(item, model) == name and getattr(item, field) is not None:
            yield getattr(item, field)


def declared_at(platform: Platform, path: str) -> object:
    """The platform file's value at ``gpus.model``, ``nics.mlx5_0.model`` or ``affinity.0.ib0``.

    Raises ``FactMissing`` if the platform file has no value there.
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

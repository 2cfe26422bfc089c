"""Decide which items a cause can explain: what its effects make go wrong, at its place."""

from __future__ import annotations

import re
from collections.abc import Collection

from railgauge.config.thresholds.model import Platform
from railgauge.core.naming import unfolded
from railgauge.core.terms import Rung
from railgauge.diagnosis.catalogue import CATALOGUE
from railgauge.diagnosis.catalogue.effect import ANY_FACT, Effect
from railgauge.diagnosis.model import OPEN, TOOL, Finding
from railgauge.diagnosis.symptoms import Symptom, blames, symptoms, tool_of
from railgauge.judging.record import ItemRecord

_WITH_FIGURES = frozenset(
    {Symptom.SLOW, Symptom.ROUTE, Symptom.COUNTED, Symptom.WRONG, Symptom.TESTED}
)


def explains(finding: Finding, record: ItemRecord, platform: Platform) -> bool:
    """Whether the finding's cause can make this item fail or end in an error, in the way it did."""
    effect = CATALOGUE[finding.cause].effect
    if not _is_there(finding, record):
        return False
    if record.rung == Rung.PREFLIGHT:
        return _changes(effect, finding, record)
    seen = symptoms(record)
    return (
        record.rung in effect.reach
        and bool(seen)
        and seen <= effect.symptoms
        and record.rung >= min(shown.rung for shown in finding.evidence)
        and _goes_through(effect.through, finding, record, platform)
    )


def can_slow(finding: Finding, record: ItemRecord, platform: Platform) -> bool:
    """Whether the finding's cause can lower the value of this item, be it within its limits."""
    effect = CATALOGUE[finding.cause].effect
    return (
        _is_there(finding, record)
        and record.rung in effect.reach
        and Symptom.SLOW in effect.symptoms
        and _goes_through(effect.through, finding, record, platform)
    )


def can_stop(finding: Finding, record: ItemRecord, platform: Platform) -> bool:
    """Whether the finding's cause can keep this measurement from giving figures."""
    effect = CATALOGUE[finding.cause].effect
    if not _is_there(finding, record):
        return False
    if finding.cause == TOOL:
        return _is_with(finding.where.device, record, platform)
    return (
        record.rung in effect.reach
        and bool(effect.symptoms - _WITH_FIGURES)
        and _goes_through(effect.through, finding, record, platform)
    )


def _is_there(finding: Finding, record: ItemRecord) -> bool:
    where = finding.where
    if where.peer:
        return {where.node, where.peer} <= set(record.nodes)
    if not where.node:
        return True
    here, nodes = nodes_of(where.node), set(record.nodes)
    if (culprit := blames(record)) and culprit not in here:
        return False
    if finding.confidence == OPEN and not (here <= nodes or nodes <= here):
        # The item has good nodes, and not all suspects: it tells more than the finding knows.
        return False
    return not here.isdisjoint(nodes)


def _changes(effect: Effect, finding: Finding, record: ItemRecord) -> bool:
    """Whether the cause changes this fact of rung 0, or makes it unknown."""
    if ANY_FACT in effect.facts:
        return symptoms(record) <= {Symptom.UNKNOWN, *effect.symptoms}
    if record.subject not in effect.facts:
        return False
    return not effect.through or _is_part(finding.where.device, record.pairing)


def _is_part(device: str, pairing: str) -> bool:
    """Whether a fact is about the device, or about all of them."""
    return not (device and pairing) or bool(devices_of(device) & devices_of(pairing))


def _goes_through(through: str, finding: Finding, record: ItemRecord, platform: Platform) -> bool:
    device, part = finding.where.device, _part(finding, record)
    if through == "tool":
        return _is_with(device, record, platform)
    if through == "node":
        return _is_of_the_node(finding, record)
    if part and ((through == "link" and _LINK in part) or _RAILS in device):
        return set(device.split(_RAILS)) == set(part.split(_RAILS))
    own = devices_of(device)
    if through == "part":
        own &= _known(platform)
    return not through or _shares(own, devices_of(part))


def _is_with(tool: str, record: ItemRecord, platform: Platform) -> bool:
    """Whether the item runs the tool, or one of this make, or its error names it."""
    measurement = platform.measurements.get(record.subject)
    runs = (measurement.command, measurement.tool) if measurement else ()
    return tool in (tool_of(record), *runs)


# Between two GPUs of a node, and between a rail of one node and another rail of its peer.
_LINK, _RAILS = ">", ":"


def _part(finding: Finding, record: ItemRecord) -> str:
    """The item's part on the finding's node; for a path between two nodes the item's pairing."""
    where = finding.where
    return record.pairing if where.peer else record.part_at(where.node)


def _is_of_the_node(finding: Finding, record: ItemRecord) -> bool:
    """Whether a node that was found slow between nodes also explains this item.

    It does not explain a single GPU or link that is slow inside the node.
    """
    inside = record.rung == Rung.INTRANODE and bool(record.pairing)
    return not inside or any(shown.rung == Rung.INTRANODE for shown in finding.evidence)


def _shares(own: Collection[str], named: Collection[str]) -> bool:
    """Whether an item uses the devices: of each kind it names none, or one of these."""
    for is_gpu in (True, False):
        mine = {name for name in own if _is_gpu(name) is is_gpu}
        rivals = {name for name in named if _is_gpu(name) is is_gpu}
        if mine and rivals and not mine & rivals:
            return False
    return True


def _is_gpu(name: str) -> bool:
    return name.startswith("gpu")


def _known(platform: Platform) -> set[str]:
    """The devices of a node by name, since a cause may name a fact in place of a device."""
    gpus = range(platform.gpus.count) if platform.gpus else ()
    return {nic.name for nic in platform.nics} | {f"gpu{index}" for index in gpus}


def devices_of(text: str) -> set[str]:
    """The NICs and GPUs in ``gpu3-mlx5_0``, ``gpu0>gpu1`` or ``mlx5_0,mlx5_1``."""
    return {part for part in re.split(r"[>,:]|(?<=\d)-(?=[a-z])", text) if part}


def nodes_of(text: str) -> set[str]:
    """The names of the nodes in ``a``, ``a|b`` (undecided) or a folded ``mx[01-04]``."""
    return set(unfolded(text))

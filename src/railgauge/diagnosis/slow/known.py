"""Causes that are known before the model looks, because facts, counters or errors show them. Pure.

Such a cause may slow the figures that its effects reach, by any share, and the model need not look
for another explanation of what it costs. It is a part of its own in their forms. What is wrong with
a node costs one measurement and message size more than another, so that there is one part for each;
what is wrong with a device of it may cost each execution something else.

Example: errors were counted on ``mlx5_0`` of ``mx02``. Each figure over that NIC has one more part,
``link-error-rate`` at ``mx02``, in the chains of that NIC. A pair of ``mx02`` that is slow over
``mlx5_0`` is explained; one that is slow over ``mlx5_1`` is not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from railgauge.config.thresholds.model import Platform
from railgauge.core.model import Case, Outcome
from railgauge.judging.record import ItemRecord
from railgauge.tools.form import GPU, Chain, ClusterPart, FigureForm, KindOfPart, Stage


@dataclass(frozen=True, slots=True)
class KnownCause:
    """A cause at ``nodes`` (none: at all of them), at the ``devices`` of theirs, or on the path to
    ``peer``. ``slows`` tells whether it can lower the value of an item."""

    name: str
    nodes: frozenset[str]
    devices: frozenset[str]
    peer: str
    slows: Callable[[ItemRecord], bool]

    def at(self, nodes: Iterable[str], figures: str) -> Iterator[ClusterPart]:
        """The cause as a part of each of these nodes that it is at, in figures that it costs the
        same share."""
        kind = KindOfPart.ERRATIC if self.devices else KindOfPart.KNOWN
        name = " ".join((self.name, *(sorted(self.devices) or [figures])))
        for node in nodes:
            if not self.nodes or node in self.nodes:
                yield ClusterPart(kind, node, name, peer=self.peer)


def with_known(
    form: FigureForm, item: ItemRecord, size: int | None, known: Collection[KnownCause]
) -> FigureForm:
    """The form of an item's figures, with a part for each cause that can slow them."""
    stages = form.stages
    for cause in known:
        if cause.slows(item):
            for part in cause.at(item.nodes, f"{item.subject} {size}"):
                stages = _with_part(stages, part, cause.devices, form.mean)
    return form if stages is form.stages else replace(form, stages=stages)


def _with_part(
    stages: tuple[Stage, ...], part: ClusterPart, devices: Collection[str], mean: int
) -> tuple[Stage, ...]:
    """The stages with the part where its devices are, else where its node is, else after them.

    It is put in one stage, so that what it loses counts once, or in each that the figure is the
    ``mean`` of.
    """
    for fits in _fits(part, devices):
        there = [
            place
            for place, stage in enumerate(stages)
            if any(fits(one) for chain in stage for one in chain)
        ]
        if there:
            chosen = there if mean else there[:1]
            return tuple(
                tuple(_extended(chain, part, fits) for chain in stage) if n in chosen else stage
                for n, stage in enumerate(stages)
            )
    return (*stages, ((part,),))


def _extended(chain: Chain, part: ClusterPart, fits: Callable[[ClusterPart], bool]) -> Chain:
    return (*chain, part) if any(map(fits, chain)) else chain


def _fits(part: ClusterPart, devices: Collection[str]) -> tuple[Callable[[ClusterPart], bool], ...]:
    def is_path(one: ClusterPart) -> bool:
        return {part.node, part.peer} == {one.node, one.peer}

    def is_device(one: ClusterPart) -> bool:
        own = {one.nic, f"{GPU}{one.gpu}", f"{GPU}{one.to}"} - {""}
        return one.node == part.node and not own.isdisjoint(devices)

    def is_node(one: ClusterPart) -> bool:
        return one.node == part.node and not one.peer

    return (is_path,) if part.peer else (is_device, is_node)


def as_item(platform: Platform, case: Case, placement: str) -> ItemRecord:
    """A measurement as an item that reached its limit, to ask what a cause can do to it."""
    return ItemRecord(
        id="",
        rung=platform.measurements[case.measurement].rung,
        subject=case.measurement,
        title="",
        outcome=Outcome.PASSED,
        nodes=case.nodes,
        pairing=str(case.pairing) if case.pairing else placement,
    )

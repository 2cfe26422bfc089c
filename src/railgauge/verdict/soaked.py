"""A soak in a verdict: its required check, and its causes among those of the ladder. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from railgauge.core.model import Cluster, Outcome
from railgauge.core.terms import Rung
from railgauge.diagnosis import Cause
from railgauge.diagnosis.model import SoakResults
from railgauge.diagnosis.ordering import by_harm
from railgauge.judging.record import ItemRecord
from railgauge.planning.plan import ALL
from railgauge.planning.soak import FOLDER, SoakPlan

SUBJECT = "soak"
_PAIR = 2


def soak_item(test: str, title: str, nodes: Sequence[str]) -> ItemRecord:
    """An item about a soak itself, without a result; its id begins with the folder ``test``."""
    place = ALL if len(nodes) > _PAIR else ":".join(nodes)
    where = f"{test}[{place}]"
    return ItemRecord(where, Rung.APPLICATION, SUBJECT, title, Outcome.ERROR, tuple(nodes))


def time_item(soak: SoakPlan, nodes: Sequence[str]) -> ItemRecord:
    """The item that requires the soak's time, or its number of rounds."""
    title = f"The cluster is under load for {soak.asked}."
    return soak_item(f"{FOLDER}/time::soaked", title, nodes)


def not_soaked(soak: SoakPlan, cluster: Cluster) -> ItemRecord:
    """The item of a soak that was not begun."""
    item = time_item(soak, [node.name for node in cluster.nodes])
    return replace(item, outcome=Outcome.NOT_RUN, reason="the run ended before its soak")


def with_causes(
    ladder: Sequence[Cause], soak: SoakResults | None, records: Mapping[str, ItemRecord]
) -> tuple[Cause, ...]:
    """The causes of ladder and soak, the most harmful first; a cause of both is one entry."""
    if soak is None or not soak.causes:
        return tuple(ladder)
    found = {(cause.cause, cause.where): cause for cause in ladder}
    for cause in soak.causes:
        key = (cause.cause, cause.where)
        found[key] = _both(found[key], cause) if key in found else cause
    return by_harm(found.values(), records)


def _both(ladder: Cause, soak: Cause) -> Cause:
    return replace(
        ladder,
        says=f"{ladder.says}; and in the soak: {soak.says}",
        evidence=(*ladder.evidence, *soak.evidence),
        explains=(*ladder.explains, *soak.explains),
    )

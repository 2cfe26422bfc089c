"""``ibnetdiscover``: the cables between the ports of the subnet."""

from __future__ import annotations

import re
from functools import lru_cache

from railgauge.core.model import Command, Parsed
from railgauge.core.problems import ProblemKind
from railgauge.subnet import Topology, topology
from railgauge.tools import Setting
from railgauge.tools.claims import claims_nothing as claims
from railgauge.tools.collector import OutputCollector
from railgauge.tools.infiniband_diags.asking import asks, complain_of_nothing, complain_of_start
from railgauge.tools.metric import HIGHER, Metric
from railgauge.tools.text import clean

__all__ = ["METRICS", "claims", "commands", "parse"]

METRICS = tuple(
    Metric(name, ("count",), HIGHER, may_be_zero=True)
    for name in ("switches", "adapters", "cables")
)

_OPENING = re.compile(r"^# Topology file: generated on ", re.MULTILINE)


def commands(setting: Setting, port: int) -> tuple[Command, ...]:  # noqa: ARG001 - no server
    return asks(setting, "ibnetdiscover")


@lru_cache(maxsize=4)
def parse(text: str) -> Parsed:
    """Return the counts ``switches``, ``adapters`` and ``cables``; ``summary`` lists them.

    A dump with an incomplete record of a node is ``truncated``, two dumps are ``several-tables``.
    """
    text = clean(text)
    collector = OutputCollector()
    complain_of_start(text, "ibnetdiscover", collector)
    found = topology(text)
    if found.nodes:
        kinds = [node.kind for node in found.nodes.values()]
        collector.add("switches", "count", kinds.count("SW"), may_be_zero=True)
        collector.add("adapters", "count", kinds.count("CA"), may_be_zero=True)
        collector.add("cables", "count", len(found.cables), may_be_zero=True)
    if found.nodes and found.problem:
        collector.error(ProblemKind.TRUNCATED, found.problem)
    collector.refuse_several(len(_OPENING.findall(text)))
    complain_of_nothing(text, collector)
    return collector.parsed("ibnetdiscover", None, _summary(found))


def _summary(found: Topology) -> dict[str, object]:
    switches = {node.name: f"{guid:#x}" for guid, node in found.nodes.items() if node.kind == "SW"}
    cables = [(found.label(c.near), found.label(c.far), c.speed) for c in found.cables]
    return {"switches": switches, "cables": cables}

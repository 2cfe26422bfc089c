"""Check that the cables of a subnet are the declared ones, and that it has a subnet manager."""

from __future__ import annotations

from collections.abc import Iterator

from railgauge.core.errors import MetricMissing
from railgauge.core.model import Judgement
from railgauge.judging.links.model import Miss, Scan, SwitchUnderTest, judged
from railgauge.subnet import Cable, Topology, topology
from railgauge.tools.infiniband_diags import sminfo

MANAGER, CABLING = "subnet_managers", "cabling"


def judge_manager(scan: Scan, switch: SwitchUnderTest) -> list[Judgement]:
    """Judge whether a subnet manager is master and answers."""
    parsed = sminfo.parse(scan.text)
    masters = [sample.value for sample in parsed.samples if sample.metric == MANAGER]
    if not masters:
        raise MetricMissing("sminfo printed nothing about a subnet manager")
    state = str(parsed.summary.get("state", "none answers"))
    words = f"{state} at lid {parsed.summary['lid']}" if masters[0] else state
    miss = Miss((), words, "SMINFO_MASTER", f"no subnet manager is in charge: {words}")
    return judged(MANAGER, [] if masters[0] else [miss], words, "SMINFO_MASTER", switch.limits)


def judge_cabling(scan: Scan, switch: SwitchUnderTest) -> list[Judgement]:
    """Judge whether every declared cable joins its two ports, and the switch has no other cable."""
    found, cables = topology(scan.text), switch.cables
    if not found.nodes:
        raise MetricMissing("ibnetdiscover printed no subnet")
    misses = [miss for cable in cables if (miss := _miscabled(cable, found, switch))]
    misses += _undeclared(found, switch)
    words = f"{len(cables)} of {len(cables)} cables"
    return judged(CABLING, misses, words, "as declared", switch.limits)


def _miscabled(cable: Cable, found: Topology, switch: SwitchUnderTest) -> Miss | None:
    there, elsewhere = found.joined.get(cable.near), found.joined.get(cable.far)
    if there == cable.far:
        return None
    subnet = switch.subnet
    near, far = subnet.label(cable.near), subnet.label(cable.far)
    state, wanted = "missing", f"{near} to {far}"
    if there is not None:
        other = found.label(there)
        state = f"goes to {other}" + (f" of GUID {there.guid:#x}" if other == far else "")
    elif elsewhere is not None:
        state = f"{far} is joined to {found.label(elsewhere)}"
    ends = (subnet.part(cable.near), subnet.part(cable.far))
    return Miss(ends, state, wanted, f"cable {wanted}: {state}")


def _undeclared(found: Topology, switch: SwitchUnderTest) -> Iterator[Miss]:
    """Undeclared cables at ports of this switch.

    The first switch also reports those at nodes that own no declared cable.
    """
    subnet = switch.subnet
    is_first = switch.owner == subnet.owners[0]
    for end, other in found.joined.items():
        if end in subnet.joined or end.guid not in subnet.nodes:
            continue
        name = subnet.nodes[end.guid].name
        if name == switch.owner or (is_first and name not in subnet.by_owner):
            state = f"{subnet.label(end)} to {found.label(other)}"
            ends = (subnet.part(end), found.part(other))
            yield Miss(ends, state, "no cable", f"cable {state} is not declared")

"""Judge state, width and speed of the declared cables."""

from __future__ import annotations

from collections.abc import Iterator

from railgauge.core.errors import MetricMissing
from railgauge.core.model import Judgement
from railgauge.judging.links.model import Miss, Scan, SwitchUnderTest, judged
from railgauge.subnet import Cable, End, Topology
from railgauge.subnet.linkinfo import LinkPort, LinkTable, link_table
from railgauge.subnet.speeds import spelled

LINK_STATE, LINK_RATE = "link_state", "link_width_and_speed"


def judge_links(scan: Scan, switch: SwitchUnderTest) -> list[Judgement]:
    """Judge whether every declared cable is up at both ends, at its declared width and speed."""
    table, cables = link_table(scan.text), switch.cables
    if not table.ports:
        raise MetricMissing("iblinkinfo printed no port")
    down = [miss for cable in cables for miss in _down(cable, table, switch)]
    slow = [miss for cable in cables for miss in _slow(cable, table, switch)]
    count = f"{len(cables)} of {len(cables)} cables"
    state = judged(LINK_STATE, down, count, "Active/LinkUp", switch.limits)
    return state + judged(LINK_RATE, slow, count, "as declared", switch.limits)


def _port(end: End, table: LinkTable, subnet: Topology) -> LinkPort | None:
    return table.by_end.get((subnet.key_of(end), end.port))


def _down(cable: Cable, table: LinkTable, switch: SwitchUnderTest) -> Iterator[Miss]:
    """The first end of a cable that is not up, so that each cable is reported once."""
    subnet = switch.subnet
    for end in (cable.near, cable.far):
        port = _port(end, table, subnet)
        if port is None or (port.state, port.physical_state) != ("Active", "LinkUp"):
            measured = (
                "is not in the subnet" if port is None else f"{port.state}/{port.physical_state}"
            )
            other = cable.far if end == cable.near else cable.near
            ends = (subnet.part(end), subnet.part(other))
            reason = f"{subnet.label(end)} (to {subnet.label(other)}): {measured}"
            yield Miss(ends, measured, "Active/LinkUp", reason)
            return


def _slow(cable: Cable, table: LinkTable, switch: SwitchUnderTest) -> Iterator[Miss]:
    """The first end of a cable that runs at another speed than declared.

    A port that is down has no width; ``_down`` reports it.
    """
    subnet = switch.subnet
    for end in (cable.near, cable.far):
        port = _port(end, table, subnet)
        if port is None or port.width is None:
            continue
        measured = spelled(port.width, port.lane_gbps)
        if measured != cable.speed:
            other = cable.far if end == cable.near else cable.near
            ends = (subnet.part(end), subnet.part(other))
            reason = f"{subnet.label(end)} (to {subnet.label(other)}) runs at {measured}"
            yield Miss(ends, measured, cable.speed, f"{reason}, declared {cable.speed}")
            return

"""Judge the error counters of the declared cables: their values and their growth."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from railgauge.config.thresholds.model import FabricLimits
from railgauge.core.errors import Implausible, MetricMissing, NoEvidence
from railgauge.core.model import Judgement
from railgauge.core.units import format_value
from railgauge.judging.links.model import Miss, Scan, SwitchUnderTest, judged
from railgauge.subnet import Cable, End, Topology
from railgauge.subnet.errorcounters import FULL, ErrorScan, parse_ibqueryerrors
from railgauge.subnet.speeds import signalling_gbps

ERRORS, GROWTH, BIT_ERRORS = "port_error_counters", "port_error_growth", "bit_error_rate"
SYMBOL_ERRORS = "SymbolErrorCounter"


def judge_errors(scan: Scan, switch: SwitchUnderTest) -> list[Judgement]:
    """Judge whether a port counted more errors than the limit since its counters were cleared."""
    errors = _errors(scan)
    misses = []
    ends = _ends(switch)
    for end, other in ends:
        for name, value in _of(end, errors, switch.subnet).items():
            most = switch.limits.most.get(name)
            if most is not None and value > most:
                found = f"{name} {value}"
                misses.append(_counter_miss(switch, end, other, found, f"at most {most:g}"))
    words = f"{len(ends)} ports; {errors.nodes_checked} nodes were read"
    return judged(ERRORS, misses, words, _most(switch.limits), switch.limits)


def judge_growth(
    before: Scan, after: Scan, switch: SwitchUnderTest
) -> tuple[list[Judgement], list[NoEvidence]]:
    """Judge the growth of each counter, and the bit error rate, between two scans.

    Returns judgements, and an error for each port whose growth is unknown.
    """
    first, last = _errors(before), _errors(after)
    if (last.nodes_checked or 0) < (first.nodes_checked or 0):
        what = f"{last.nodes_checked} nodes were read, {first.nodes_checked} before"
        raise MetricMissing(what, remedy="see which cable is down: iblinkinfo -l")
    seconds = _seconds(before, after)
    grown: list[Miss] = []
    rates: list[Miss] = []
    errors: list[NoEvidence] = []
    for cable in switch.cables:
        for end, other in _both_ways(cable):
            then, now = (_of(end, one, switch.subnet) for one in (first, last))
            try:
                growth = _growth(then, now, switch.subnet.label(end), switch.limits)
            except NoEvidence as error:
                errors.append(error)
                continue
            grown += _grown(growth, end, other, switch, seconds)
            rates += _bit_errors(growth, (end, other), cable.speed, switch, seconds)
    return _of_growth(grown, rates, switch, seconds), errors


def _of_growth(
    grown: Sequence[Miss], rates: Sequence[Miss], switch: SwitchUnderTest, seconds: float
) -> list[Judgement]:
    words = f"{2 * len(switch.cables)} ports in {format_value(seconds, 's')}"
    judgements = judged(GROWTH, grown, words, _most(switch.limits), switch.limits)
    most = switch.limits.bit_error_rate
    if most is not None:
        judgements += judged(BIT_ERRORS, rates, words, f"at most {most:g}", switch.limits)
    return judgements


def _errors(scan: Scan) -> ErrorScan:
    found = parse_ibqueryerrors(scan.text)
    if not found.nodes_checked:
        raise MetricMissing("ibqueryerrors read no node")
    return found


def _of(end: End, errors: ErrorScan, subnet: Topology) -> Mapping[str, int]:
    """The counters of a port. The scan lists only ports that counted errors."""
    return errors.by_end.get((subnet.key_of(end), end.port), {})


def _ends(switch: SwitchUnderTest) -> list[tuple[End, End]]:
    return [ends for cable in switch.cables for ends in _both_ways(cable)]


def _both_ways(cable: Cable) -> tuple[tuple[End, End], tuple[End, End]]:
    return (cable.near, cable.far), (cable.far, cable.near)


def _growth(
    then: Mapping[str, int], now: Mapping[str, int], label: str, limits: FabricLimits
) -> dict[str, int]:
    """The growth of each counter that has a limit. Raises ``NoEvidence`` if it is unknown."""
    wanted = {*limits.most, *([SYMBOL_ERRORS] if limits.bit_error_rate is not None else [])}
    growth: dict[str, int] = {}
    for name in sorted(wanted & {*then, *now}):
        before, after = then.get(name, 0), now.get(name, 0)
        if after < before:
            raise MetricMissing(
                f"{name} of {label} went from {before} to {after}: it was cleared",
                remedy="do not clear counters while the suite runs",
            )
        if before >= FULL.get(name, math.inf):
            raise MetricMissing(
                f"{name} of {label} is at its maximum ({before}) and counts no further",
                remedy="clear the counters with ibclearerrors, then measure again",
            )
        if after > before:
            growth[name] = after - before
    return growth


def _grown(
    growth: Mapping[str, int], end: End, other: End, switch: SwitchUnderTest, seconds: float
) -> Iterator[Miss]:
    for name, count in growth.items():
        most = switch.limits.most.get(name)
        if most is not None and count > most:
            found = f"{name} grew by {count} in {format_value(seconds, 's')}"
            yield _counter_miss(switch, end, other, found, f"at most {most:g}")


def _bit_errors(
    growth: Mapping[str, int],
    ends: tuple[End, End],
    speed: str,
    switch: SwitchUnderTest,
    seconds: float,
) -> Iterator[Miss]:
    most, count = switch.limits.bit_error_rate, growth.get(SYMBOL_ERRORS, 0)
    gbps = signalling_gbps(speed)
    if most is None or not count:
        return
    if gbps is None:
        raise Implausible(f"{speed[:20]} is not a known link speed")
    bits = gbps * 1e9 * seconds
    if surely_at_least(count) / bits > most:
        hourly = count * 3600 / seconds
        counted = f"{count} symbol errors in {format_value(seconds, 's')}, {hourly:.3g} an hour"
        found = f"bit error rate {count / bits:.2g} ({counted})"
        yield _counter_miss(switch, *ends, found, f"at most {most:g}")


def surely_at_least(count: int) -> float:
    """The smallest Poisson mean that gives ``count`` or more events with a chance of 5 %.

    One error in a short time does not prove a high rate; the count proves this bound. It uses
    Wilson and Hilferty's approximation of the chi-squared quantile, accurate to 4 % from 2 events
    up.
    """
    if count < 1:
        return 0.0
    return float(count * (1 - 1 / (9 * count) - _NORMAL_95 / (3 * math.sqrt(count))) ** 3)


_NORMAL_95 = 1.6449  # standard deviations that 5 % of a normal distribution lie below


def _counter_miss(switch: SwitchUnderTest, end: End, other: End, found: str, limit: str) -> Miss:
    subnet = switch.subnet
    reason = f"{subnet.label(end)} (to {subnet.label(other)}): {found}, limit {limit}"
    return Miss((subnet.part(end), subnet.part(other)), found, limit, reason)


def _seconds(before: Scan, after: Scan) -> float:
    """The time between the starts of two scans. Raises ``Implausible`` if it is not above 0."""
    try:
        began = [
            datetime.fromisoformat(scan.began.replace("Z", "+00:00")) for scan in (before, after)
        ]
        seconds = (began[1] - began[0]).total_seconds()
    except (ValueError, TypeError):
        seconds = 0.0
    if seconds <= 0:
        raise Implausible("the time between the two scans of the counters is unknown")
    return seconds


def _most(limits: FabricLimits) -> str:
    values = sorted(set(limits.most.values()))
    return f"at most {' or '.join(f'{value:g}' for value in values)}" if values else "none"

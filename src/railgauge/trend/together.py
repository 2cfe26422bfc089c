"""Join findings that share a node and began together: one fault is one finding. Pure.

Example: a NIC of n02 lost 3 % with each of its eight GPUs. The search finds eight pairings of n02,
since none of the scopes that it searches holds just these series. They are joined to one finding of
n02 over mlx5_1.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from railgauge.trend.values import SeriesKey, TrendFinding, TrendScope

# Noise may hide a fault for a night in some series. A loss of another size is another fault.
_NIGHTS_APART = 1
_TIMES_AS_LARGE = 2.0


def joined(
    found: Iterable[TrendFinding], nights: Sequence[str], keys: Collection[SeriesKey]
) -> Iterator[TrendFinding]:
    """Yield the findings, those that began together on a node as one; ``keys`` are all series."""
    left = list(found)
    while len(group := _largest(left, nights)) > 1:
        left = [one for one in left if one not in group]
        yield _join(group, keys)
    yield from left


def _largest(found: Sequence[TrendFinding], nights: Sequence[str]) -> list[TrendFinding]:
    groups: dict[object, list[TrendFinding]] = defaultdict(list)
    for one in filter(_is_narrow, found):
        for node in one.scope.nodes:
            groups[one.verdict, one.kind, node].append(one)
    alike = (_alike(group, nights) for group in groups.values())
    return max(alike, key=len, default=[])


def _is_narrow(one: TrendFinding) -> bool:
    """Whether the scope of the finding needs a pairing or a size."""
    return bool(one.scope.pairing) or one.scope.size_bytes is not None


def _alike(group: Sequence[TrendFinding], nights: Sequence[str]) -> list[TrendFinding]:
    """The findings that began with the middle one and are about as large."""
    begun = {one: nights.index(one.since) for one in group}
    middle = sorted(group, key=lambda one: (begun[one], one.worse))[len(group) // 2]
    return [
        one
        for one in group
        if abs(begun[one] - begun[middle]) <= _NIGHTS_APART
        and 1 / _TIMES_AS_LARGE <= one.worse / middle.worse <= _TIMES_AS_LARGE
    ]


def _join(group: Sequence[TrendFinding], keys: Collection[SeriesKey]) -> TrendFinding:
    first = min(group, key=lambda one: one.since)
    series = tuple(move for one in group for move in one.series)
    scope = _common([move.key for move in series])
    return replace(
        first,
        scope=scope,
        nights=max(one.nights for one in group),
        worse=statistics.median(one.worse for one in group),
        chance=max(one.chance for one in group),
        series=series,
        of=sum(_is_in(key, scope) for key in keys),
    )


def _common(keys: Sequence[SeriesKey]) -> TrendScope:
    """What all these series share."""
    nodes = frozenset[str].intersection(*(frozenset(key.nodes) for key in keys))
    parts = frozenset[str].intersection(*(_parts(key.pairing) for key in keys))
    one = keys[0]
    return TrendScope(
        nodes=tuple(sorted(nodes)),
        subject=one.subject if len({key.subject for key in keys}) == 1 else "",
        metric=one.metric if len({key.measured for key in keys}) == 1 else "",
        pairing="-".join(part for part in one.pairing.split("-") if part in parts),
        size_bytes=one.size_bytes if len({key.size_bytes for key in keys}) == 1 else None,
    )


def _parts(pairing: str) -> frozenset[str]:
    """The GPU and the NIC of ``gpu3-mlx5_1``."""
    return frozenset(pairing.split("-")) - {""}


def _is_in(key: SeriesKey, scope: TrendScope) -> bool:
    return (
        set(scope.nodes) <= set(key.nodes)
        and scope.subject in ("", key.subject)
        and scope.metric in ("", key.metric)
        and _parts(scope.pairing) <= _parts(key.pairing)
        and scope.size_bytes in (None, key.size_bytes)
    )

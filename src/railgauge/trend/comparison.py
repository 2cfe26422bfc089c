"""Compare two runs series by series. Pure.

Two runs of one cluster are compared node by node. Of two clusters, whose nodes have nothing to do
with each other, each series of the second is compared with all places of the first at which the
same was measured: the same measurement, metric, size, pairing and number of nodes.

Example: the sign-off measured 391.5 Gb/s from mx01 to mx02 over mlx5_0, tonight it is 352.0 Gb/s,
and repeats agree within 0.1 %. Tonight reaches 0.90 of the reference, which noise does not explain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from railgauge.core.errors import BadInput
from railgauge.trend.compared import (
    AT_LEAST,
    NODES,
    RAILS,
    WORSE,
    ComparedSeries,
    Comparison,
    RunSide,
    Shared,
    Unlike,
)
from railgauge.trend.reference import Rule, ValueSeries, is_above_0, noises
from railgauge.trend.scopes import shared_scopes
from railgauge.trend.values import Rules, SeriesKey


def compare(first: RunSide, second: RunSide, at_least: float = AT_LEAST) -> Comparison:
    """Compare ``second`` with ``first``, the reference.

    A series is worse if it reaches less than ``at_least`` of the reference and noise does not
    explain that. Raises ``BadInput`` for runs that cannot be compared, or that share no series.
    """
    _refuse_unlike_runs(first, second)
    matched = NODES if _is_one_cluster(first, second) else RAILS
    ours, theirs = _by_place(first, matched), _by_place(second, matched)
    both = [place for place in theirs if place in ours]
    why = {place: _unlike(place, ours[place], theirs[place], (first, second)) for place in both}
    alike = [place for place in both if not why[place]]
    tests = sum(len(theirs[place]) for place in alike)
    if not tests:
        raise BadInput(
            "the runs share no series that can be compared",
            where=second.named,
            remedy="; ".join(sorted({text for text in why.values() if text})[:3]),
        )
    rule = Rule(noises((ours[place] for place in alike), matched), matched, at_least, tests)
    found = [rule.compared(one, ours[place]) for place in alike for one in theirs[place]]
    found.sort(key=lambda one: one.key.order)
    return Comparison(
        matched=matched,
        at_least=at_least,
        series=tuple(found),
        unlike=tuple(Unlike(one.key, text) for p, text in why.items() if text for one in theirs[p]),
        only_first=_only(ours, theirs),
        only_second=_only(theirs, ours),
        shared=tuple(_shared(found)),
        differences=tuple(_differences(first, second)),
    )


def _refuse_unlike_runs(first: RunSide, second: RunSide) -> None:
    if (first.run_id, first.fleet) == (second.run_id, second.fleet):
        raise BadInput(f"is the same run as {first.named}: {first.run_id}", where=second.named)
    for what in ("platform", "evidence"):
        one, other = getattr(first.fleet, what), getattr(second.fleet, what)
        if one != other:
            noun = "kind of evidence" if what == "evidence" else what
            raise BadInput(
                f"is of another {noun} than {first.named}: {other}, not {one}",
                where=second.named,
                remedy=f"compare runs of one {noun}",
            )


def _is_one_cluster(first: RunSide, second: RunSide) -> bool:
    """Whether a node's name means the same machine in both runs."""
    is_named = first.names_nodes and second.names_nodes
    is_one = first.fleet == second.fleet and bool(first.nodes & second.nodes)
    return is_named and is_one


# --- which series belong together ---

_Place = tuple[str, str, "int | None", str, object]
"""Measurement, metric, size, pairing, and the nodes or their number."""


_Places = dict[_Place, list[ValueSeries]]


def _by_place(side: RunSide, matched: str) -> _Places:
    found: _Places = {}
    for key, values in side.series.items():
        nodes = key.nodes if matched == NODES else len(key.nodes)
        place = (key.subject, key.metric, key.size_bytes, key.pairing, nodes)
        found.setdefault(place, []).append(ValueSeries(key, values))
    return found


def _only(these: _Places, others: _Places) -> tuple[SeriesKey, ...]:
    keys = (one.key for place, found in these.items() if place not in others for one in found)
    return tuple(sorted(keys, key=lambda key: key.order))


def _unlike(
    place: _Place,
    ours: Sequence[ValueSeries],
    theirs: Sequence[ValueSeries],
    sides: tuple[RunSide, RunSide],
) -> str:
    """Why the series of a place cannot be compared; empty if they can."""
    for name in ("unit", "better"):
        first, second = ({getattr(s.key, name) for s in found} for found in (ours, theirs))
        if first != second or len(first) > 1:
            what = {"unit": "the unit", "better": "which way is better"}[name]
            return f"{what} differs: {' and '.join(sorted(first))}, {' and '.join(sorted(second))}"
    if any(not is_above_0(value) for one in ours for value in one.values):
        return "the reference has a value that is not above 0"
    subject, _, size_bytes, *_ = place
    one, other = (dict(side.ways.get(subject, {})) for side in sides)
    if size_bytes is not None:  # a sweep over other sizes measures the same at this size
        one.pop("sizes", None)
        other.pop("sizes", None)
    odd = next((n for n in sorted({*one, *other}) if one.get(n) != other.get(n)), None)
    return f"{odd}: {one.get(odd, 'none')}, {other.get(odd, 'none')}" if odd else ""


# --- what the series share ---


def _shared(found: Sequence[ComparedSeries]) -> Iterator[Shared]:
    """The widest scopes of which most series are worse, each series in one of them."""
    left = {one.key for one in found if one.status == WORSE}
    for scope, keys in shared_scopes(one.key for one in found).items():
        worse = left.intersection(keys)
        if len(worse) > 1 and len(worse) >= Rules().shared * len(keys):
            left -= worse
            yield Shared(scope, len(worse), len(keys))


def _differences(first: RunSide, second: RunSide) -> Iterator[str]:
    for name in sorted({*first.setting, *second.setting}):
        one, other = (side.setting.get(name, "none") for side in (first, second))
        if one != other:
            yield f"{name}: {one}, {other}"
    if second.run_id[:15] < first.run_id[:15]:
        yield f"the reference is the later run: {first.run_id}"

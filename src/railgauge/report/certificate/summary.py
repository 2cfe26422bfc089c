"""The tables of a certificate: one row a measurement, one row a node. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from railgauge.core.model import GOOD, Judgement, Outcome
from railgauge.core.units import format_size, format_value, spelled
from railgauge.diagnosis import Cause
from railgauge.judging.record import ItemRecord

_NO_SIZE = -1
# The outcomes in the order in which they are listed, worst first, with their words.
_WORDS = (
    (Outcome.FAILED, "failed"),
    (Outcome.ERROR, "not decided"),
    (Outcome.FLAKY, "passed only at a second try"),
    (Outcome.BLOCKED, "blocked"),
    (Outcome.NOT_RUN, "not run"),
    (Outcome.RECORD_ONLY, "recorded only"),
)


@dataclass(frozen=True, slots=True)
class MeasuredRow:
    """A metric of a measurement over all places where it was measured.

    ``at`` is the size that the row shows: the largest. ``n`` counts its samples. ``margin`` is the
    smallest over all sizes. Values that no sample gave are the empty text.
    """

    rung: int
    subject: str
    metric: str
    result: str
    is_good: bool
    at: str = ""
    unit: str = ""
    n: int = 0
    worst: str = ""
    median: str = ""
    best: str = ""
    limit: str = ""
    ideal: str = ""
    margin: str = ""
    basis: str = ""


@dataclass(frozen=True, slots=True)
class CheckedRow:
    """A setting, a version, or a check beside a measurement, over all places."""

    subject: str
    items: int
    limit: str
    basis: str
    result: str
    is_good: bool


@dataclass(frozen=True, slots=True)
class NodeRow:
    """One node: its items by outcome, its smallest margin, and the causes that name it."""

    node: str
    passed: int
    failed: int
    undecided: int
    absent: int
    margin: str
    closest: str
    causes: str
    is_good: bool


def result(outcomes: Iterable[Outcome]) -> str:
    """Return outcomes in words: ``passed``, or ``2 of 32 failed, 4 blocked``."""
    counts = Counter(outcomes)
    every = counts.total()
    parts = [(counts[one], word) for one, word in _WORDS if counts[one]]
    if not parts:
        return "passed" if every else "not run"
    (first, what), *rest = parts
    return ", ".join([f"{first} of {every} {what}", *(f"{n} {word}" for n, word in rest)])


def _is_good(outcomes: Sequence[Outcome]) -> bool:
    return bool(outcomes) and all(one in GOOD for one in outcomes)


# --- one row a measurement ---

_Key = tuple[int, str, str]


def measured(records: Iterable[ItemRecord]) -> list[MeasuredRow]:
    """Return a row for each metric with a number, and for each measurement that gave none."""
    values: defaultdict[_Key, list[tuple[ItemRecord, Judgement]]] = defaultdict(list)
    silent: defaultdict[tuple[int, str], list[Outcome]] = defaultdict(list)
    for item in records:
        for one in filter(_is_number, item.judgements):
            values[item.rung, item.subject, one.metric].append((item, one))
        if item.rung and not item.judgements:
            silent[item.rung, item.subject].append(item.outcome)
    numbered = {key[:2] for key in values}
    keys = [*values, *((*key, "") for key in silent if key not in numbered)]
    return [_measured(key, values.get(key, []), silent[key[:2]]) for key in sorted(keys)]


def _is_number(one: Judgement) -> bool:
    return bool(one.unit) and one.worst is not None and one.unit != "count"


def _measured(
    key: _Key, made: Sequence[tuple[ItemRecord, Judgement]], silent: Sequence[Outcome]
) -> MeasuredRow:
    rung, subject, metric = key
    outcomes = [*(one.outcome for _, one in made), *silent]
    row = MeasuredRow(rung, subject, metric, result(outcomes), _is_good(outcomes))
    if not made:
        return row
    largest = max(_size(item, one) for item, one in made)
    there = [one for item, one in made if _size(item, one) == largest]
    samples = sorted(value for one in there for value in (one.values or _worst(one)))
    first, unit = there[0], there[0].unit
    low, high = (_plain(value, unit) for value in (samples[0], samples[-1]))
    worst, best = (high, low) if first.better == "lower" else (low, high)
    margins = [one.margin for _, one in made if one.margin is not None]
    ideals = {one.best for one in there if one.best is not None}
    return replace(
        row,
        at="" if largest == _NO_SIZE else format_size(largest),
        n=len(samples),
        worst=worst,
        median=_plain(median(samples), unit),
        best=best,
        limit=_alike(_without(one.limit, unit) for one in there),
        ideal=_plain(max(ideals), unit) if ideals else "",
        unit=spelled(unit),
        margin=f"{min(margins):+.1%}" if margins else "",
        basis=there[0].basis,
    )


def _plain(value: float, unit: str) -> str:
    return _without(format_value(value, unit), unit)


def _without(text: str, unit: str) -> str:
    """Return a value or a limit without its unit."""
    return text.removesuffix(f" {spelled(unit)}")


def _worst(one: Judgement) -> tuple[float, ...]:
    return () if one.worst is None else (one.worst,)


def _size(item: ItemRecord, one: Judgement) -> int:
    size = one.size_bytes if one.size_bytes is not None else item.size_bytes
    return _NO_SIZE if size is None else size


def _alike(texts: Iterable[str]) -> str:
    """The text, if all are alike; else the first, and how many others there are."""
    found = list(dict.fromkeys(texts))
    rest = len(found) - 1
    return f"{found[0]}{f' (and {rest} more)' if rest else ''}"


# --- settings, versions, checks ---


def checked(records: Iterable[ItemRecord]) -> list[CheckedRow]:
    """Return a row for each fact that was compared, and each check beside the measurements."""
    found: defaultdict[str, list[Judgement]] = defaultdict(list)
    silent: defaultdict[str, list[Outcome]] = defaultdict(list)
    for item in records:
        for one in item.judgements:
            if not _is_number(one):
                # The clock of a host is a fact, and that of a GPU is sampled beside a measurement.
                where = " (in measurements)" if item.rung else ""
                found[f"{one.metric.replace('_', ' ')}{where}"].append(one)
        if not item.judgements and not item.rung:
            silent[item.subject.replace("_", " ")].append(item.outcome)
    return [
        _checked(name, found.get(name, []), silent.get(name, []))
        for name in sorted({*found, *silent})
    ]


def _checked(name: str, made: Sequence[Judgement], silent: Sequence[Outcome]) -> CheckedRow:
    outcomes = [*(one.outcome for one in made), *silent]
    limit = _alike(one.limit for one in made) if made else ""
    basis = made[0].basis if made else ""
    return CheckedRow(name, len(outcomes), limit, basis, result(outcomes), _is_good(outcomes))


# --- one row a node ---


def nodes(
    names: Sequence[str], records: Iterable[ItemRecord], causes: Sequence[Cause]
) -> list[NodeRow]:
    """Return a row for each node; an item of several nodes counts at each of them."""
    of: defaultdict[str, list[ItemRecord]] = defaultdict(list)
    for item in records:
        for node in item.nodes:
            of[node].append(item)
    named = _causes(causes)
    return [_node(name, of[name], named.get(name, [])) for name in names]


def _causes(causes: Sequence[Cause]) -> Mapping[str, list[str]]:
    from railgauge.core.naming import unfolded  # noqa: PLC0415 - imports ClusterShell

    found: defaultdict[str, list[str]] = defaultdict(list)
    for number, cause in enumerate(causes, 1):
        for name in dict.fromkeys((*unfolded(cause.where.node), cause.where.peer)):
            found[name].append(f"{number}. {cause.cause}")
    return found


def _node(name: str, items: Sequence[ItemRecord], causes: Sequence[str]) -> NodeRow:
    counts = Counter(item.outcome for item in items)
    margins = list(_margins(items))
    margin, closest = min(margins) if margins else (0.0, "")
    good = sum(counts[one] for one in GOOD)
    undecided = sum(counts[o] for o in (Outcome.ERROR, Outcome.FLAKY, Outcome.RECORD_ONLY))
    return NodeRow(
        node=name,
        passed=good,
        failed=counts[Outcome.FAILED],
        undecided=undecided,
        absent=counts[Outcome.BLOCKED] + counts[Outcome.NOT_RUN],
        margin=f"{margin:+.1%}" if margins else "",
        closest=closest,
        causes=", ".join(causes),
        is_good=good == len(items) > 0,
    )


def _margins(items: Iterable[ItemRecord]) -> Iterator[tuple[float, str]]:
    for item in items:
        for one in item.judgements:
            if one.margin is not None and _is_number(one):
                yield one.margin, item.subject

"""What a run measured, as readings: figures as a share of what healthy parts reach. Pure.

An *execution* is one repeat of a case, of the plan or added to it; a fault acts on all of it or on
none of it. A *reading* is one figure of an execution. Every repeat counts, whether it missed its
limit or not. Metrics of one execution with the same form and message size show the same thing: they
are one reading.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from railgauge.config.thresholds.model import Platform
from railgauge.core.model import Case, Judgement, Outcome
from railgauge.core.question import LIMITS
from railgauge.core.terms import Rung
from railgauge.diagnosis.model import RunResults
from railgauge.diagnosis.slow.constants import LATENCY_NOISE, NOISE
from railgauge.diagnosis.slow.forms import FigureForms, Measurable
from railgauge.diagnosis.slow.healthy import Healthy, MeasuredAt, MeasuredValue, healthy
from railgauge.diagnosis.slow.known import KnownCause
from railgauge.diagnosis.slow.places import Places
from railgauge.tools import is_of_each_gpu
from railgauge.tools.form import ClusterPart, FigureForm, Layout
from railgauge.tools.metric import HIGHER, LOWER

_MICROSECONDS, _COUNT = "us", "count"
LATER = math.inf
"""When an execution began of which that is not known: those that were added to the run."""
PeerGroup = tuple[object, ...]
"""What figures have in common that reach the same if all is healthy."""


@dataclass(frozen=True, slots=True)
class Shown:
    """An item whose figure a reading is; ``least`` is the share with which it keeps its limit."""

    item: str
    failed: bool
    least: float


@dataclass(frozen=True, slots=True)
class ShareReading:
    """The share is between ``low`` and ``high``, which are equal if it is known what healthy parts
    reach; all three are logarithms. ``shown`` are the items that it stands for."""

    places: Places
    size_bytes: int | None
    low: float
    high: float
    sigma: float
    shown: tuple[Shown, ...]


@dataclass(frozen=True, slots=True)
class Execution:
    number: int
    case: Case
    began: float
    added: bool
    readings: tuple[ShareReading, ...]
    parts: frozenset[int]


@dataclass(slots=True)
class _Figure:
    """A figure before it is known what healthy parts reach."""

    run: tuple[Case, int, bool]
    size: int | None
    placement: str
    form: FigureForm
    group: PeerGroup
    value: MeasuredValue
    sigma: float
    shown: Shown


@dataclass(frozen=True, slots=True)
class RunReadings:
    """All readings of a run. ``parts`` are those that some figure depends on, by number.

    ``of_part`` are the numbers of the executions that use each part. ``planned`` is all that the
    run measures.
    ``measured`` are all groups, ``known`` those of which it is known what healthy parts reach.
    """

    forms: FigureForms
    nodes: tuple[str, ...]
    parts: tuple[ClusterPart, ...]
    number: Mapping[ClusterPart, int]
    executions: tuple[Execution, ...]
    of_part: tuple[tuple[int, ...], ...]
    planned: tuple[Measurable, ...]
    known: frozenset[PeerGroup]
    measured: frozenset[PeerGroup]

    @property
    def platform(self) -> Platform:
        return self.forms.platform

    def using(self, parts: Iterable[int]) -> set[int]:
        """The numbers of the executions that use any of these parts."""
        return {number for part in parts for number in self.of_part[part]}

    def is_known(self, one: Measurable) -> bool:
        """Whether it is known what healthy parts reach in this measurement."""
        return _group(self.platform, one) in self.known

    def has_like(self, one: Measurable) -> bool:
        """Whether the same was measured, on whatever nodes."""
        return _group(self.platform, one) in self.measured


def evidence(results: RunResults, known: Collection[KnownCause] = ()) -> RunReadings:
    """The readings of the run's items, and of what was measured beside them.

    ``known`` are the causes that something else shows.
    """
    reader = _Reader(FigureForms(results.platform, Layout.of(results.platform), known))
    for record in results.records.values():
        question = next((one for one in record.questions if one.case and one.kind == LIMITS), None)
        if question is None or question.case is None or record.rung == Rung.PREFLIGHT:
            continue
        what = Measurable(question.case, question.size_bytes, question.placement or "")
        reader.planned[what] = record.id
        starts = [_seconds(text) for text in results.starts(question.case)]
        reader.take(what, record.judgements, record.id, starts, added=False)
    for one in results.confirmed:
        question = one.asked.question
        if question.case is not None and question.kind == LIMITS and one.judgements:
            what = Measurable(question.case, question.size_bytes, question.placement or "")
            reader.take(what, one.judgements, reader.item(what), (), added=True)
    return reader.evidence([node.name for node in results.cluster.nodes])


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp() if text else LATER


class _Reader:
    def __init__(self, forms: FigureForms) -> None:
        self._forms = forms
        self._figures: list[_Figure] = []
        self._began: dict[tuple[Case, int, bool], float] = {}
        self.planned: dict[Measurable, str] = {}

    def item(self, what: Measurable) -> str:
        """The item of the plan that an added measurement makes again; empty if there is none."""
        same = (
            item
            for one, item in self.planned.items()
            if (one.case.key, one.size_bytes, one.placement)
            == (what.case.key, what.size_bytes, what.placement)
        )
        return next(same, "")

    def take(
        self,
        what: Measurable,
        judgements: Sequence[Judgement],
        item: str,
        starts: Sequence[float],
        *,
        added: bool,
    ) -> None:
        place = frozenset(what.case.nodes), str(what.case.pairing)
        for judged in judgements:
            if judged.better not in (HIGHER, LOWER) or judged.unit == _COUNT:
                continue
            known = self._forms.of(what, judged.metric)
            if known is None:
                continue
            for repeat, values in enumerate(_by_repeat(judged.values, what.case.repeats)):
                run = (what.case, repeat, added)
                self._began[run] = starts[repeat] if repeat < len(starts) else LATER
                value = _value(place, judged, median(values))
                if value is None:
                    continue
                short = judged.unit == _MICROSECONDS and what.case.pairing is not None
                self._figures.append(
                    _Figure(
                        run,
                        what.size_bytes,
                        what.placement,
                        known,
                        (*_group(self._forms.platform, what), judged.metric, what.size_bytes),
                        value,
                        LATENCY_NOISE if short else NOISE,
                        Shown(item, judged.outcome is Outcome.FAILED, value.floor),
                    )
                )

    def evidence(self, nodes: Sequence[str]) -> RunReadings:
        groups: dict[PeerGroup, list[_Figure]] = defaultdict(list)
        for one in self._figures:
            groups[one.group].append(one)
        reach = self._reach(groups, nodes)
        parts = sorted({p for one in self._figures for s in one.form.stages for c in s for p in c})
        number = {part: n for n, part in enumerate(parts)}
        runs = self._executions(reach, number)
        of_part: list[list[int]] = [[] for _ in parts]
        for run in runs:
            for part in run.parts:
                of_part[part].append(run.number)
        return RunReadings(
            self._forms,
            tuple(nodes),
            tuple(parts),
            number,
            tuple(runs),
            tuple(map(tuple, of_part)),
            tuple(self.planned),
            frozenset(group[:-2] for group, one in reach.items() if one.is_known),
            frozenset(group[:-2] for group in reach),
        )

    def _reach(
        self, groups: Mapping[PeerGroup, Sequence[_Figure]], nodes: Collection[str]
    ) -> dict[PeerGroup, Healthy]:
        """What healthy parts reach in each group.

        Where that is not known of a link or GPU, it is about what the others of the same limit do.
        """
        doubted = {one.value.place for one in self._figures if one.shown.failed}
        kept: dict[PeerGroup, list[float]] = defaultdict(list)
        for one in self._figures:
            if not one.shown.failed:
                kept[_any_placement(one)].append(one.value.value)
        found: dict[PeerGroup, Healthy] = {}
        for group, some in groups.items():
            found[group] = healthy([one.value for one in some], doubted, nodes, some[0].sigma)
            beside = kept[_any_placement(some[0])]
            has_peers = len(beside) > len(some) or _are_of_each_gpu(some, beside)
            if not found[group].is_known and has_peers:
                found[group] = Healthy(min(beside), max(beside), found[group].sigma)
        return found

    def _executions(
        self, reach: Mapping[PeerGroup, Healthy], number: Mapping[ClusterPart, int]
    ) -> list[Execution]:
        by_run: dict[tuple[Case, int, bool], dict[tuple[int, int | None], list[_Figure]]] = {}
        forms: dict[int, Places] = {}
        for one in self._figures:
            if id(one.form) not in forms:
                forms[id(one.form)] = Places.of(one.form, number)
            alike = by_run.setdefault(one.run, {})
            alike.setdefault((id(one.form), one.size), []).append(one)
        found: list[Execution] = []
        for run, alike in by_run.items():
            readings = tuple(_reading(forms[key[0]], some, reach) for key, some in alike.items())
            parts = frozenset(part for reading in readings for part in reading.places.at)
            case, _, added = run
            found.append(Execution(len(found), case, self._began[run], added, readings, parts))
        return found


def _reading(
    places: Places, some: Sequence[_Figure], reach: Mapping[PeerGroup, Healthy]
) -> ShareReading:
    """The figures of one execution that show the same thing: known shares before bounds."""
    shares = [reach[one.group].share(one.value, failed=one.shown.failed) for one in some]
    known = [share for share in shares if share.low == share.high]
    if known:
        low = high = median(share.low for share in known)
    else:
        low = max(share.low for share in shares)
        high = max(low, min(share.high for share in shares))
    shown = tuple(
        Shown(one.shown.item, one.shown.failed, share.least)
        for one, share in zip(some, shares, strict=True)
    )
    sigma = max(reach[one.group].sigma for one in some)
    return ShareReading(places, some[0].size, low, high, sigma, shown)


def _by_repeat(values: Sequence[float], repeats: int) -> Iterator[Sequence[float]]:
    """The samples of each repeat; of the whole, if they cannot be distinguished."""
    each = len(values) // repeats if repeats and len(values) % repeats == 0 else len(values)
    for start in range(0, len(values), max(each, 1)):
        yield values[start : start + each]


def _value(place: MeasuredAt, judged: Judgement, value: float) -> MeasuredValue | None:
    """The value with higher as better; ``None`` for one that no other can be compared with."""
    if judged.better == HIGHER and judged.floor:
        return MeasuredValue(place, max(value, 0.0), judged.floor, judged.best or 0.0)
    if value <= 0:
        return None
    if judged.better == HIGHER:
        return MeasuredValue(place, value, judged.floor or 0.0, judged.best or 0.0)
    return MeasuredValue(place, 1 / value, 1 / judged.ceiling if judged.ceiling else 0.0, 0.0)


def _are_of_each_gpu(some: Sequence[_Figure], kept: Sequence[float]) -> bool:
    """Whether these are figures of single GPUs, most of which keep their limits."""
    placements = {one.placement for one in some}
    return len(placements) > 1 and len(some) < 2 * len(kept)


def _any_placement(one: _Figure) -> PeerGroup:
    """The group without the link or GPU; those of one limit reach about the same."""
    measurement, distance, model, _, nodes, *rest = one.group
    return measurement, distance, model, nodes, *rest, one.value.floor


def _group(platform: Platform, one: Measurable) -> PeerGroup:
    """Measurements that reach the same if all is healthy."""
    case, distance, model = one.case, "", ""
    if case.pairing is not None:
        distance, model = case.pairing.distance, platform.nic(case.pairing.nic).model
    tool = platform.measurements[case.measurement].tool
    placement = "" if is_of_each_gpu(tool) else one.placement
    return case.measurement, distance, model, placement, len(case.nodes)

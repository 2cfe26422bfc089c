"""All rounds of a soak, judged from their evidence; recorded judgements are not used. Pure.

Example: of seven rounds the fourth has one failed item. The items of the soak are the passed items
of each round (seven items), the failed one, the declared time, and the drift.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta

from railgauge.core.model import Judgement, Outcome
from railgauge.diagnosis import RunResults
from railgauge.diagnosis.model import SoakResults, SoakRound
from railgauge.judging.record import ItemRecord
from railgauge.planning.soak import FOLDER, SoakPlan, SoakRounds, folder_of
from railgauge.run.soak import drift, load
from railgauge.run.soak.causes import SoakCauses, lasting, of_drift
from railgauge.run.soak.load import Stretch
from railgauge.run.soak.proof import Soaked, in_words, proof
from railgauge.run.soak.rounds import Round, RoundEvidence
from railgauge.trend.values import Night
from railgauge.verdict.soaked import soak_item, time_item

EvidenceOfRound = Callable[[int], RoundEvidence]
"""The evidence of a round, by its number."""

_EVENTS = frozenset({Outcome.FAILED, Outcome.ERROR})
_MOST_STRETCHES = 8
_NO_PAUSE = timedelta(0)


@dataclass(slots=True)
class _Rounds:
    """What is kept of the rounds so far: little of a round that passed."""

    rounds: list[SoakRound] = field(default_factory=list)
    items: list[ItemRecord] = field(default_factory=list)
    stretches: tuple[Stretch, ...] = ()
    of_nodes: list[tuple[Stretch, tuple[str, ...]]] = field(default_factory=list)
    nights: list[Night] = field(default_factory=list)
    causes: SoakCauses = field(default_factory=SoakCauses)
    events: int = 0

    def take(self, judged: Round, found: Sequence[Stretch]) -> None:
        of = len(judged.units.units)
        began = min(found).began if found else None
        ended = max(one.ended for one in found) if found else None
        self.causes.began = self.causes.began or began
        self.stretches = load.stretches((*self.stretches, *found))
        is_whole = not judged.missing
        others = [one for one in judged.records.values() if _stands_alone(one, is_whole=is_whole)]
        passed = [one for one in judged.records.values() if one.outcome is Outcome.PASSED]
        self.items += [_kept(one) for one in others]
        self.events += any(one.outcome in _EVENTS for one in others)
        self.rounds.append(
            SoakRound(
                judged.number,
                _shown(began),
                _shown(ended),
                of - len(judged.missing),
                of,
                len(passed),
                len(others),
            )
        )
        if is_whole:
            self.nights.append(drift.night_of(judged.number, judged.records.values()))
        if others:
            self.causes.take(judged, began)


def _stands_alone(record: ItemRecord, *, is_whole: bool) -> bool:
    """Whether an item is kept by itself; a round that was cut short may lack samples."""
    if not is_whole and record.outcome is Outcome.ERROR and not record.ways:
        return False
    return record.outcome is not Outcome.PASSED


def _kept(record: ItemRecord) -> ItemRecord:
    """The item without its questions, which belong to the evidence of its round."""
    return replace(record, questions=(), ways=())


def _shown(moment: datetime | None) -> str:
    return moment.isoformat(timespec="milliseconds") if moment else ""


def judged(
    rounds: SoakRounds, count: int, base: RunResults, evidence: EvidenceOfRound
) -> SoakResults:
    """Judge ``count`` rounds; ``base`` are the results of the ladder before them."""
    found = _Rounds()
    for number in range(1, count + 1):
        kept = evidence(number)
        one = Round(rounds, number, base, kept)
        one.judge()
        stretches: list[Stretch] = []
        for each in one.units.cases_of_round:
            own = load.stretches(load.of_case(kept.kept(each.case)), _NO_PAUSE)
            found.of_nodes += [(stretch, each.case.nodes) for stretch in own]
            stretches += own
        found.take(one, load.stretches(stretches))
    return _results(rounds, base, found)


def _results(rounds: SoakRounds, base: RunResults, found: _Rounds) -> SoakResults:
    names = tuple(node.name for node in base.cluster.nodes)
    soak, whole = rounds.soak, [one for one in found.rounds if one.is_whole]
    soaked_s = load.seconds(found.stretches)
    soaked = Soaked(soaked_s, len(names), load.of_nodes(found.of_nodes))
    trend = drift.trend_of(found.nights)
    of_time = _time(soak, soaked_s, found, names)
    of_drift_ = soak_item(
        f"{FOLDER}/drift::drift", "No measurement slows down during the soak.", names
    )
    of_rounds = [_round(one, names) for one in found.rounds if one.passed or not one.is_whole]
    last = [of_time]
    causes = list(found.causes.found(len(found.rounds)))
    if trend is not None:
        last.append(_judged(of_drift_, drift.judgement(trend)))
        causes += of_drift(trend, of_drift_.id)
    return SoakResults(
        (*of_rounds, *found.items, *last),
        tuple(causes),
        tuple(found.rounds),
        {
            "asked": soak.asked,
            "seed": soak.seed,
            "rounds": [asdict(one) for one in found.rounds],
            "whole_rounds": len(whole),
            "soaked_s": round(soaked_s, 3),
            "is_reached": soak.is_reached(soaked_s, len(whole)),
            "stretches": [[_shown(one.began), _shown(one.ended)] for one in found.stretches],
            **proof(soak, soaked, found.events),
        },
        tuple(_notes(soak, soaked, found, has_trend=trend is not None)),
    )


# --- the items of a soak itself ---


def _judged(item: ItemRecord, judgement: Judgement) -> ItemRecord:
    return replace(
        item,
        outcome=judgement.outcome,
        judgements=(judgement,),
        reason=judgement.reason,
        by_evidence=True,
    )


def _time(soak: SoakPlan, soaked_s: float, found: _Rounds, nodes: tuple[str, ...]) -> ItemRecord:
    """The required check of the soak: its time or number of rounds; less is *not run*."""
    item = time_item(soak, nodes)
    whole = sum(one.is_whole for one in found.rounds)
    measured = f"{lasting(soaked_s)} in {_rounds(whole, 'whole ')}"
    if not soak.is_reached(soaked_s, whole):
        why = f"{measured}, not {soak.asked}: --resume carries it on"
        return replace(item, outcome=Outcome.NOT_RUN, reason=why)
    basis = f"site: --soak {soak.asked}"
    return _judged(item, Judgement("soaked", Outcome.PASSED, measured, f">= {soak.asked}", basis))


def _round(one: SoakRound, nodes: tuple[str, ...]) -> ItemRecord:
    """The passed items of a round as one; a round that is not whole counts as not run."""
    title = f"Round {one.number} of the soak: every item that is not listed by itself passes."
    item = soak_item(f"{folder_of(one.number)}/passed::round", title, nodes)
    if not one.is_whole:
        why = f"{one.measured} of {one.of} measurements of the round were made"
        return replace(item, outcome=Outcome.NOT_RUN, reason=why)
    measured = f"{one.passed} items of {one.of} measurements, from {one.began[:19]}"
    limit, basis = (
        "each within its own limit",
        "site: the platform file's limits, as for the ladder",
    )
    return _judged(item, Judgement("passed items", Outcome.PASSED, measured, limit, basis))


# --- in words ---


def _rounds(count: int, which: str = "") -> str:
    return f"{count} {which}round{'' if count == 1 else 's'}"


def _notes(soak: SoakPlan, soaked: Soaked, found: _Rounds, *, has_trend: bool) -> Iterator[str]:
    rounds = found.rounds
    yield f"soak: {lasting(soaked.seconds)} under load in {_rounds(len(rounds))}, seed {soak.seed}"
    if len(found.stretches) > 1:
        shown = ", ".join(map(str, found.stretches[:_MOST_STRETCHES]))
        rest = len(found.stretches) - _MOST_STRETCHES
        yield f"soak: its hours are {shown}{f' and {rest} more' if rest > 0 else ''}"
    for line in in_words(soak, soaked, found.events) if soaked.seconds else ():
        yield f"soak: {line}"
    if not has_trend:
        yield (
            f"soak: drift is not judged, because it takes {drift.FEWEST_ROUNDS} whole rounds and"
            f" the soak has {len(found.nights)}"
        )

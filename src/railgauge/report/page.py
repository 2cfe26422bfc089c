"""The first screen of the HTML report: verdict, causes with remedies, coverage, identity."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from railgauge.core.model import Outcome
from railgauge.core.terms import Rung, Verdict
from railgauge.diagnosis import Cause
from railgauge.judging.record import ItemRecord
from railgauge.report import soak
from railgauge.report.causes import SEEN_IN, about, leading, name_of, unexplained
from railgauge.report.certificate.certified import CertifiedRun
from railgauge.run.prepare import JOURNAL, SettingChange, from_journal
from railgauge.run.settings import RunSettings
from railgauge.run.store import Store
from railgauge.verdict.counts import RunVerdict, failure_groups, left_out, worst_measurements
from railgauge.verdict.deviations import DeviationEffect

_SYMBOLS = {
    Verdict.ACCEPTED: "\u2713",
    Verdict.WITH_DEVIATIONS: "!",
    Verdict.REJECTED: "\u2717",
    Verdict.INCOMPLETE: "?",
    Verdict.QUALIFIED: "\u2713",
    Verdict.QUALIFIED_WITH_DEVIATIONS: "!",
    Verdict.NOT_QUALIFIED: "\u2717",
}
_MOST = 20
# These labels come first, because a phone shows only the first lines.
_FIRST = {"why": 0, "do": 1}
_SURE = {
    "certain": "shown by a fact or a counter",
    "likely": "shown by the pattern of the measurements",
    "open": "not decided",
}


@dataclass(frozen=True, slots=True)
class _Card:
    """A root cause: where it is, how certain it is, and its labelled lines.

    A line is a text and the anchor of the row that it names, empty if it names none.
    """

    head: str
    sure: str
    lines: Sequence[tuple[str, Sequence[tuple[str, str]]]]


def first_screen(
    certified: CertifiedRun,
    settings: RunSettings,
    store: Store,
    drawn: Collection[int],
    rows: Mapping[str, str],
) -> dict[str, object]:
    """Return the values of the template: verdict, causes, coverage, identity, smallest margins.

    ``drawn`` are the rungs that have plots further down, ``rows`` the anchors of items.
    """
    verdict, records = certified.verdict, certified.records
    # The lowest rung comes first: its problems explain those of the rungs above.
    wrong = failure_groups(unexplained(verdict, records))
    return {
        "symbol": _SYMBOLS[verdict.verdict],
        "headline": _headline(verdict),
        "deviations": [_deviation(one) for one in verdict.deviations],
        **_causes(verdict.causes, rows),
        "failures": [
            (t.what, t.ids, rows.get(t.items[0], ""), t.reason, t.remedy) for t in wrong[:_MOST]
        ],
        "more_failures": max(0, len(wrong) - _MOST),
        "not_run": _not_run(verdict, records),
        "unknown": [(one.place, ", ".join(one.what), one.why) for one in verdict.unknown],
        "identity": _identity(verdict, settings),
        "soak": soak.rows(verdict.soak),
        "drawn": [(rung, Rung(rung).folder) for rung in sorted(drawn)],
        "changes": _changes(store),
        "tightest": _tightest(records, rows),
    }


def _causes(causes: Sequence[Cause], rows: Mapping[str, str]) -> dict[str, object]:
    """A card for each of the first causes, and the number of the others."""
    cards = [_card(cause, rows) for cause in leading(causes, _MOST)]
    return {"causes": cards, "more_causes": max(0, len(causes) - _MOST)}


def _headline(verdict: RunVerdict) -> str:
    counts = verdict.counts
    return (
        f"{verdict.heading}: asserted {counts.asserted} of {counts.planned}"
        f"{f', {counts.not_run} not run' if counts.not_run else ''}"
        f"{f' ({verdict.scope})' if verdict.scope else ''}"
        f"{f', {verdict.reservation}' if verdict.reservation else ''}"
    )


def _identity(verdict: RunVerdict, settings: RunSettings) -> dict[str, str]:
    cluster, counts = settings.declared, verdict.counts
    rows = {
        "Cluster": f"{cluster.name}: {len(cluster.nodes)} nodes over {cluster.transport}",
        "Platform": f"{settings.platform.name}: {settings.platform.title}",
        "Level": f"{verdict.level}, {len(settings.level.pairs)} node pairs",
        "Asserted on": _coverage(verdict),
        "Run": verdict.run_id,
        "Items": ", ".join(
            f"{number} {outcome}"
            for outcome in Outcome
            if (number := getattr(counts, str(outcome)))
        ).replace("_", " "),
    }
    if verdict.excluded:
        rows["Not tested"] = verdict.excluded
    if verdict.notes:
        rows["Noted"] = "; ".join(verdict.notes)
    return rows


def _card(cause: Cause, rows: Mapping[str, str]) -> _Card:
    ordered = sorted(about(cause), key=lambda row: _FIRST.get(row[0], len(_FIRST)))
    seen = {name_of(item): rows.get(item, "") for item in cause.evidence}
    linked = [
        (label, [(line, seen.get(line, "") if label == SEEN_IN else "") for line in lines])
        for label, lines in ordered
    ]
    return _Card(f"{cause.cause}: {cause.where}", _SURE[cause.confidence], linked)


def _deviation(one: DeviationEffect) -> tuple[str, ...]:
    accepted = one.deviation
    return (
        accepted.subject,
        accepted.what,
        accepted.until,
        one.effect,
        accepted.reason,
        accepted.who,
    )


def _not_run(verdict: RunVerdict, records: Mapping[str, ItemRecord]) -> list[tuple[str, str]]:
    """Return the required subjects that did not run, each with its number of items."""
    if not verdict.counts.not_run:
        return []
    return [(what, f"{number}") for what, number in left_out(records.values())]


def _changes(store: Store) -> list[SettingChange] | None:
    """Return what --prepare changed on the nodes; ``None`` for a run without --prepare."""
    if not (store.folder / JOURNAL).exists():
        return None
    return from_journal(store.read_json(JOURNAL))


def _tightest(records: Mapping[str, ItemRecord], rows: Mapping[str, str]) -> list[tuple[str, ...]]:
    return [
        (
            f"{w.subject} {w.metric} {w.where}", rows[w.id], f"{w.margin:+.1%}", w.measured,
            w.limit, w.ceiling,
        )
        for w in worst_measurements(records.values())
    ]  # fmt: skip


def _coverage(verdict: RunVerdict) -> str:
    """Return how many of the declared nodes, pairs and rails were asserted."""
    parts = verdict.coverage.items()
    words = (f"{p['tested']} of {p['declared']} {name.replace('_', ' ')}" for name, p in parts)
    return ", ".join(words)

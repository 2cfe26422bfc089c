"""The first screen of the HTML report: verdict, causes with remedies, coverage, identity."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from html import escape
from typing import Any

from railgauge.core.model import Outcome
from railgauge.core.terms import Rung, Verdict
from railgauge.diagnosis import Cause
from railgauge.judging.record import ItemRecord
from railgauge.judging.stamp import Evidence
from railgauge.report.causes import about, unexplained
from railgauge.run.prepare import JOURNAL, from_journal
from railgauge.verdict.counts import RunVerdict, failure_groups, left_out, worst_measurements

GOOD = (Outcome.PASSED, Outcome.MARGINAL)


def first_screen(
    verdict: RunVerdict, records: Mapping[str, ItemRecord], context: Any, drawn: Collection[int]
) -> str:
    """Verdict, evidence, causes, coverage, identity and the tightest margins.

    ``drawn`` are the rungs that have plots further down.
    """
    parts = (
        _banner(verdict),
        _causes(verdict.causes),
        _troubles(unexplained(verdict, records)),
        _not_run(verdict, records),
        _identity(verdict, context),
        _ways(drawn),
        _changes(context),
        _tightest(records),
    )
    return "".join(parts)


def _ways(drawn: Collection[int]) -> str:
    """Where the plots and the rows are."""
    rungs = [f'<a href="#rung-{r}">plots of rung {r}: {Rung(r).folder}</a>' for r in sorted(drawn)]
    return f"<nav>{' '.join([*rungs, _ROWS])}</nav>"


_ROWS = '<a href="#rows">all rows</a>'
_SYMBOLS = {Verdict.ACCEPTED: "&#10003;", Verdict.REJECTED: "&#10007;", Verdict.INCOMPLETE: "?"}


def _banner(verdict: RunVerdict) -> str:
    counts = verdict.counts
    text = (
        f"{_SYMBOLS[verdict.verdict]} {verdict.verdict.upper()}: "
        f"asserted {counts.asserted} of {counts.planned}"
        f"{f', {counts.not_run} not run' if counts.not_run else ''}"
        f"{f' ({escape(verdict.scope)})' if verdict.scope else ''}"
    )
    banner = f'<div class="verdict {verdict.verdict}">{text}</div>'
    if verdict.evidence == Evidence.HARDWARE:
        return banner
    return banner + (
        f'<div class="simulated">{verdict.evidence.upper()} evidence: '
        "no hardware was measured in this run.</div>"
    )


def _identity(verdict: RunVerdict, context: Any) -> str:
    cluster, counts = context.declared, verdict.counts
    rows = {
        "Cluster": f"{cluster.name}: {len(cluster.nodes)} nodes over {cluster.transport}",
        "Platform": f"{context.platform.name}: {context.platform.title}",
        "Level": f"{verdict.level}, {len(context.level.pairs)} node pairs",
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
    said = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in rows.items())
    return f"<h2>What was asserted</h2><dl>{said}</dl>"


def _causes(causes: Sequence[Cause]) -> str:
    """A card for each root cause: where, why, how far the ladder holds, and what to do."""
    if not causes:
        return ""
    more = f"<p>{len(causes) - _MOST} more in verdict.json.</p>" if len(causes) > _MOST else ""
    cards = "".join(_card(number, cause) for number, cause in enumerate(causes[:_MOST], 1))
    return f"<h2>{'Cause' if len(causes) == 1 else 'Causes'}</h2>{cards}{more}"


def _card(number: int, cause: Cause) -> str:
    sure = f"<small>{_SURE[cause.confidence]}</small>"
    head = f"{number}. {escape(cause.cause)}: {escape(str(cause.where))} {sure}"
    told = sorted(about(cause), key=lambda row: _FIRST.get(row[0], len(_FIRST)))
    rows = "".join(f"<dt>{escape(label)}</dt><dd>{_lines(said)}</dd>" for label, said in told)
    return f'<div class="cause"><h3>{head}</h3><dl>{rows}</dl></div>'


# On a phone the rest is a screen further down.
_FIRST = {"why": 0, "do": 1}
_SURE = {
    "certain": "a fact or a counter says so",
    "likely": "the pattern of the measurements says so",
    "open": "not decided",
}


def _lines(said: Sequence[str]) -> str:
    return "<br>".join(map(escape, said))


def _troubles(records: Sequence[ItemRecord]) -> str:
    """What went wrong on the lowest rung comes first: it explains what stands above it."""
    found = failure_groups(records)
    if not found:
        return ""
    rows = [
        [escape(t.what), escape(t.ids), escape(t.reason), escape(t.remedy)] for t in found[:_MOST]
    ]
    more = f"<p>{len(found) - _MOST} more in the table below.</p>" if len(found) > _MOST else ""
    head = ("What", "Where", "Why", "What to do")
    return f"<h2>What went wrong</h2>{_table(head, rows)}{more}"


_MOST = 20


def _not_run(verdict: RunVerdict, records: Mapping[str, ItemRecord]) -> str:
    """What the level demands and did not run."""
    counts = verdict.counts
    if not counts.not_run:
        return ""
    rows = [[escape(what), f"{number}"] for what, number in left_out(records.values())]
    said = (
        f"Level {escape(verdict.level)} demands {counts.planned} items; {counts.ran} of them ran. "
        "Nothing is known of the others."
    )
    return f"<h2>Not run</h2><p>{said}</p>{_table(('What', 'Items'), rows)}"


def _changes(context: Any) -> str:
    """What --prepare changed on the nodes, and whether it was put back."""
    if not (context.store.folder / JOURNAL).exists():
        return ""
    rows = [
        [
            escape(change.node),
            escape(change.step),
            escape(f"{change.before} -> {change.after}"),
            "yes" if change.undone else "<b>NO</b>",
        ]
        for change in from_journal(context.store.read_json(JOURNAL))
    ]
    head = ("Node", "Setting", "Change", "Undone")
    return f"<h2>Changed by --prepare</h2>{_table(head, rows)}"


def _tightest(records: Mapping[str, ItemRecord]) -> str:
    lines = worst_measurements(records.values())
    if not lines:
        return ""
    rows = [
        [
            f"{w.margin:+.1%}",
            escape(w.measured),
            escape(w.limit),
            escape(w.ceiling),
            escape(f"{w.subject} {w.where}"),
        ]
        for w in lines
    ]
    return f"<h2>Closest to their limits</h2>{_table(_TIGHTEST, rows)}"


_TIGHTEST = ("Margin", "Measured", "Limit", "Ceiling", "What")


def _coverage(verdict: RunVerdict) -> str:
    """How much of what is declared was asserted."""
    parts = verdict.coverage.items()
    words = (f"{p['tested']} of {p['declared']} {name.replace('_', ' ')}" for name, p in parts)
    return ", ".join(words)


def absent(verdict: RunVerdict) -> str:
    """Tests that this platform does not have, and why."""
    rows = [[escape(name), escape(why)] for name, why in sorted(verdict.not_applicable.items())]
    return f"<h2>Not applicable here</h2>{_table(('Test', 'Why'), rows)}" if rows else ""


def bases(numbered: Mapping[str, int]) -> str:
    """Where every limit of the rows comes from."""
    rows = [
        [f'<span id="basis-{number}">[{number}]</span>', escape(basis)]
        for basis, number in numbered.items()
    ]
    return f"<h2>Bases of the limits</h2>{_table(('', 'Basis'), rows)}" if rows else ""


def _table(head: tuple[str, ...], rows: list[list[str]]) -> str:
    top = "".join(f"<th>{name}</th>" for name in head)
    body = "".join(f"<tr>{''.join(map(_td, row))}</tr>" for row in rows)
    return (
        f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
    )


_SHORT = 28


def _td(cell: str) -> str:
    """A number with its unit is not broken over two lines."""
    return f'<td class="short">{cell}</td>' if len(cell) <= _SHORT else f"<td>{cell}</td>"

"""All items of a run as rows of ``report.html``, in groups that open and close. Pure.

A group is a measurement or a check: what did not pass, and what passed. The heading of a group says
how many rows it has, so a closed group still shows its size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from railgauge.core.model import GOOD, Judgement, Outcome
from railgauge.core.units import format_value
from railgauge.judging.record import ItemRecord
from railgauge.report.certificate import summary
from railgauge.report.lines import ReportLines
from railgauge.report.plots.plot import worst_judged

# Groups of what did not pass are open, lowest rung first, until they show this many rows.
MOST_OPEN = 150


@dataclass(frozen=True, slots=True)
class ItemRow:
    """An item. ``anchor`` names it in links; ``nodes`` are indices into the list of nodes.

    ``case`` is the anchor of its command and output, empty if there is none on the page.
    """

    anchor: str
    name: str
    outcome: str
    is_good: bool
    measured: Sequence[str]
    limit: Sequence[str]
    margin: float | None
    bases: Sequence[tuple[str, int]]
    case: str
    transcript: str
    nodes: str
    log: str


@dataclass(frozen=True, slots=True)
class RowGroup:
    """The rows of a measurement that passed, or those that did not."""

    rung: int
    subject: str
    summary: str
    is_good: bool
    is_open: bool
    rows: Sequence[ItemRow]


@dataclass(frozen=True, slots=True)
class PageLinks:
    """Where rows and what they refer to stand on the page.

    ``rows`` are the anchors of items, ``cases`` those of transcripts, ``bases`` the numbers of
    bases, which grow as rows refer to them. ``logs`` are what pytest captured of items, ``numbers``
    how many items a row sums.
    """

    rows: Mapping[str, str]
    cases: Mapping[str, str]
    bases: dict[str, int]
    logs: Mapping[str, str]
    numbers: Mapping[str, int] = field(default_factory=dict)


class Anchors(Mapping[str, str]):
    """The anchor of the row in which an item is, by the id of the item or of its line."""

    def __init__(self, lines: ReportLines) -> None:
        self._line_of = lines.line_of
        self._anchors = {line: f"r{number}" for number, line in enumerate(lines.records)}

    def __getitem__(self, item: str) -> str:
        return self._anchors.get(item) or self._anchors[self._line_of(item)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._anchors)

    def __len__(self) -> int:
        return len(self._anchors)


def groups(records: Iterable[ItemRecord], nodes: Sequence[str], links: PageLinks) -> list[RowGroup]:
    """Return failures and errors, what is blocked or did not run, and what passed, by rung.

    Only failures and errors are open; the others follow from them or need no look.
    """
    index = {name: f"{number}" for number, name in enumerate(nodes)}
    found: dict[tuple[bool, int, str], list[ItemRecord]] = {}
    for item in records:
        found.setdefault((item.outcome in GOOD, item.rung, item.subject), []).append(item)
    made, room = [], MOST_OPEN
    for items in sorted(found.values(), key=_order):
        is_open = _order(items)[0] == 0 and len(items) <= room
        room -= len(items) if is_open else 0
        made.append(_group(items, index, links, is_open=is_open))
    return made


def _order(items: Sequence[ItemRecord]) -> tuple[int, int]:
    if items[0].outcome in GOOD:
        return 2, items[0].rung
    follows = all(one.outcome in (Outcome.BLOCKED, Outcome.NOT_RUN) for one in items)
    return int(follows), items[0].rung


def _group(
    items: Sequence[ItemRecord], index: Mapping[str, str], links: PageLinks, *, is_open: bool
) -> RowGroup:
    first = items[0]
    rows = [_row(item, index, links) for item in items]
    margins = [row.margin for row in rows if row.margin is not None]
    least = min(margins, default=None)
    outcomes = summary.result(item.outcome for item in items)
    text = f"{len(items)} passed" if outcomes == "passed" else outcomes
    text += "" if least is None else f", smallest margin {least:+.1%}"
    return RowGroup(first.rung, first.subject, text, first.outcome in GOOD, is_open, rows)


def _row(item: ItemRecord, index: Mapping[str, str], links: PageLinks) -> ItemRow:
    worst = worst_judged(item)
    bases = dict.fromkeys(judged.basis for judged in item.judgements)
    return ItemRow(
        anchor=links.rows[item.id],
        name=item.id.removeprefix("tests/"),
        outcome=str(item.outcome).replace("_", " "),
        is_good=item.outcome in GOOD,
        measured=[*_number(item, links), *_why(item), *_lines(item, _measured)],
        limit=_lines(item, _limit),
        margin=worst.margin if worst else None,
        bases=[
            (basis.partition(":")[0], links.bases.setdefault(basis, len(links.bases) + 1))
            for basis in bases
        ],
        case=links.cases.get(item.transcript, ""),
        transcript=item.transcript,
        nodes=" ".join(index[node] for node in item.nodes if node in index),
        log=links.logs.get(item.id, ""),
    )


def _number(item: ItemRecord, links: PageLinks) -> list[str]:
    """Return how many items a row sums, and from which of them its values are."""
    number = links.numbers.get(item.id, 1)
    if number == 1:
        return []
    if item.outcome in GOOD:
        return [f"{number} items, of each metric the one with the smallest margin"]
    return [item.reason.partition(":")[0]]


def _why(item: ItemRecord) -> list[str]:
    """Return why an item was not judged; a judged item shows it in numbers."""
    is_judged = item.judgements and item.outcome in (*GOOD, Outcome.FAILED)
    return [] if is_judged or not item.reason else [item.reason]


def _lines(item: ItemRecord, text_of: Callable[[Judgement], str]) -> list[str]:
    """Return a line for each judgement, which names its metric if the item has several."""
    several = len(item.judgements) > 1
    lines = ((judged.metric, text_of(judged)) for judged in item.judgements)
    texts = (f"{metric}: {text}" if several else text for metric, text in lines if text)
    return list(dict.fromkeys(texts))


def _measured(judged: Judgement) -> str:
    return judged.measured


def _limit(judged: Judgement) -> str:
    """Return the limit, with the ideal and the physical ceiling if they are known."""
    beside = {"ideal": judged.ideal, "ceiling": judged.physical_ceiling}
    extra = [
        f"{name} {format_value(value, judged.unit)}"
        for name, value in beside.items()
        if value is not None
    ]
    return ", ".join([judged.limit, *extra])

"""The soak on the page of a run: rounds that passed in one row, the others in rows of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

_SHOWN_CHARACTERS = 19  # of a time: without fractions of a second
_MOST_ROWS = 200


def rows(about: Mapping[str, Any] | None) -> list[tuple[str, ...]]:
    """Return the rows of the table: rounds, when, measurements, passed items, other items."""
    if about is None:
        return []
    found = list(_rows(about["rounds"]))
    rest = len(found) - _MOST_ROWS
    more = [(f"{rest} more rows, see verdict.json", "", "", "", "")] if rest > 0 else []
    return [*found[:_MOST_ROWS], *more]


def _rows(rounds: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    for is_plain, together in groupby(rounds, _is_plain):
        some = list(together)
        for each in [some] if is_plain else [[one] for one in some]:
            yield _row(each)


def _is_plain(one: Mapping[str, Any]) -> bool:
    return bool(one["others"] == 0 and one["measured"] == one["of"])


def _row(some: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    first, last = some[0], some[-1]
    number = str(first["number"]) if first is last else f"{first['number']} to {last['number']}"
    measured, of = (sum(one[name] for one in some) for name in ("measured", "of"))
    return (
        number,
        f"{_time(first['began'])} to {_time(last['ended'])}",
        f"{measured:,}" if measured == of else f"{measured:,} of {of:,}",
        f"{sum(one['passed'] for one in some):,}",
        f"{sum(one['others'] for one in some):,}",
    )


def _time(moment: str) -> str:
    return moment[:_SHOWN_CHARACTERS].replace("T", " ")


def label(item: str) -> str:
    """The short name of an item of a soak, with its round: ``round 3: telemetry[mx02]``."""
    parts = item.split("/")
    name = item.rsplit("::", 1)[-1]
    return f"round {int(parts[1])}: {name}" if parts[1].isdecimal() else name

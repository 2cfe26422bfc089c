"""``railgauge inventory``: the parts of a run's nodes, and what was exchanged since another run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from railgauge.cli import run_argument, text
from railgauge.core.errors import BadInput
from railgauge.core.naming import listed
from railgauge.core.run_files import FACTS
from railgauge.judging.exchanged import PartChange, changes
from railgauge.judging.inventory import VALUES, Inventory, inventory
from railgauge.judging.stamp import Evidence
from railgauge.run.unchanged import refuse_changed
from railgauge.run.untrusted import naming

HELP = "print the parts of a run's nodes with their serial numbers, or what was exchanged since"
EXAMPLE = (
    "examples: railgauge inventory reports/latest --csv; railgauge inventory signoff.railgauge "
    "reports/latest; exit code: 0, and 1 if two inventories differ"
)
_DIFFERENT = 1
_HEAD = ("WHERE", "MODEL", "PART NUMBER", "SERIAL NUMBER", "UUID OR GUID", "FIRMWARE", "SLOT")
_SHOWN = ("model", "part_number", "serial", "uuid", "firmware")
_NOT_READ = "-"


@dataclass(frozen=True, slots=True)
class _Source:
    """An inventory, and the run that it is of."""

    cluster: str
    run_id: str
    evidence: str
    parts: Inventory

    @property
    def title(self) -> str:
        evidence = "" if self.evidence == Evidence.HARDWARE else f" ({self.evidence.upper()})"
        return f"{self.cluster}, run {self.run_id}{evidence}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    run_argument.add(parser, "the run's folder, or a bundle (default: reports/latest)")
    parser.add_argument(
        "later",
        nargs="?",
        type=Path,
        metavar="LATER",
        help="a later run or bundle: print what was exchanged, added or removed since RUN",
    )
    parser.add_argument("--csv", action="store_true", help="print CSV, as inventory.csv in the run")


def run(options: argparse.Namespace) -> int:
    if options.json and options.csv:
        raise BadInput("--json and --csv exclude each other", remedy="drop one of them")
    if options.later and options.csv:
        raise BadInput("--csv prints one inventory, not a difference", remedy="use --json")
    first = _read(run_argument.named(options))
    if options.later:
        return _compare(first, _read(options.later.resolve()), as_json=options.json)
    if options.json:
        text.print_json(_plain(first))
    elif options.csv:
        sys.stdout.write(text.printable(first.parts.csv()))
    else:
        print("\n".join(map(text.printable, _lines(first))))
    return 0


def _read(path: Path) -> _Source:
    from railgauge.bundle.archive import BundledRun  # noqa: PLC0415 - 0.3 s to import
    from railgauge.bundle.recorded import opened  # noqa: PLC0415

    place = run_argument.of_pruned(path)
    with naming(place), opened(place) as held:
        header = held.surveyed()
        if header is None:
            remedy = "name the folder of a run that surveyed its nodes, or a bundle of it"
            raise BadInput(f"has no {FACTS}", where=str(path), remedy=remedy)
        if not isinstance(held, BundledRun):
            _warn_of_change(held.folder)
        return _Source(header.cluster, held.plan().run_id, header.evidence, inventory(held.found))


def _warn_of_change(folder: Path) -> None:
    try:
        refuse_changed(folder, (FACTS,))
    except BadInput as error:
        print(f"railgauge: {error.where} was CHANGED after the run", file=sys.stderr)


# --- one inventory ---


def _lines(source: _Source) -> Iterator[str]:
    yield source.title
    yield ""
    yield from _table(source.parts)
    for title, lines in (
        ("odd among its peers:", _odd(source.parts)),
        ("not in the inventory:", (f"{node}: {why}" for node, why in source.parts.lacking)),
        (f"not read ({_NOT_READ}):", _unread(source.parts)),
    ):
        found = list(lines)
        yield from ("", title, *(f"    {line}" for line in found)) if found else ()


def _table(parts: Inventory) -> Iterator[str]:
    rows = [_HEAD, *(_row(row.place, asdict(row.part)) for row in parts.rows)]
    if len(rows) == 1:
        yield "no part is known"
        return
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def _row(place: str, part: dict[str, Any]) -> Sequence[str]:
    where = ", ".join(filter(None, (part["slot"], part["address"])))
    missing = part["missing"]
    values = (part[item] or (_NOT_READ if item in missing else "") for item in _SHOWN)
    return (place, *values, where)


def _odd(parts: Inventory) -> Iterable[str]:
    return (f"{row.place}: {remark}" for row in parts.odd for remark in row.odd)


def _unread(parts: Inventory) -> Iterable[str]:
    return (f"{what} (at {listed(places)})" for what, places in parts.unread)


def _plain(source: _Source) -> dict[str, Any]:
    return {
        **_about(source),
        "parts": [
            {
                "node": row.node,
                "kind": str(row.part.kind),
                "name": row.part.name,
                **{item: getattr(row.part, item) for item in VALUES},
                "odd": list(row.odd),
                "not_read": dict(row.part.missing),
            }
            for row in source.parts.rows
        ],
        "lacking": [{"node": node, "why": why} for node, why in source.parts.lacking],
    }


def _about(source: _Source) -> dict[str, str]:
    return {"cluster": source.cluster, "run_id": source.run_id, "evidence": source.evidence}


# --- two inventories ---


def _compare(first: _Source, later: _Source, *, as_json: bool) -> int:
    found = changes(first.parts, later.parts)
    if as_json:
        listed_changes = [asdict(change) for change in found]
        about = {"from": _about(first), "to": _about(later)}
        text.print_json({**about, "changes": listed_changes, "unidentified": _unnamed(later)})
    else:
        print("\n".join(map(text.printable, _difference(first, later, found))))
    return _DIFFERENT if found else 0


def _difference(first: _Source, later: _Source, found: Sequence[PartChange]) -> Iterator[str]:
    yield f"from: {first.title}"
    yield f"to:   {later.title}"
    yield ""
    width = max((len(change.kind) for change in found), default=0)
    yield from (f"{change.kind:<{width}}  {change.place}: {change.says}" for change in found)
    if not found:
        yield "no difference"
    if unnamed := _unnamed(later):
        yield f"not known of {unnamed} parts: they have neither serial number nor UUID"


def _unnamed(source: _Source) -> int:
    return sum(not (row.part.serial or row.part.uuid) for row in source.parts.rows)

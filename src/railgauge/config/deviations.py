"""Accepted deviations: read the file of ``--deviations`` into values, or report its errors.

A deviation is a signed acceptance: a person accepts, with a reason and until a day, that a part
misses a limit. The file is a list of them::

    - subject: mx07, mlx5_3
      cause: link-rate-degraded
      reason: the cable is ordered, RMA 4711
      who: A. Engineer, for the customer
      until: 2027-01-31
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import date, datetime
from pathlib import Path
from typing import Any

from railgauge.config import strict_yaml, texts
from railgauge.config.strict_yaml import BadYaml
from railgauge.core.errors import BadInput
from railgauge.core.masking import MASK_OF_PROCESS
from railgauge.core.node_names import MOST_NODES
from railgauge.core.nodeset import all_expanded

FILE = "deviations.json"
SCHEMA_VERSION = 1
"""Of ``deviations.json``, the copy in the folder of a run."""

THE_CLUSTER = "the cluster"
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_BETWEEN = re.compile(r" and |\|")
_MOST = 1000
# Of an item's id, with the nodes of a large group folded.
_LONGEST = 2000
_REMEDY = "railgauge docs evidence shows such a file"


class DeviationError(BadInput):
    """The file of ``--deviations`` cannot be used."""

    kind = "deviations"


@dataclass(frozen=True, slots=True)
class Deviation:
    """One accepted deviation. ``until`` is the last day on which it counts, ``YYYY-MM-DD``.

    ``subject`` is written as reports write the place of a cause: ``mx07``, ``mx07, mlx5_3``,
    ``mx[01-04]``, ``mx01 and mx02``, or ``the cluster`` where no node is at fault. Either ``cause``
    or ``item`` is set: the name of a cause, or the id of one test item.
    """

    subject: str
    reason: str
    who: str
    until: str
    cause: str = ""
    item: str = ""

    @property
    def nodes(self) -> frozenset[str]:
        """The nodes of the subject; empty for the cluster as a whole."""
        return nodes_of_subject(self.subject)

    @property
    def device(self) -> str:
        """The device of the subject; empty if it is about every device of its nodes."""
        return self.subject.partition(", ")[2]

    @property
    def last_day(self) -> date:
        return date.fromisoformat(self.until)

    @property
    def what(self) -> str:
        """The cause or the item that is accepted."""
        return self.cause or self.item


_KEYS = tuple(field.name for field in fields(Deviation))


def load(path: Path) -> tuple[Deviation, ...]:
    """Return the deviations in a YAML file. Raises ``DeviationError`` that names file and line."""
    try:
        document, tree = strict_yaml.loads(_text(path))
    except BadYaml as error:
        where = f"{path}:{error.line}" if error.line else str(path)
        raise DeviationError(error.what, where=where, remedy=error.remedy) from None

    def refuse(what: str, *place: str | int) -> DeviationError:
        line = strict_yaml.line_of(tree, place) if place else 0
        return DeviationError(what, where=f"{path}:{line}" if line else str(path), remedy=_REMEDY)

    if not isinstance(document, list) or not document:
        raise refuse("should be a list of deviations")
    # Masked here, so that the verdicts of the run and of its bundle have the same texts.
    return _read([MASK_OF_PROCESS.data(_dated(one)) for one in document], refuse)


def _text(path: Path) -> str:
    try:
        return texts.read(path)
    except texts.Unreadable as error:
        raise DeviationError(str(error), where=str(path)) from None


def _dated(entry: object) -> object:
    """The entry with its day as text: YAML reads ``2027-01-31`` as a date."""
    if not isinstance(entry, dict):
        return entry
    until = entry.get("until")
    is_day = isinstance(until, date) and not isinstance(until, datetime)
    return {**entry, "until": until.isoformat()} if is_day else entry  # type: ignore[union-attr]


def to_json(deviations: Sequence[Deviation]) -> dict[str, Any]:
    """Return the content of ``deviations.json``."""
    return {"schema_version": SCHEMA_VERSION, "deviations": [asdict(one) for one in deviations]}


def from_json(data: object) -> tuple[Deviation, ...]:
    """Return the deviations of a run, whose file is untrusted. Raises ``DeviationError``."""

    def refuse(what: str, *place: str | int) -> DeviationError:
        return DeviationError(what, where=f"deviation {place[0]}" if place else "")

    if not isinstance(data, dict) or data.keys() != {"schema_version", "deviations"}:
        raise refuse("holds no deviations")
    version = data["schema_version"]
    if version != SCHEMA_VERSION or isinstance(version, bool):
        known = f"this version of railgauge reads {SCHEMA_VERSION}"
        raise refuse(f"has schema version {str(version)[:20]}, but {known}")
    if not isinstance(data["deviations"], list) or not data["deviations"]:
        raise refuse("should be a list of deviations")
    return _read(data["deviations"], refuse)


def _read(entries: Sequence[object], refuse: Any) -> tuple[Deviation, ...]:
    if len(entries) > _MOST:
        raise refuse(f"has {len(entries)} deviations, more than {_MOST}")
    found: dict[tuple[str, str, str], Deviation] = {}
    for number, entry in enumerate(entries):
        if what := next(_complaints(entry), ""):
            raise refuse(what, number)
        assert isinstance(entry, dict)
        one = Deviation(**entry)
        key = (one.subject, one.cause, one.item)
        if key in found:
            raise refuse(f"{one.what} of {one.subject} is there twice", number)
        found[key] = one
    return tuple(found.values())


def _complaints(entry: object) -> Iterator[str]:
    """What is wrong with one entry, the most basic error first."""
    if not isinstance(entry, Mapping):
        yield "each deviation is a mapping of keys to values"
        return
    if unknown := sorted(str(key) for key in entry.keys() - set(_KEYS)):
        yield f"unknown key {unknown[0][:60]!r}; known here: {', '.join(_KEYS)}"
    for key in ("subject", "reason", "who", "until"):
        if key not in entry:
            yield f"{key} is missing; add it"
    for key, value in entry.items():
        if not isinstance(value, str) or len(value) > _LONGEST or not value.isprintable():
            yield f"{key} should be one line of text"
        elif not value.strip() and key not in ("cause", "item"):
            yield f"{key} is empty; fill it in"
    if bool(entry.get("cause")) is bool(entry.get("item")):
        yield "name either a cause or an item: what is accepted?"
    if not _is_day(entry["until"]):
        yield f"until is {entry['until'][:40]!r}, not a day such as 2027-01-31"
    try:
        nodes_of_subject(entry["subject"])
    except BadInput as error:
        yield f"subject: {error.what}"


def nodes_of_subject(subject: str) -> frozenset[str]:
    """The nodes that a subject names; empty for the cluster as a whole. Raises ``BadInput``."""
    place = subject.partition(", ")[0]
    if place == THE_CLUSTER:
        return frozenset()
    found = frozenset(all_expanded(_BETWEEN.split(place), MOST_NODES))
    if not found:
        raise BadInput(f"{subject[:60]!r} names no node")
    return found


def _is_day(text: str) -> bool:
    try:
        return bool(_DATE.fullmatch(text) and date.fromisoformat(text))
    except ValueError:
        return False

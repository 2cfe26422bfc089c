"""What each platform document says, a line a check, figure, setting or step: ``docs/documents/``.

A line names what holds it as references, ``KIND NAME … [= VALUE]``, which ``document_holders``
resolves and ``document_examples`` runs; or it says ``why`` the point is deliberately not held.
``todo`` marks what is open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml
from testing.places import ROOT

FOLDER = ROOT / "docs" / "documents"
NUMBERS = ("000", "001", "002", "003", "004")
_LINE = {"section", "says", "figure", "bad", "held", "why", "todo"}


@dataclass(frozen=True)
class Line:
    """One point of a document. ``held`` are references.

    ``figure`` is what is healthy, ``bad`` what the document finds of a broken machine; the limits
    of the line accept the one and fail the other. A line has one of them, or none.
    """

    document: str
    number: int
    section: str
    says: str
    figure: str = ""
    bad: str = ""
    held: tuple[str, ...] = ()
    why: str = ""
    todo: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether it has neither a reference nor a reason."""
        return not self.says.strip() or not (self.held or self.why.strip())

    def __str__(self) -> str:
        return f"{self.document} line {self.number}: {self.section}: {self.says}"


@dataclass(frozen=True)
class Document:
    """``without`` are headings below which the document has nothing to check.

    ``not_settings`` are words in capitals that look like variables and set nothing.
    """

    number: str
    platform: str
    title: str
    lines: tuple[Line, ...]
    without: tuple[str, ...]
    not_settings: tuple[str, ...]

    @property
    def sections(self) -> list[str]:
        return list(dict.fromkeys(line.section for line in self.lines))


@cache
def document(number: str) -> Document:
    """Raises ``ValueError`` for a file with other keys than these."""
    data = yaml.safe_load((FOLDER / f"{number}.yaml").read_text(encoding="utf-8"))
    lines = tuple(_lines(number, data["sections"]))
    names = (tuple(data.get(key, ())) for key in ("without", "not_settings"))
    return Document(number, data["platform"], data["title"], lines, *names)


def _lines(number: str, sections: Mapping[str, list[Mapping[str, Any]]]) -> Iterator[Line]:
    count = 0
    for section, entries in sections.items():
        for entry in entries:
            count += 1
            if unknown := set(entry) - _LINE:
                raise ValueError(f"{number} line {count}: unknown {', '.join(sorted(unknown))}")
            words = {key: str(value) for key, value in entry.items() if key != "held"}
            held = tuple(map(str, entry.get("held", ())))
            yield Line(number, count, section, held=held, **words)


def documents() -> list[Document]:
    return [document(number) for number in NUMBERS]

"""What a parser has found so far: samples, and problems in place of what is no sample."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from railgauge.core.model import Parsed, Problem, Sample

_LONGEST_MESSAGE = 200
_COLOUR = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")


def plain(text: str) -> str:
    """The text with plain line ends and without colours."""
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def missing_program(text: str, names: tuple[str, ...]) -> Problem | None:
    """What the shell or the loader says instead of a program that it cannot start."""
    programs = "|".join(map(re.escape, names))
    match = re.search(
        rf"(?:{programs})['’\"`]?:[ \t]{{0,4}}(?:\d{{1,5}}:[ \t]{{0,4}})?"
        r"(?:command not found|not found|No such file or directory|Permission denied)[^\n]{0,80}"
        r"|error while loading shared libraries:[^\n]{0,160}"
        r"|cannot execute binary file[^\n]{0,80}",
        text,
    )
    return problem("tool-missing", match[0]) if match else None


def problem(kind: str, message: str, severity: str = "error") -> Problem:
    """A problem whose message fits a line."""
    return Problem(kind, severity, " ".join(message[: 2 * _LONGEST_MESSAGE].split()))


@dataclass(slots=True)
class Findings:
    """Samples in printed order; values of one metric, size and placement count as iterations."""

    size_bytes: int | None = None
    samples: list[Sample] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    _seen: Counter[tuple[str, int | None, str | None]] = field(default_factory=Counter)

    def add(
        self,
        metric: str,
        unit: str,
        value: float,
        placement: str | None = None,
        *,
        may_be_zero: bool = False,
    ) -> None:
        """Take a value, or say why it is none."""
        if not math.isfinite(value) or value < 0:
            self.complain("not-a-number", f"{metric} of {placement or 'the run'} is {value}")
            return
        if value == 0 and not may_be_zero:
            self.complain("zero-value", f"{metric} of {placement or 'the run'} is printed as 0")
            return
        key = (metric, self.size_bytes, placement)
        self.samples.append(
            Sample(metric, unit, value, self.size_bytes, self._seen[key], placement)
        )
        self._seen[key] += 1

    def complain(self, kind: str, message: str, severity: str = "error") -> None:
        self.problems.append(problem(kind, message, severity))

    def warn(self, kind: str, message: str) -> None:
        self.complain(kind, message, "warning")

    @property
    def has_errors(self) -> bool:
        return any(found.severity == "error" for found in self.problems)

    def parsed(
        self, tool: str, version: str | None = None, summary: Mapping[str, object] | None = None
    ) -> Parsed:
        """All of it, errors first; of a kind the first one, and how many more there were."""
        return Parsed(tool, version, tuple(self.samples), summary or {}, one_a_kind(self.problems))


def one_a_kind(problems: list[Problem]) -> tuple[Problem, ...]:
    """Errors first; of a kind the first one, and how many more there were."""
    counts = Counter((found.kind, found.severity) for found in problems)
    first: dict[tuple[str, str], Problem] = {}
    for found in problems:
        first.setdefault((found.kind, found.severity), found)
    merged = [
        Problem(kind, severity, _counted(found.message, counts[kind, severity]))
        for (kind, severity), found in first.items()
    ]
    return tuple(sorted(merged, key=lambda found: found.severity != "error"))


def _counted(message: str, count: int) -> str:
    return message if count == 1 else f"{message} (and {count - 1} more)"

"""Collects the samples of a parser, and a problem in place of each value that is not valid."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from railgauge.core.model import Parsed, Sample
from railgauge.core.problems import Problem, ProblemKind
from railgauge.core.terms import Severity
from railgauge.tools.relations import Relation, contradictions
from railgauge.tools.text import LONGEST_MESSAGE


def problem(kind: ProblemKind, message: str, severity: Severity = Severity.ERROR) -> Problem:
    """Return a problem with its message shortened to one line."""
    return Problem(kind, severity, " ".join(message[: 2 * LONGEST_MESSAGE].split()))


def missing_program(text: str, names: Sequence[str]) -> Problem | None:
    """Return the error of the shell or the loader for a program that it cannot start."""
    programs = "|".join(map(re.escape, names))
    match = re.search(
        rf"(?:{programs})['’\"`]?:[ \t]{{0,4}}(?:\d{{1,5}}:[ \t]{{0,4}})?"
        r"(?:command not found|not found|No such file or directory|Permission denied)[^\n]{0,80}"
        r"|error while loading shared libraries:[^\n]{0,160}"
        r"|cannot execute binary file[^\n]{0,80}",
        text,
    )
    return problem(ProblemKind.TOOL_MISSING, match[0]) if match else None


_SEVERAL = "several runs in one output; give the output of one run"


@dataclass(slots=True)
class OutputCollector:
    """Samples in printed order; values with the same metric, size and placement are iterations.

    ``relations`` must hold between the values of a row, as the tool declares; a row that breaks one
    is ``inconsistent``. ``size_bytes`` is the message size of the values that follow, ``None`` if
    they have none.
    """

    size_bytes: int | None = None
    samples: list[Sample] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    relations: tuple[Relation, ...] = ()
    _seen: dict[tuple[str, int | None, str | None], int] = field(default_factory=dict)

    def add(
        self,
        metric: str,
        unit: str,
        value: float,
        placement: str | None = None,
        *,
        may_be_zero: bool = False,
    ) -> None:
        """Add a sample, or an error for a value that is negative, not finite or an invalid 0."""
        of = f"{metric} of {placement or 'the run'}"
        if not _is_number(value) or value < 0:
            self.refuse(ProblemKind.NOT_A_NUMBER, f"{of} is {value}", metric, placement)
        elif value == 0 and not may_be_zero:
            self.refuse(ProblemKind.ZERO_VALUE, f"{of} is printed as 0", metric, placement)
        else:
            self.keep(metric, unit, value, placement)

    def keep(
        self,
        metric: str,
        unit: str,
        value: float,
        placement: str | None = None,
        unit_means: str = "",
    ) -> None:
        """Add a sample whose value the caller has checked."""
        iteration = self._next(metric, placement)
        sample = Sample(metric, unit, value, self.size_bytes, iteration, placement, unit_means)
        self.samples.append(sample)

    def refuse(
        self, kind: ProblemKind, message: str, metric: str, placement: str | None = None
    ) -> None:
        """Add an error in place of a value; the value still counts as an iteration."""
        self._next(metric, placement)
        self.error(kind, message)

    def _next(self, metric: str, placement: str | None) -> int:
        key = (metric, self.size_bytes, placement)
        number = self._seen.get(key, 0)
        self._seen[key] = number + 1
        return number

    def error(self, kind: ProblemKind, message: str) -> None:
        self.problems.append(problem(kind, message))

    def refuse_several(self, openings: int = 0) -> None:
        """Add an error for two outputs in one text.

        They have a value twice, or a line that a program prints once; ``openings`` counts it.
        """
        if openings > 1 or any(sample.iteration for sample in self.samples):
            self.several_runs()

    def several_runs(self) -> None:
        self.error(ProblemKind.SEVERAL_TABLES, _SEVERAL)

    def warn(self, kind: ProblemKind, message: str) -> None:
        self.problems.append(problem(kind, message, Severity.WARNING))

    def check_started(self, text: str, *names: str) -> bool:
        """Return whether the program was started; add an error if the shell could not start it."""
        missing = missing_program(text, names)
        if missing:
            self.problems.append(missing)
        return missing is None

    def nothing(self, text: str, otherwise: str) -> None:
        """Add an error for text without values: that it is empty, or ``otherwise``."""
        if not text.strip():
            self.error(ProblemKind.NO_OUTPUT, "nothing was printed")
        else:
            self.error(ProblemKind.NO_TABLE, otherwise)

    @property
    def has_errors(self) -> bool:
        return any(found.severity is Severity.ERROR for found in self.problems)

    @property
    def is_empty(self) -> bool:
        """Whether there is neither a sample nor an error that explains why."""
        return not self.samples and not self.has_errors

    def parsed(
        self, tool: str, version: str | None = None, summary: Mapping[str, object] | None = None
    ) -> Parsed:
        """Return everything collected, with the problems merged by ``one_a_kind``.

        A number of the summary that is not finite is left out: no JSON may hold it.
        """
        for what in contradictions(self.samples, self.relations):
            self.error(ProblemKind.INCONSISTENT, what)
        finite = {name: value for name, value in (summary or {}).items() if _is_finite(value)}
        return Parsed(tool, version, tuple(self.samples), finite, one_a_kind(self.problems))


def _is_number(value: float) -> bool:
    """Return whether a value is finite as a float too: JSON has integers of any size."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _is_finite(value: object) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def one_a_kind(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """Merge problems, errors first: the first of each kind, with the number of further ones."""
    counts = Counter((found.kind, found.severity) for found in problems)
    first: dict[tuple[ProblemKind, Severity], Problem] = {}
    for found in problems:
        first.setdefault((found.kind, found.severity), found)
    merged = [
        Problem(kind, severity, _counted(found.message, counts[kind, severity]))
        for (kind, severity), found in first.items()
    ]
    return tuple(sorted(merged, key=lambda found: found.severity is not Severity.ERROR))


def _counted(message: str, count: int) -> str:
    return message if count == 1 else f"{message} (and {count - 1} more)"

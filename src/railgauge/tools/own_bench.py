"""Messages of this project's own benchmarks, Python programs on the nodes, that cannot measure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from railgauge.core.problems import Problem, ProblemKind
from railgauge.tools.collector import missing_program, problem

# By the program's name, the most likely cause first.
_COMPLAINTS = {
    ProblemKind.TOOL_MISSING: r"^{name}: (cannot measure [^\n]{{1,600}})",
    ProblemKind.OUT_OF_MEMORY: (
        r"^([\w.]{{0,80}}(?:OutOfMemoryError|MemoryError):? ?[^\n]{{0,200}})"
    ),
    ProblemKind.INVALID_ARGUMENT: r"^{name}: error: ([^\n]{{1,200}})",
    ProblemKind.TOOL_FAILED: r"^([\w.]{{1,80}}(?:Error|Exception): [^\n]{{0,200}})",
}


def complaints(text: str, name: str, started_by: Sequence[str]) -> Iterator[Problem]:
    """Yield what prevented the measurement by ``name``, which these programs start."""
    if missing := missing_program(text, (name, *started_by)):
        yield missing
    for kind, pattern in _COMPLAINTS.items():
        if match := re.search(pattern.format(name=name), text, re.MULTILINE):
            yield problem(kind, match[1])

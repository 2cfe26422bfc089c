"""One program of the survey as a tool, and what its readers share.

These programs measure nothing: the samples are counts, counters and states as printed. ``summary``
holds the facts that the survey would take from the output.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass

from railgauge.core.model import Parsed
from railgauge.core.problems import ProblemKind
from railgauge.tools.collector import OutputCollector
from railgauge.tools.relations import Relation
from railgauge.tools.text import clean, is_torn

Found = Mapping[str, object] | None
"""The summary; ``None`` if the text is not this output."""
Reader = Callable[[str, OutputCollector], Found]


@dataclass(frozen=True, slots=True)
class ProbedProgram:
    """One program of the survey; ``read`` adds samples and problems, and returns the summary."""

    name: str
    read: Reader
    relations: tuple[Relation, ...] = ()

    def parse(self, text: str) -> Parsed:
        """Read the output. Never raises and takes time linear in the text."""
        text = clean(text)
        collector = OutputCollector(relations=self.relations)
        found: Found = None
        if collector.check_started(text, self.name.replace("rdma-link", "rdma")):
            found = self.read(text, collector)
        if found is None and not collector.has_errors:
            collector.nothing(text, f"this text is no output of {self.name} that the survey reads")
        elif found is not None and is_torn(text) and not text.rstrip().endswith(_CLOSED):
            collector.error(ProblemKind.TRUNCATED, "the last line is incomplete")
        return collector.parsed(self.name, None, found or {})


_CLOSED = ("}", "]", ">", "+")


def count(collector: OutputCollector, metric: str, number: float, placement: str = "") -> None:
    collector.add(metric, "count", number, placement or None, may_be_zero=True)


def refuse(collector: OutputCollector, problem: str) -> None:
    """Add an error for what keeps an output from being read; nothing if there is none."""
    if problem:
        collector.error(ProblemKind.UNPARSABLE, problem)


def complain(collector: OutputCollector, problem: str) -> None:
    """Add an error for an output that is not complete; nothing if it is."""
    if problem:
        collector.error(ProblemKind.TRUNCATED, problem)


def refuse_twins(names: Iterable[Hashable], collector: OutputCollector) -> None:
    twice = [str(name) for name, times in Counter(names).items() if times > 1]
    if twice:
        message = f"{', '.join(twice[:4])} is printed twice; give one output"
        collector.error(ProblemKind.SEVERAL_TABLES, message)

"""Which tool printed an output: the only one whose parser finds a value in it.

The log of a failed run has no values; then it is the tool whose error the log holds.
"""

from __future__ import annotations

from collections.abc import Mapping

from railgauge.core.errors import BadInput, MetricMissing, Unparsable
from railgauge.core.model import Parsed
from railgauge.core.problems import Problem, ProblemKind
from railgauge.tools import NAMES, tool

_MOST_SHOWN = 6
# Errors of a reader about an output; every other error is the tool's own.
_OF_OUTPUT = (Unparsable, MetricMissing)


def find(text: str, where: str) -> Parsed:
    """Return what the only fitting parser reads: values, or else the error of its tool.

    Raises ``BadInput``, which names ``where`` the text is from, if no parser finds either, or if
    several do.
    """
    every = {name: tool(name).parse(text) for name in NAMES}
    found = _whole({name: parsed for name, parsed in every.items() if parsed.samples})
    if len(found) == 1:
        return next(iter(found.values()))
    if not found:
        return _failed(every, where)
    raise BadInput(
        f"this text fits several tools: {', '.join(list(found)[:_MOST_SHOWN])}",
        where=where,
        remedy="name the tool, or give the output of one: railgauge parse TOOL FILE",
    )


def _whole(found: Mapping[str, Parsed]) -> Mapping[str, Parsed]:
    """Return those that found their heading, if any did: rows without one may be of any tool."""
    whole = {
        name: parsed
        for name, parsed in found.items()
        if all(one.kind is not ProblemKind.NO_HEADING for one in parsed.problems)
    }
    return whole or found


def _failed(every: Mapping[str, Parsed], where: str) -> Parsed:
    """Return the reading of the only tool whose error the text holds, and that knows more of it."""
    known = {
        name: parsed
        for name, parsed in every.items()
        if parsed.tool_version or any(parsed.summary.values())
    }
    cut = {name: one for name, parsed in known.items() if (one := _cut(parsed))}
    own = {name: one for name, parsed in every.items() if (one := failure(parsed))}
    found = {name: one for name, one in own.items() if name in known} or own or cut
    if len(found) == 1:
        return every[next(iter(found))]
    remedy = "name the tool to see its messages: railgauge parse TOOL FILE"
    if not found:
        raise BadInput("no tool's output is in this text", where=where, remedy=remedy)
    errors = [f"{name} ({text_of(one)})" for name, one in found.items()][:_MOST_SHOWN]
    what = f"no tool's figures are in this text; an error of {', or of '.join(errors)}"
    raise BadInput(what, where=where, remedy=remedy)


def _cut(parsed: Parsed) -> Problem | None:
    return next((one for one in parsed.errors if one.kind is ProblemKind.TRUNCATED), None)


def failure(parsed: Parsed) -> Problem | None:
    """Return the error that the tool itself reports; ``None`` if it reports none."""
    own = (one for one in parsed.errors if not issubclass(one.kind.error, _OF_OUTPUT))
    return next(own, None)


def text_of(problem: Problem | None) -> str:
    return f"{problem.kind}: {problem.message}" if problem else ""

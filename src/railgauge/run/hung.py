"""Tools that hang: after two time-outs at a place, a tool is not started there again.

Each measurement of a hanging tool costs its whole time limit, and after the second one shows
nothing new. The place is one node if the tool was measured on it alone, or is known to have hung
there; otherwise it is all nodes of the measurement, because any of them may be at fault: a pair
that hangs shows nothing about other pairs. Each process counts for itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from threading import Lock

from railgauge.core.errors import CommandTimedOut, ToolHangs
from railgauge.core.model import Case
from railgauge.core.question import CaseResult

_ENOUGH = 2


class HungTools:
    """Counts by tool and place how often a tool hung; safe for any number of threads."""

    def __init__(self, tool_of: Callable[[Case], str]) -> None:
        self._tool_of = tool_of
        self._hung: defaultdict[tuple[str, frozenset[str]], int] = defaultdict(int)
        self._lock = Lock()

    def note(self, made: Mapping[Case, CaseResult]) -> None:
        """Count a hang in these cases, which were measured at the same time, as one."""
        places = ((self._tool_of(case), _place(case, result)) for case, result in made.items())
        if hung := next((one for one in places if one[1]), None):
            with self._lock:
                self._hung[hung] += 1

    def refuse(self, case: Case) -> None:
        """Raise ``ToolHangs`` if the tool of a case has hung twice at one of its places."""
        tool, everywhere = self._tool_of(case), frozenset(case.nodes)
        for place in (*(frozenset({node}) for node in case.nodes), everywhere):
            if self._hung.get((tool, place), 0) >= _ENOUGH:
                where = " and ".join(node for node in case.nodes if node in place)
                raise ToolHangs(
                    f"hung twice on {where} in this run, so it is not started there again",
                    where=f"{next(node for node in case.nodes if node in place)}: {tool}",
                    remedy="see why it hangs; --resume measures what was left out",
                )


def _place(case: Case, result: CaseResult) -> frozenset[str]:
    """Return the nodes of which one or all made the tool hang; empty if it did not."""
    error = result.error
    if isinstance(error, CommandTimedOut):
        return frozenset({error.where}) if error.where in case.nodes else frozenset(case.nodes)
    last = result.runs[-1] if result.runs else ()
    hung = any(one.error == CommandTimedOut.kind for one in last)
    return frozenset(case.nodes) if hung else frozenset()

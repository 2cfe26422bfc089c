"""Run the example of a reference: a healthy input passes, and a broken one does not.

References for which ``document_holders.is_run`` can be run so; of the others ``resolved`` checks
that they are there.
"""

from __future__ import annotations

import runpy
from collections.abc import Callable, Mapping
from functools import cache

import example_facts
import example_plans
from document_holders import Unheld, platform
from document_lines import ROOT, Line
from example_facts import Surveyed
from example_limits import limit

from railgauge.core.errors import RailgaugeError

MATRIX = ROOT / "selftests" / "matrix" / "expected_causes.py"


def run(line: Line, reference: str, on: str, healthy: Surveyed) -> None:
    """Run the example of a reference on platform ``on``. Raises ``Unheld`` if it is not held."""
    kind, *words = reference.partition(" = ")[0].split()
    try:
        if kind == "fault":
            _fault(line, *words)
        elif kind == "limit":
            limit(line, platform(on), healthy, words)
        else:
            _OF_PLATFORM[kind](platform(on), healthy, *words)
    except (RailgaugeError, AssertionError, KeyError, TypeError, StopIteration) as error:
        raise Unheld(f"{reference}: {type(error).__name__} {error}") from error


def _fault(line: Line, name: str) -> None:
    """The fault matrix runs the fault, and its cause is one that the line names, if it names any.

    A fault that must change nothing has no cause.
    """
    if name not in _causes():
        raise Unheld(f"fault {name} is not in the fault matrix")
    wanted = [one.split()[1] for one in line.held if one.startswith("cause ")]
    if (found := _causes()[name]) and wanted and found not in wanted:
        raise Unheld(f"fault {name} has the cause {found}, not {' or '.join(wanted)}")


@cache
def _causes() -> Mapping[str, str]:
    found: Mapping[str, str] = runpy.run_path(str(MATRIX))["ALL_CAUSES"]
    return found


_OF_PLATFORM: Mapping[str, Callable[..., None]] = {
    "expected": example_facts.expected,
    "option": example_plans.option,
    "environment": example_plans.environment,
    "hardware": example_plans.hardware,
    "measured": example_plans.measured,
    "result": example_plans.result,
    "fact": example_facts.fact,
}

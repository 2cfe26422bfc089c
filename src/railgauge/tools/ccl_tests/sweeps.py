"""Whether a table holds the rows that its own argument line announces."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from railgauge.core.model import Problem
from railgauge.tools.ccl_tests.facts import Facts
from railgauge.tools.ccl_tests.rows import Row

_MOST_STEPS = 100_000


def check_sweep(rows: list[Row], facts: Facts, *, is_elided: bool) -> Iterator[Problem]:
    """Sizes that were skipped, rows that are missing. Cycles and types multiply the rows."""
    if facts.reduced_to is not None:
        message = f"GPU memory was short: no size above {facts.reduced_to} B was measured"
        yield Problem("size-skipped", "error", message)
    severity = "warning" if is_elided else "error"
    if is_elided:
        yield Problem("rows-elided", "warning", "dots stand where rows were left out")
    expected = _expected(facts)
    if rows and expected and len(rows) % expected:
        message = f"{len(rows)} rows where the arguments announce {expected} (or a multiple)"
        yield Problem("sweep-gap", severity, message)
    elif rows and not expected and (gap := _gap(rows)):
        yield Problem("sweep-gap", severity, f"the sweep lacks size {gap}")


def _expected(facts: Facts) -> int:
    """How many sizes a sweep has; 0 where nothing says so.

    The count and not the sizes: collectives round sizes down to a multiple of their ranks.
    """
    first, last = facts.numbers.get("minimum_bytes"), facts.numbers.get("maximum_bytes")
    step = facts.numbers.get("step", 0)
    if not first or last is None or step < 1:
        return 0
    last = min(last, facts.reduced_to or last)
    if not facts.is_step_factor:
        return max(0, (last - first) // step + 1)
    count = 0
    while first <= last and step > 1 and count < _MOST_STEPS:
        count, first = count + 1, first * step
    return count


def _gap(rows: list[Row]) -> int | None:
    """A size that a steady sweep would have, judged by the smallest factor between neighbours."""
    sizes = sorted({row.size_bytes for row in rows if row.size_bytes > 0})
    pairs = list(pairwise(sizes))
    factors = {large // small for small, large in pairs if large % small == 0}
    if len(factors) < 2 or any(large % small for small, large in pairs):  # noqa: PLR2004
        return None
    step = min(factors)
    return next((small * step for small, large in pairs if large // small != step), None)

"""Whether a table holds the rows that its own argument line announces."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise

from railgauge.model import Problem
from railgauge.tools.ccl_tests.facts import Facts
from railgauge.tools.ccl_tests.rows import Row

_MOST_STEPS = 100_000
_ALIGNED_BYTES = 16


def check_sweep(rows: list[Row], facts: Facts, *, is_elided: bool) -> Iterator[Problem]:
    """Sizes that were skipped, rows that are missing. Cycles and types multiply the rows."""
    if facts.reduced_to is not None:
        message = f"GPU memory was short: no size above {facts.reduced_to} B was measured"
        yield Problem("size-skipped", "error", message)
    severity = "warning" if is_elided else "error"
    if is_elided:
        yield Problem("rows-elided", "warning", "dots stand where rows were left out")
    expected = len(announced(facts))
    if rows and expected and len(rows) % expected:
        message = f"{len(rows)} rows where the arguments announce {expected} (or a multiple)"
        yield Problem("sweep-gap", severity, message)
    elif rows and not expected and (gap := _gap(rows)):
        yield Problem("sweep-gap", severity, f"the sweep lacks size {gap}")


def announced(facts: Facts) -> tuple[int, ...]:
    """The sizes in bytes that the argument line asks for; none where nothing says so."""
    first, last = facts.numbers.get("minimum_bytes"), facts.numbers.get("maximum_bytes")
    step = facts.numbers.get("step", 0)
    if not first or last is None or step < 1:
        return ()
    last = min(last, facts.reduced_to or last)
    if not facts.is_step_factor:
        return tuple(range(first, last + 1, step)[:_MOST_STEPS])
    sizes: list[int] = []
    while first <= last and step > 1 and len(sizes) < _MOST_STEPS:
        sizes.append(first)
        first *= step
    return tuple(sizes)


def asked_for(size_bytes: int, sizes: Sequence[int], ranks: int | None) -> int:
    """The size of the sweep that a row is of, which may print less.

    Where each of the ranks has a part, the tests round it down to 16 bytes: of 16 GiB between 24
    ranks they print 17179869120. A size that is none of the sweep's stays as it is.
    """
    at = bisect_left(sizes, size_bytes)
    if not ranks or not size_bytes or size_bytes % ranks or at == len(sizes):
        return size_bytes
    return sizes[at] if sizes[at] - size_bytes < _ALIGNED_BYTES * ranks else size_bytes


def _gap(rows: list[Row]) -> int | None:
    """A size that a steady sweep would have, judged by the smallest factor between neighbours."""
    sizes = sorted({row.size_bytes for row in rows if row.size_bytes > 0})
    pairs = list(pairwise(sizes))
    factors = {large // small for small, large in pairs if large % small == 0}
    if len(factors) < 2 or any(large % small for small, large in pairs):  # noqa: PLR2004
        return None
    step = min(factors)
    return next((small * step for small, large in pairs if large // small != step), None)

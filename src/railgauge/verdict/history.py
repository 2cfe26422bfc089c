"""The runs from which a run was merged, and the results that later runs replaced. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from railgauge.core.model import Outcome


@dataclass(frozen=True, slots=True)
class Remeasured:
    """A node that a later run measured again: what replaced what.

    ``before`` and ``now`` count the items of the node by outcome: those of ``run``, which ended at
    ``ended``, and those that replaced them. ``reason`` is why the first of them did not pass.
    """

    node: str
    run: str
    ended: str
    before: Mapping[str, int]
    now: Mapping[str, int]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class MergedPart:
    """A run that was merged: when it ran (ISO 8601), who ran it, and what it measured, in words.

    ``no_gates`` is true if closed gates kept nothing from being measured. ``replaces`` are the
    nodes that it measured again after an earlier run.
    """

    run_id: str
    began: str
    ended: str
    operator: str = ""
    what: str = ""
    no_gates: bool = False
    replaces: tuple[Remeasured, ...] = ()


def notes(parts: Sequence[MergedPart]) -> Iterator[str]:
    """Yield the note that a run was merged, and from which runs; none for any other run."""
    if parts:
        runs = ", ".join(f"{one.run_id} ({one.what}, {one.began})" for one in parts)
        yield f"MERGED of {len(parts)} runs: {runs}"


def measured_again(parts: Sequence[MergedPart]) -> Iterator[str]:
    """Yield a line for each node and run of which results were replaced: the first, and the later.

    ``mx07: 1 failed, 5 passed (the reason) in RUN, ended TIME; 6 passed in RUN, begun TIME``.
    """
    for part in parts:
        for one in part.replaces:
            why = f" ({one.reason})" if one.reason else ""
            yield (
                f"{one.node}: {_counted(one.before)}{why} in {one.run}, ended "
                f"{one.ended}; {_counted(one.now)} in {part.run_id}, begun {part.began}"
            )


def _counted(counts: Mapping[str, int]) -> str:
    """The outcomes of items, the worst first."""
    listed = ((counts.get(str(what), 0), what) for what in reversed(Outcome))
    return ", ".join(f"{count} {str(what).replace('_', ' ')}" for count, what in listed if count)

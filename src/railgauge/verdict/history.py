"""Of which runs a merged run was made, and what was measured again in a later one. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass


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

    ``no_gates`` is true if it measured behind gates. ``replaces`` are the nodes that it measured
    again after an earlier run.
    """

    run_id: str
    began: str
    ended: str
    operator: str = ""
    what: str = ""
    no_gates: bool = False
    replaces: tuple[Remeasured, ...] = ()


def notes(parts: Sequence[MergedPart]) -> Iterator[str]:
    """Yield the lines that every report of a merged run shows; none for any other run."""
    if parts:
        told = ", ".join(f"{one.run_id} ({one.what}, {one.began})" for one in parts)
        yield f"MERGED of {len(parts)} runs: {told}"
    for part in parts:
        for one in part.replaces:
            why = f" ({one.reason})" if one.reason else ""
            yield (
                f"MEASURED AGAIN, {one.node}: {_counted(one.before)}{why} in {one.run}, ended "
                f"{one.ended}; {_counted(one.now)} in {part.run_id}, begun {part.began}"
            )


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {what.replace('_', ' ')}" for what, count in counts.items())

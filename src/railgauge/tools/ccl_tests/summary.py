"""What was run and where, under the names that tests and reports use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from railgauge.tools.ccl_tests.facts import Facts
from railgauge.tools.ccl_tests.rows import Row
from railgauge.tools.ccl_tests.transports import Log

_NUMBERS = (
    "minimum_bytes",
    "maximum_bytes",
    "warmup",
    "iterations",
    "aggregated",
    "gpus_per_process",
)


def summarise(rows: list[Row], facts: Facts, log: Log) -> dict[str, object]:
    """Everything but the samples; what was not printed is absent.

    ``rows`` and ``collective`` (``None`` if nothing names it) are always there. Others:
    ``avg_busbw`` in GB/s, ``out_of_bounds``, ``dtypes``, ``redops``, ``rows_checked`` of
    ``rows_checkable``, ``reduces``, ``rooted`` and ``checked_in_place`` (what the columns show of
    the collective), ``choices`` (RCCL's ``algo``, ``proto`` and ``nchannels`` by size, the last
    row of a size), ``graph``, ``validation``, ``minimum_bytes``, ``maximum_bytes``, ``warmup``,
    ``iterations``, ``aggregated``, ``gpus_per_process``, ``nranks``, ``hosts``, ``devices`` (a
    ``Device`` for each rank that is listed), ``nnodes`` and ``gpus`` by host (if all ranks are
    listed), ``library``, ``library_version``, and from the library's log ``transports``,
    ``channel_paths`` (lines by path), ``network`` and ``channels``.
    """
    summary: dict[str, object] = {"rows": len(rows), "collective": facts.named_collective}
    summary |= {name: facts.numbers[name] for name in _NUMBERS if name in facts.numbers}
    for name in ("graph", "validation"):
        if name in facts.numbers:
            summary[name] = facts.numbers[name] > 0
    return {**summary, **_measured(rows, facts), **_where(facts), **_logged(facts, log)}


def _measured(rows: list[Row], facts: Facts) -> dict[str, object]:
    found: dict[str, object] = {
        "avg_busbw": facts.average.value if facts.average else None,
        "out_of_bounds": facts.out_of_bounds,
        "dtypes": tuple(dict.fromkeys(row.dtype for row in rows)) or None,
        "redops": tuple(dict.fromkeys(row.redop for row in rows if row.redop)) or None,
        **_checked(rows),
        **_shown(rows),
        "choices": {row.size_bytes: dict(row.choices) for row in rows if row.choices} or None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _checked(rows: list[Row]) -> dict[str, object]:
    """How many rows had their results compared, of those that have a column for it."""
    checkable = [row for row in rows if any(side.has_check for side in row.sides)]
    if not checkable:
        return {}
    checked = sum(any(side.is_checked for side in row.sides) for row in checkable)
    return {"rows_checkable": len(checkable), "rows_checked": checked}


def _shown(rows: list[Row]) -> dict[str, object]:
    """Whether results are reduced, come from or go to one rank, and are compared in place.

    What the rows do not show, or not all alike, is ``None``.
    """
    reduced = {row.redop not in ("", "none") for row in rows if row.redop is not None}
    rooted = {not row.root.startswith("-") for row in rows if row.root is not None}
    sides = [{side.placement: side.is_checked for side in row.sides} for row in rows]
    in_place = {each.get("in_place") for each in sides if each.get("out_of_place")}
    return {
        "reduces": _alike(reduced),
        "rooted": _alike(rooted),
        "checked_in_place": _alike(in_place),
    }


def _alike(found: Collection[bool | None]) -> bool | None:
    return next(iter(found)) if len(found) == 1 else None


def _where(facts: Facts) -> dict[str, object]:
    if not facts.ranks:
        return {} if facts.nranks is None else {"nranks": facts.nranks}
    by_host = Counter(host for _, host in sorted(facts.ranks.items()))
    found: dict[str, object] = {"nranks": facts.nranks, "hosts": tuple(by_host)}
    if facts.devices:
        found["devices"] = tuple(facts.devices)
    if facts.lists_all_ranks:
        found |= {"nnodes": len(by_host), "gpus": dict(by_host)}
    return found


def _logged(facts: Facts, log: Log) -> dict[str, object]:
    found: dict[str, object] = {
        "library": facts.library,
        "library_version": facts.library_version,
        "transports": log.transports or None,
        "channel_paths": dict(log.paths) or None,
        "network": log.network,
        "channels": log.channels,
    }
    return {name: value for name, value in found.items() if value is not None}

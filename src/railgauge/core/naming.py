"""Short names for sets of nodes of any size. Pure.

A few nodes are named in full, and many are folded::

    >>> place(["mx01", "mx02"])
    'mx01:mx02'
    >>> folded(["mx01", "mx02", "mx03", "gpu7"])
    'gpu7,mx[01-03]'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from railgauge.core.model import Case

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""The names of clusters, groups and platforms, which become names of files; see ``node_names``."""

_FEW = 4
_MOST_CHARACTERS = 80


def folded(names: Iterable[str]) -> str:
    """Return all names as a NodeSet, ``mx[01-16],gpu7``, with at most one bracket in each part.

    ``unfolded`` reads it back. ``rack1-mx[1-4],rack2-mx[1-4]`` is not folded further, so that
    redaction can find and replace the host names in it.
    """
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet  # noqa: PLC0415 - slow to import

    nodes = NodeSet.fromlist(list(names), resolver=RESOLVER_NOGROUP)
    nodes.fold_axis = (-1,)
    return str(nodes)


def among(names: Iterable[str]) -> str:
    """Return alternatives, exactly one of which is meant: ``mx01|mx02``; folded if over four."""
    found = list(dict.fromkeys(names))
    return "|".join(found) if len(found) <= _FEW else folded(found)


def place(nodes: Sequence[str]) -> str:
    """Return nodes for display: ``mx01:mx02``, ``mx[01-16]`` or ``a and 39 more``."""
    if len(nodes) <= _FEW:
        return ":".join(nodes)
    text = folded(nodes)
    return text if len(text) <= _MOST_CHARACTERS else f"{nodes[0]} and {len(nodes) - 1} more"


def shortened(text: str) -> str:
    """Return text of ``folded`` or ``among`` for display: ``a and 39 more`` if it is too long."""
    if len(text) <= _MOST_CHARACTERS:
        return text
    nodes = unfolded(text)
    return f"{nodes[0]} and {len(nodes) - 1} more" if len(nodes) > 1 else text


def unfolded(text: str) -> list[str]:
    """Return the names in ``a``, ``a|b`` or a folded ``mx[01-04]``; none for an empty text."""
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet  # noqa: PLC0415 - slow to import

    parts = (NodeSet(part, resolver=RESOLVER_NOGROUP) for part in text.split("|"))
    return [name for part in parts for name in part]


def listed(words: Sequence[str], most: int = 8, between: str = ", ") -> str:
    """Return ``a, b, c``, or the first ``most`` of them and how many more there are."""
    rest = len(words) - most
    return between.join(words[:most]) + (f" and {rest} more" if rest > 0 else "")


def title(case: Case) -> str:
    """Return a case for display: ``node_all_reduce[mx01]``, ``group_all_reduce[mx[01-16]]``."""
    path = f"-{case.pairing}" if case.pairing else ""
    return f"{case.measurement}[{place(case.nodes)}{path}]"

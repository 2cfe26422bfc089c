"""Several nodes in few words, however many they are. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from railgauge.core.model import Case

_FEW = 4
_MOST_CHARACTERS = 80


def folded(names: Iterable[str]) -> str:
    """All of the names as a NodeSet, ``mx[01-16],gpu7``; one bracket for each of its parts.

    It can be read back, and the names of hosts in it can be found and replaced: that is why
    ``rack1-mx[1-4],rack2-mx[1-4]`` is not folded any further.
    """
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet  # noqa: PLC0415 - slow to import

    nodes = NodeSet.fromlist(list(names), resolver=RESOLVER_NOGROUP)
    nodes.fold_axis = (-1,)
    return str(nodes)


def among(names: Iterable[str]) -> str:
    """One of these, nobody knows which: ``mx01|mx02``, and folded where they are many."""
    found = list(dict.fromkeys(names))
    return "|".join(found) if len(found) <= _FEW else folded(found)


def place(nodes: Sequence[str]) -> str:
    """Where something was measured, for people: ``mx01:mx02``, ``mx[01-16]``, ``a and 39 more``."""
    if len(nodes) <= _FEW:
        return ":".join(nodes)
    text = folded(nodes)
    return text if len(text) <= _MOST_CHARACTERS else f"{nodes[0]} and {len(nodes) - 1} more"


def shortened(text: str) -> str:
    """What ``folded`` or ``among`` gave, for people: with the first name only where it is long."""
    if len(text) <= _MOST_CHARACTERS:
        return text
    nodes = unfolded(text)
    return f"{nodes[0]} and {len(nodes) - 1} more" if len(nodes) > 1 else text


def unfolded(text: str) -> list[str]:
    """The names of ``a``, ``a|b`` or a folded ``mx[01-04]``; of an empty text none."""
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet  # noqa: PLC0415 - slow to import

    parts = (NodeSet(part, resolver=RESOLVER_NOGROUP) for part in text.split("|"))
    return [name for part in parts for name in part]


def listed(words: Sequence[str], most: int = 8) -> str:
    """``a, b, c``, of which only the first are said where they are many."""
    rest = len(words) - most
    return ", ".join(words[:most]) + (f" and {rest} more" if rest > 0 else "")


def title(case: Case) -> str:
    """A case for people: ``node_all_reduce[mx01]``, ``group_all_reduce[mx[01-16]]``."""
    path = f"-{case.pairing}" if case.pairing else ""
    return f"{case.measurement}[{place(case.nodes)}{path}]"

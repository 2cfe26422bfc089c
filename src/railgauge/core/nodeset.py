"""Node sets in ClusterShell's notation, read from untrusted text. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import prod

from railgauge.core.errors import BadInput

_LONGEST = 100_000
_PART = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\])+")
_RANGES = re.compile(r"\[([^\[\]]*)\]")
_SPAN = re.compile(r"(\d{1,12})(?:-(\d{1,12}))?(?:/\d{1,12})?")


def expanded(text: str, most: int) -> tuple[str, ...]:
    """Return the names in ``mx[01-04],gpu7``.

    Raises ``BadInput`` for more than ``most`` names and for text that is not a node set. Names are
    counted before they are made: ``a[0-999999999]`` takes no memory.
    """
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException  # noqa: PLC0415

    _refuse_more(text, [text], most)
    try:
        return tuple(NodeSet(text, resolver=RESOLVER_NOGROUP))
    # ClusterShell has no error of its own for numbers that are too long.
    except (NodeSetException, ValueError, AssertionError) as error:
        message = str(error).replace(text, f"{text[:60]}")
        raise BadInput(f"{text[:60]!r} is not a set of nodes: {message[:200]}") from None


def all_expanded(parts: Iterable[str], most: int) -> list[str]:
    """Return the names in these node sets, one after the other; ``most`` holds for all together."""
    sets = list(parts)
    _refuse_more(", ".join(sets[:8]), sets, most)
    return [name for text in sets for name in expanded(text, most)]


def _refuse_more(shown: str, sets: Sequence[str], most: int) -> None:
    if any(len(text) > _LONGEST for text in sets):
        raise BadInput(f"{shown[:60]!r} has more than {_LONGEST:,} characters")
    count = sum(_count(part) for text in sets for part in _PART.findall(text))
    if count > most:
        raise BadInput(f"{shown[:60]!r} names {count:,} nodes, and at most {most:,} are read")


def _count(part: str) -> int:
    """Return an upper bound on the names in one part. Raises ``BadInput`` for a bad range."""
    return prod(sum(map(_width, ranges.split(","))) for ranges in _RANGES.findall(part))


def _width(span: str) -> int:
    match = _SPAN.fullmatch(span.strip())
    if match is None:
        raise BadInput(f"{span[:60]!r} is not a range of node numbers")
    return max(0, int(match[2] or match[1]) - int(match[1])) + 1

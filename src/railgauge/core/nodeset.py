"""Sets of node names as ClusterShell folds them, from text that anybody may have written. Pure."""

from __future__ import annotations

import re
from math import prod

from railgauge.core.errors import BadInput

_LONGEST = 100_000
_PART = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\])+")
_RANGES = re.compile(r"\[([^\[\]]*)\]")
_SPAN = re.compile(r"(\d{1,12})(?:-(\d{1,12}))?(?:/\d{1,12})?")


def expanded(text: str, most: int) -> tuple[str, ...]:
    """The names of ``mx[01-04],gpu7``. Raises ``BadInput`` for more than ``most``, or for none.

    How many it would be is known before the first name is made: ``a[0-999999999]`` costs nothing.
    """
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException  # noqa: PLC0415

    if len(text) > _LONGEST or sum(map(_count, _PART.findall(text))) > most:
        raise BadInput(f"{text[:60]!r} names more than {most} nodes")
    try:
        return tuple(NodeSet(text, resolver=RESOLVER_NOGROUP))
    except NodeSetException as error:
        raise BadInput(f"{text[:60]!r} is no set of nodes: {error}") from None


def _count(part: str) -> int:
    """How many names one part has at most; what is no range stands for none at all."""
    return prod(sum(map(_width, ranges.split(","))) for ranges in _RANGES.findall(part))


def _width(span: str) -> int:
    match = _SPAN.fullmatch(span.strip())
    if match is None:
        raise BadInput(f"{span[:60]!r} is no range of node numbers")
    return max(0, int(match[2] or match[1]) - int(match[1])) + 1

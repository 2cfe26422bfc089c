"""All questions of a test about one node as one item of pytest. Pure.

Up to ``MOST_ITEMS`` each part, pair, pairing and message size is an item that pytest collects. In a
larger run pytest collects one item for each test and node, with the others as its rows (sub-items).
Each row has the record that the item would have, so that the verdict is the same.

Example: the rows of ``test_bandwidth[host_read_bandwidth-all-pairs-of-a-all-pairings-all-sizes]``
have the ids ``…-a:b-mlx5_0-64KiB]``, ``…-a:b-mlx5_0-8MiB]``, ``…-a:b-mlx5_1-64KiB]`` and so on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from sys import intern
from typing import Any

MOST_ITEMS = 20_000
"""pytest keeps 3.5 KiB for an item until the end of its session: 70 MiB in each process."""

PAIR, PAIRING = "pair", "pairing"
PARTS = (PAIRING, "gpu", "nic", "adapter", "link", "size")
"""The arguments beside pairs of which an item may have all values, in the order of its id."""


@dataclass(frozen=True, slots=True)
class All:
    """All values of one argument of a test, as the value of that argument.

    Pairs are those of one source node, ``of``.
    """

    argument: str
    values: tuple[Any, ...]
    of: str = ""

    def __str__(self) -> str:
        return f"all-{self.argument}s{f'-of-{self.of}' if self.of else ''}"


def id_at(item_id: str, spans: Sequence[All], words: Sequence[str]) -> str:
    """The id of a row of an item, from that item's id."""
    if not spans:
        return item_id
    end = f"{'-'.join(map(str, spans))}]"
    assert item_id.endswith(end), item_id
    # Plan, gates and record of a run ask for each id.
    return intern(f"{item_id.removesuffix(end)}{'-'.join(words)}]")


def place_id(item_id: str) -> str:
    """The id of an item without spans: ``test_x[a:b]`` for ``test_x[a:b-all-sizes]``.

    For an item with the pairs of a node it is their common beginning.
    """
    return _PAIRS.sub(r"\1:", _SPANS.sub("]", item_id))


_SPANS = re.compile(rf"(?:-(?:{'|'.join(str(All(name, ())) for name in PARTS)}))+\]$")
_PAIRS = re.compile(r"\ball-pairs-of-(.*)\]$")

"""All pairings and message sizes of a test at one place as one item of pytest. Pure.

Up to ``MOST_ITEMS`` each of them is an item that pytest collects. In a larger run pytest collects
one item for each place, and the others are rows of it. Each row has the record that the item would
have, so that the verdict is the same.

Example: the rows of ``test_bandwidth[host_read_bandwidth-a:b-all-pairings-all-sizes]`` have the
ids ``…-a:b-mlx5_0-64KiB]``, ``…-a:b-mlx5_0-8MiB]``, ``…-a:b-mlx5_1-64KiB]`` and so on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from sys import intern
from typing import Any

MOST_ITEMS = 100_000
"""Collecting so many items takes 9 s of processor time and 190 MiB in each process."""

ARGUMENTS = ("pairing", "size")
"""What an item may hold all of, in the order of its id, which ends with them."""


@dataclass(frozen=True, slots=True)
class All:
    """All values of one argument of a test, as the value of that argument."""

    argument: str
    values: tuple[Any, ...]

    def __str__(self) -> str:
        return f"all-{self.argument}s"


def id_at(item_id: str, held: Sequence[All], words: Sequence[str]) -> str:
    """The id of a row of an item, from that item's id."""
    if not held:
        return item_id
    end = f"{'-'.join(map(str, held))}]"
    assert item_id.endswith(end), item_id
    # Plan, gates and record of a run ask for each id.
    return intern(f"{item_id.removesuffix(end)}{'-'.join(words)}]")


def place_id(item_id: str) -> str:
    """The id of an item, less what it holds: ``test_x[a:b]`` for ``test_x[a:b-all-sizes]``."""
    return _HELD.sub("]", item_id)


_HELD = re.compile(rf"(?:-(?:{'|'.join(str(All(name, ())) for name in ARGUMENTS)}))+\]$")

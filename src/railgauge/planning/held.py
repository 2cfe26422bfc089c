"""All pairings and message sizes of a test at one place as one item of pytest. Pure.

Up to ``MOST_ITEMS`` each of them is an item that pytest collects. In a larger run pytest collects
one item for each place and makes the others when it comes to them, so that records, reports and
verdict are the same, and only what pytest holds before the first item is not.

Example: ``test_write_bandwidth[a:b-all-pairings-all-sizes]`` becomes ``…[a:b-mlx5_0-64KiB]``,
``…[a:b-mlx5_0-8MiB]``, ``…[a:b-mlx5_1-64KiB]`` and so on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

MOST_ITEMS = 100_000
"""Collecting so many items takes 10 s of processor time and 330 MiB in each process."""

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
    """The id of one of the items that an item holds, of that item's id."""
    if not held:
        return item_id
    end = f"{'-'.join(map(str, held))}]"
    assert item_id.endswith(end), item_id
    return f"{item_id.removesuffix(end)}{'-'.join(words)}]"

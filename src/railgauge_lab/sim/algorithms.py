"""Which algorithm the collective library takes, what it costs, and how the log names it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]
    Job = dict[str, Any]
    Edges = list[tuple[int, int]]

RING, TREE, NVLS_TREE = "Ring", "Tree", "NVLSTree"
_BY_NAME = {name.lower(): name for name in (RING, TREE, NVLS_TREE)}
_NUMBERS = {TREE: 0, RING: 1, NVLS_TREE: 5}


def chosen(library: dict[str, Any], environment: dict[str, str]) -> str:
    """Return the algorithm of an all-reduce between nodes; empty if the library has not that one.

    Without a variable it is the ring.
    """
    prefix = library["prefix"]
    wanted = environment.get(f"{prefix}_ALGO") or RING
    found = _BY_NAME.get(wanted.lower(), "")
    has_nvls = library["nvls"] and environment.get(f"{prefix}_NVLS_ENABLE") != "0"
    return found if has_nvls or found != NVLS_TREE else ""


def sent(algorithm: str, nodes: int, ranks: int) -> float:
    """Return how often the busiest node sends an all-reduce's message to others.

    Two trees carry half of the message each, so that with many nodes it is twice.
    """
    if algorithm == RING:
        return 2 * (ranks - 1) / ranks
    hops = edges(nodes)
    return max(sum(a == node for a, _ in hops) for node in range(nodes)) / 2


def edges(count: int) -> Edges:
    """Return from which node to which the two trees of so many nodes send, in both directions."""
    down = [(parent, child) for child in range(1, count) for parent in [(child - 1) // 2]]
    last = count - 1
    return [
        hop
        for a, b in [*down, *((last - a, last - b) for a, b in down)]
        for hop in ((a, b), (b, a))
    ]


def printed(library: dict[str, Any], algorithm: str) -> str:
    """Return how the log of this version names an algorithm; empty if it names none."""
    version = tuple(int(part) for part in library["version"].split("+")[0].split("-")[0].split("."))
    if not algorithm or library["dialect"] == "mccl" or version < (2, 22):
        return ""
    return str(_NUMBERS[algorithm]) if version < (2, 24) else algorithm.upper()

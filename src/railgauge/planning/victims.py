"""The groups in which two nodes are measured while all others load the fabric.

The first two nodes of such a group are the victims. Where there are leaves they are in two of them,
the second one in the leaf that follows, so that each leaf has a victim in two groups. The others,
which load, are in the same leaves.

Example: the leaves ``a`` with a1 and a2, ``b`` with b1 and b2, and ``c`` with c1 and c2 have the
groups ``a-b`` (a1, b1, a2, b2, c1, c2), ``b-c`` (b1, c1, a1, …) and ``c-a``. Two leaves have one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from railgauge.planning.scaling import NO_LEAF, Nodes, by_leaf

_FEWEST = 4
_WITHOUT_LEAVES = "all"


def with_victims(nodes: Sequence[str], leaves: Mapping[str, Nodes]) -> dict[str, Nodes]:
    """Return the groups by name, each with all nodes; empty for fewer than four nodes."""
    if len(nodes) < _FEWEST:
        return {}
    inside = by_leaf(nodes, leaves)
    names = [name for name in inside if name != NO_LEAF]
    if len(names) < 2:  # noqa: PLR2004
        return {_WITHOUT_LEAVES: tuple(nodes)}
    pairs = zip(names, [*names[1:], *names[:1]], strict=True)
    made = {f"{one}-{other}": (inside[one][0], inside[other][0]) for one, other in pairs}
    some = list(made.items())[: 1 if len(names) == 2 else None]  # noqa: PLR2004
    return {name: (*pair, *(node for node in nodes if node not in pair)) for name, pair in some}

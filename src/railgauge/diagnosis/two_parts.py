"""A node that comes and goes, or two parts that are slow all the time. Pure.

Example: ``mx02`` was slow with ``mx05`` over both of its NICs, and with ``mx01`` over ``mlx5_0``. A
node that comes and goes explains this, and so do a slow path to ``mx05`` and a slow ``mlx5_0``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from railgauge.core.naming import among, listed

SlowPath = tuple[Sequence[str], str]
"""The nodes of a slow measurement, and the NIC of the node in question."""


@dataclass(frozen=True, slots=True)
class TwoParts:
    """The path to ``partner``, and the NICs one of which explains the rest, as ``mx02 mlx5_0``.

    ``other`` is the node at the other end of the rest, if all of it was measured with one.
    """

    node: str
    partner: str
    nics: tuple[str, ...]
    other: str

    @property
    def suspects(self) -> str:
        """The nodes, as ``Where`` names them."""
        return among(sorted({self.node, self.other} - {""}))

    def __str__(self) -> str:
        names = [self.node, f"{self.node}:{self.partner}", *self.nics]
        return f"the evidence fits each of {listed(names)}"


def two_parts(node: str, slow: Sequence[SlowPath]) -> TwoParts | None:
    """The two parts that explain all; ``None`` if no slow path and one slow NIC do."""
    partners = sorted({name for nodes, _ in slow for name in nodes} - {node})
    for partner in partners if len({nic for _, nic in slow}) > 1 else ():
        rest = [(nodes, nic) for nodes, nic in slow if partner not in nodes]
        others = {name for nodes, _ in rest for name in nodes} - {node}
        if len({nic for _, nic in rest}) <= 1:
            nics = sorted({f"{name} {nic}" for nodes, nic in rest for name in nodes})
            return TwoParts(node, partner, tuple(nics), others.pop() if len(others) == 1 else "")
    return None

"""Physics that no document shows; a lab has it only if it is asked for.

``node["physics"]`` names what holds: ``gpu-links`` (a slow GPU slows copies over its own links),
``hiding`` (on half of the paths the largest loss hides the others, on the rest they add up), and
``nics`` (a slow NIC slows its node's other NICs). ``node["noise"]`` is a multiple of the noise of
the documents.
"""

from __future__ import annotations

import math

from .chance import chance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]

GPU_LINKS, HIDING, NICS = "gpu-links", "hiding", "nics"
NAMES = (GPU_LINKS, HIDING, NICS)
_HALF = 0.5


def noise(node: Node) -> float:
    return float(node.get("noise", 1.0))


def together(node: Node, path: str, *shares: float) -> float:
    """Return what is left of a path of which these shares are left."""
    if _holds(node, HIDING) and chance(f"{node['seed']} {node['name']} {path} hides") < _HALF:
        return min(shares)
    return math.prod(shares)


def nic_speed(node: Node, nic: dict[str, Any]) -> float:
    """Return the share that is left to a NIC, which may lose half of what another one loses."""
    own = float(nic["speed"])
    if not _holds(node, NICS):
        return own
    every = (*node["devices"].values(), *node["netdevs"].values())
    worst = min((float(one.get("speed", 1.0)) for one in every if one is not nic), default=1.0)
    return own * (1.0 - _HALF * (1.0 - worst))


def link_share(node: Node, a: int | str, b: int | str) -> float:
    """Return the share that is left to copies from one GPU of the node to another one."""
    share = float(node["collectives"]["slow_links"].get(f"{a}>{b}", 1.0))
    if not _holds(node, GPU_LINKS):
        return share
    return share * min(float(node["gpus"][int(one)].get("speed", 1.0)) for one in (a, b))


def _holds(node: Node, name: str) -> bool:
    return name in node.get("physics", ())

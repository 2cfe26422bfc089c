"""The model that ``train-bench`` trains: its size, its operations, and how long a rank takes.

No document trains a model: the seconds follow from the platform's rate of bf16 products (``alone``
in the figures), half of which a small model is taken to reach.
"""

from __future__ import annotations

import math
from hashlib import sha256

from . import figures
from .chance import chance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Run = dict[str, Any]

_REACHED = 0.5
_SIX = 6  # operations of a step for each weight and token: 2 forward, 4 backward
_LOSS_WAVE = 0.02
_LARGE = 1 << 29  # the noise is that of a large message


def parameters(asked: Run) -> int:
    width = asked["width"]
    each = 3 * width**2 + width**2 + 4 * width**2 + 4 * width**2 + 2 * width
    return int(asked["layers"] * each + width + 2 * asked["vocabulary"] * width)


def operations(asked: Run) -> float:
    """Return the operations of a rank in a step: of each weight and token, and of the attention."""
    width, tokens = asked["width"], asked["batch"] * asked["sequence"]
    weights = parameters(asked) - asked["vocabulary"] * width  # the embedding is looked up
    weights -= (2 * asked["layers"] + 1) * width  # and the norms take no product
    attention = 2 * asked["layers"] * asked["sequence"] * width
    return float(_SIX * tokens * (weights + attention))


def compute_s(asked: Run, one: Run) -> float:
    """Return the seconds of forward, backward and update of a rank."""
    node, gpu = one["node"], one["gpu"]
    rate = figures.load(node["figures"])["alone"]["bf16"][0] * 1e12 * _REACHED
    rate *= node["speed"] * figures.gpu_share(node, one["number"]) * gpu.get("clock_share", 1.0)
    rate *= gpu.get("rank_share", 1.0)
    rate *= figures.link_noise(node, f"{node['name']} chip of gpu{one['number']}")
    return float(operations(asked) / (rate * figures.noise(node, one["key"], _LARGE)))


def loss(asked: Run, step: int) -> str:
    """Return a loss near that of equal odds: random tokens cannot be learnt."""
    apart = _LOSS_WAVE * (chance(f"{asked['seed']} loss {step}") - 0.5)
    return f"{math.log(asked['vocabulary']) * (1 + apart):.9g}"


def joined(parts: list[Any]) -> str:
    return sha256(" ".join(map(str, parts)).encode()).hexdigest()[:16]

"""How severe a fault is, and which measurements it affects.

SEVERITY is the share that is lost: ``slow-node@mx02=4%`` leaves 96 % of the bandwidth. With
``p=0.3`` the fault affects each measurement with probability 0.3; the draw depends on the lab's
seed, the fault and how often the tool ran on the node before, so a lab that repeats the same
commands repeats the same draws. A fault of the fabric is drawn once for all nodes. With
``after=60s`` the fault begins 60 s after the lab's start.

A simulated tool reads the description of its node when it starts. A node with intermittent faults
has one description for each set of them, and the tool takes the one that holds at that moment
(``sim/fault_timing.py``). Only a fault that acts through the tools can be intermittent: the node's
files, executables and SSH server are made once, when the lab starts.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import Any

from railgauge.core.errors import BadInput
from railgauge_lab import fabric_faults, files, net_files
from railgauge_lab.fault_places import Fault, NodeFile, bad
from railgauge_lab.sim import stored

ApplyFault = Callable[[Fault, NodeFile], None]

_SECONDS = {"s": 1, "m": 60, "h": 3600}
_MOST = 4  # of the intermittent faults of one node: each more doubles the descriptions


def severity(text: str, given: str) -> float:
    """Return 0.04 for ``4%``. Raises ``BadInput`` for anything but a share of 0 to 100 %."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)%", given)
    share = float(match[1]) / 100 if match else 0.0
    if not 0 < share < 1:
        raise bad(text, f"severity {given!r} is no share", "write, for example, slow-node@NODE=4%")
    return share


def timing(text: str, parts: Sequence[str]) -> dict[str, float]:
    """Return the fields of ``Fault`` that ``p=P`` and ``after=TIME`` set. Raises ``BadInput``."""
    found: dict[str, float] = {}
    for part in parts:
        key, _, value = part.partition("=")
        if key not in _READERS:
            raise bad(text, f"unknown option {part!r}", "known: p=P, after=TIME")
        field, read = _READERS[key]
        if field in found:
            raise bad(text, f"{key} is given twice", f"give one {key}=")
        found[field] = read(text, value)
    return found


def _chance(text: str, value: str) -> float:
    chance = float(value) if re.fullmatch(r"[01]?\.\d+|1", value) else 0.0
    if not 0 < chance <= 1:
        raise bad(text, f"p={value} is no probability above 0", "write, for example, p=0.3")
    return chance


def _after(text: str, value: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", value)
    if not match:
        raise bad(text, f"after={value} is no time", "write, for example, after=60s or after=5m")
    return float(match[1]) * _SECONDS[match[2]]


_READERS = {"p": ("chance", _chance), "after": ("after_s", _after)}


def apply_faults(node: NodeFile, own: Sequence[Fault], apply: ApplyFault) -> None:
    """Apply the node's faults to its description, and add the descriptions of those that change.

    ``node["timings"]`` holds ``[name, probability, time of the monotonic clock, whether it is one
    of the fabric]`` for each intermittent fault, and ``node["variants"]`` the description
    for every set of them: bit N of its key is fault N. Raises ``BadInput`` if a fault cannot come
    and go.
    """
    changing = [fault for fault in own if not fault.always]
    if len(changing) > _MOST:
        known = f"at most {_MOST} faults of one node can be intermittent, not {len(changing)}"
        raise BadInput(known, where=f"lab node {node['name']}", remedy="leave some of them out")
    healthy = stored.copied(node) if changing else node
    _apply_all(node, [fault for fault in own if fault.always], apply)
    variants = {}
    for number in range(1, 2 ** len(changing)):
        acting = [fault for bit, fault in enumerate(changing) if number >> bit & 1]
        variant = stored.copied(healthy)
        now = [one for one in own if one.always or any(one is acts for acts in acting)]
        _apply_all(variant, now, apply)
        _require_same_files(node, variant, acting)
        variants[str(number)] = variant
    if changing:
        start = time.monotonic()
        node["timings"] = [
            [str(one), one.chance, start + one.after_s, one.name in fabric_faults.NAMES]
            for one in changing
        ]
        node["variants"] = variants


def _apply_all(node: NodeFile, own: Sequence[Fault], apply: ApplyFault) -> None:
    for fault in own:
        apply(fault, node)


def _require_same_files(node: NodeFile, variant: NodeFile, acting: Sequence[Fault]) -> None:
    if _made_once(node) != _made_once(variant):
        raise bad(
            acting[-1],
            f"{acting[-1].name} cannot be intermittent: it changes files, programs or the SSH "
            "server of the node, which are made once",
            "leave out p= and after=",
        )


def _made_once(node: NodeFile) -> tuple[Any, ...]:
    """Return what is made from the description when the lab starts."""
    return (
        files.of(node),
        files.links(node),
        net_files.ethtool(node),
        sorted(node["tools"]),
        node["ssh"],
    )

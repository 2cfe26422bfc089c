"""NICs and GPUs whose names differ by node.

The suite speaks of devices by the names of the platform file. ``devices`` of the hostfile gives the
name of such a device on a node: with ``{"gpu07": {"mlx5_0": "mlx5_bond_0"}}`` the commands for
``gpu07`` get ``mlx5_bond_0``, and what it reports of ``mlx5_bond_0`` is reported of ``mlx5_0``. The
GPU with the number 3 has the name ``gpu3``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_GPU = re.compile(r"gpu(0|[1-9][0-9]{0,3})")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
OTHER = "other-"


def gpu_number(name: str) -> int | None:
    """Return 3 for ``gpu3``, ``None`` for any other name."""
    match = _GPU.fullmatch(name)
    return int(match[1]) if match else None


@dataclass(frozen=True, slots=True)
class DeviceNames:
    """Node -> declared name -> name on that node; other devices have their declared name there."""

    of: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def on(self, node: str, name: str) -> str:
        """Return the name that a declared device has on a node."""
        return self.of.get(node, {}).get(name, name)

    def gpu_on(self, node: str, gpu: int) -> int:
        """Return the number that a declared GPU has on a node."""
        number = gpu_number(self.on(node, f"gpu{gpu}"))
        return gpu if number is None else number

    def declared(self, node: str, name: str) -> str:
        """Return the declared name of a node's device.

        A device of the node that has the declared name of another is ``other-NAME``.
        """
        names = self.of.get(node, {})
        own = next((declared for declared, there in names.items() if there == name), "")
        return own or (f"{OTHER}{name}" if name in names else name)

    def text_on(self, node: str, text: str) -> str:
        """Return the text with each declared name in it replaced by the node's."""
        return _NAME.sub(lambda found: self.on(node, found[0]), text) if node in self.of else text

    def text_declared(self, node: str, text: str) -> str:
        """Return the text of a node with each of its names replaced by the declared one."""
        if node not in self.of:
            return text
        return _NAME.sub(lambda found: self.declared(node, found[0]), text)


AS_DECLARED = DeviceNames()

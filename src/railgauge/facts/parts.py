"""The exchangeable parts of a node: what identifies each of them, and where it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from railgauge.core.terms import Term

_LONGEST = 120
# Placeholder values of firmware.
_PLACEHOLDER = re.compile(
    r"(?i)[0fx.:\-\s]*|n/?a|none|null|empty|invalid|unknown|default( string)?|o\.?e\.?m\.?"
    r"|not? (specified|provided|available|applicable|settable|present|supported)"
    r"|(system |chassis |base ?board |product )?(serial|sku)( ?number| no\.?)?"
    r"|(to be )?filled by .*|0?1234567(8|89|890)?"
)


class PartKind(Term):
    """The kinds of parts in an inventory."""

    NODE = "node"
    BMC = "bmc"
    GPU = "gpu"
    NIC = "nic"
    DISK = "disk"


@dataclass(frozen=True, slots=True)
class InventoryPart:
    """One part. A value that could not be read is ``None``, and ``missing`` has the reason.

    ``name`` is ``gpu0``, ``mlx5_0`` or ``nvme0``, and ``node`` or ``bmc``. ``address`` is the PCI
    address, ``slot`` what the firmware calls the place. ``uuid`` is the UUID of a node or a GPU,
    and the GUID of an HCA (``0x`` and 16 digits). ``firmware`` is a node's BIOS and a GPU's VBIOS.
    """

    kind: PartKind
    name: str
    address: str | None = None
    slot: str | None = None
    model: str | None = None
    part_number: str | None = None
    serial: str | None = None
    uuid: str | None = None
    firmware: str | None = None
    missing: Mapping[str, str] = field(default_factory=dict)


# The fields that a part of each kind has.
FIELDS: Mapping[PartKind, tuple[str, ...]] = {
    PartKind.NODE: ("model", "part_number", "serial", "uuid", "firmware"),
    PartKind.BMC: ("model", "uuid", "firmware"),
    PartKind.GPU: ("address", "slot", "model", "part_number", "serial", "uuid", "firmware"),
    PartKind.NIC: ("address", "slot", "model", "part_number", "serial", "uuid", "firmware"),
    PartKind.DISK: ("address", "slot", "model", "serial", "firmware"),
}


def identifier(text: str | None) -> str | None:
    """Return the text if it can identify a part; ``None`` for a placeholder such as ``N/A``."""
    word = (text or "").strip()
    is_word = word.isprintable() and len(word) <= _LONGEST
    return word if word and is_word and not _PLACEHOLDER.fullmatch(word) else None


def part(
    kind: PartKind,
    name: str,
    printed: Mapping[str, str | None],
    why: Mapping[str, str],
    otherwise: str,
) -> InventoryPart:
    """Return a part from the fields that were printed.

    ``why`` has reasons for single fields that were not printed, ``otherwise`` the one for all
    others.
    """
    values = {item: identifier(printed.get(item)) for item in FIELDS[kind]}
    missing = {
        item: f"reads {printed[item]!r:.90}" if printed.get(item) else why.get(item) or otherwise
        for item, value in values.items()
        if value is None
    }
    return InventoryPart(kind, name, missing=missing, **values)

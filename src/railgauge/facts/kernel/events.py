"""The lines of a log that the table knows, each with the device that it is about. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from railgauge.facts.kernel.kinds import (
    CRITICAL,
    CRITICAL_LEVEL,
    ERROR_LEVEL,
    HINTS,
    KINDS,
    METAX,
    KernelKind,
)
from railgauge.facts.kernel.log import KernelRecord
from railgauge.facts.kernel.xids import UNKNOWN, XIDS, Gravity
from railgauge.facts.model import NodeFacts

# Only this many characters of a line are searched; the kernel's own lines are shorter.
_LONGEST_LINE = 1000
_SLOT = re.compile(r"(?:(?P<domain>[0-9a-f]{4,8}):)?(?P<slot>[0-9a-f]{2}:[0-9a-f]{2})(?:\.[0-7])?")
_BY_PROGRAM = "a line like this, written by a program and not by the kernel: "


@dataclass(frozen=True, slots=True)
class KernelEvent:
    """One line of a known kind.

    ``device`` is the declared name of the GPU or NIC, the link of a switch, a PCI address that
    belongs to neither, or empty. ``code`` is that of an Xid or SXid, else empty.
    """

    record: KernelRecord
    kind: KernelKind
    code: str
    device: str
    gravity: Gravity
    means: str
    action: str

    @property
    def name(self) -> str:
        """The kind in words for a report: ``Xid 79``, or the kind's name."""
        return {"xid": f"Xid {self.code}", "sxid": f"SXid {self.code}"}.get(
            self.kind.name if self.code else "", self.kind.name
        )


def devices(facts: NodeFacts) -> Mapping[str, str]:
    """Return PCI slots (``0000:3b:00``) and names of network devices -> the declared name."""
    found: dict[str, str] = {}
    for netdev in facts.netdevs:
        found |= _named(netdev.name, netdev.pci_address, netdev.name)
    for nic in facts.nics:
        found |= _named(nic.name, nic.pci_address, nic.netdev)
    for gpu in facts.gpus:
        found |= _named(f"gpu{gpu.index}", gpu.bus_id, None)
    return found


def _named(name: str, address: str | None, netdev: str | None) -> dict[str, str]:
    keys = (name, netdev, _slot(address or ""))
    return {key: name for key in keys if key}


def _slot(address: str) -> str:
    """``0000:3b:00`` for ``00000000:3B:00.0``: functions of a device give one slot."""
    match = _SLOT.fullmatch(address.lower())
    return f"{match['domain'][-4:] if match['domain'] else '0000'}:{match['slot']}" if match else ""


def events(records: Iterable[KernelRecord], known: Mapping[str, str]) -> Iterator[KernelEvent]:
    """Yield the lines of a known kind; ``known`` are the node's devices."""
    for record in records:
        if event := event_of(record, known):
            yield event


def event_of(record: KernelRecord, known: Mapping[str, str]) -> KernelEvent | None:
    """Return the event of a line; ``None`` if the table has no kind for it.

    A line that a program wrote is at most a note: only the kernel's own lines are evidence.
    """
    text = record.text[:_LONGEST_LINE]
    for kind in KINDS if HINTS.search(text) else ():
        if match := kind.pattern.search(text):
            return _event(record, kind, match, known)
    if not record.is_kernels:
        return None
    if record.level <= ERROR_LEVEL and (match := METAX.pattern.search(text)):
        return _event(record, METAX, match, known)
    if record.level <= CRITICAL_LEVEL and (match := CRITICAL.pattern.search(text)):
        return _event(record, CRITICAL, match, known)
    return None


def _event(
    record: KernelRecord, kind: KernelKind, match: re.Match[str], known: Mapping[str, str]
) -> KernelEvent | None:
    fields = {name: value for name, value in match.groupdict().items() if value}
    if "count" in fields and int(fields["count"]) == 0:
        return None
    code, gravity, means, action = fields.get("code", ""), kind.gravity, kind.means, kind.action
    if kind.name == "xid" and code:
        xid = XIDS.get(int(code), UNKNOWN)
        gravity, means, action = xid.gravity, xid.means, xid.action
    if not record.is_kernels:
        gravity, means = Gravity.NOTE, _BY_PROGRAM + means
    device = _device(fields, known)
    return KernelEvent(record, kind, code, device, gravity, means, action)


def _device(fields: Mapping[str, str], known: Mapping[str, str]) -> str:
    address = fields.get("pci", "")
    place = known.get(_slot(address)) or known.get(fields.get("dev", "")) or address.lower()
    place = place or fields.get("dev", "")
    return f"{place} link {fields['link']}" if "link" in fields else place

"""Parse ``lspci -vvv``, complete or reduced to addresses, ACS, denials, slots and product data.

``17:00.0`` followed by ``ACSCtl: SrcValid+ … ReqRedir+ …`` puts ``0000:17:00.0`` among the devices
that redirect peer traffic.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_ADDRESS = re.compile(r"((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])(?:\s.*)?")
# The bits of ACSCtl that send a peer's requests, its completions, or both up to the root complex.
# SrcValid only checks the sender's bus number; UpstreamFwd and TransBlk concern traffic that comes
# from upstream or is already translated. ``pci=disable_acs_redir`` clears exactly these three.
_REDIRECTS = ("ReqRedir+", "CmpltRedir+", "EgressCtrl+")
_PART = "[PN] Part number:"
_SERIAL = "[SN] Serial number:"
_SLOT = "Physical Slot:"
_LINK = "LnkSta:"
_SHORT_ADDRESS = len("17:00.0")


@dataclass(frozen=True, slots=True)
class PciReport:
    """``acs_enabled`` are the devices that redirect peer traffic.

    ``part_numbers`` and ``serials`` map a PCI address with its domain to its product data;
    ``slots`` map it to the firmware's number of its slot, ``links`` to the state of its link.
    ``problem`` is the reason if ``acs_enabled`` could not be read.
    """

    acs_enabled: tuple[str, ...]
    part_numbers: Mapping[str, str]
    problem: str = ""
    serials: Mapping[str, str] = field(default_factory=dict)
    slots: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)


def parse_lspci(text: str) -> PciReport:
    """Return the access control of every bridge and all part numbers.

    In the output of ``grep ACSCtl``, which has no addresses, bridges are ``bridge #n``, from 1.
    """
    enabled: list[str] = []
    by_label: dict[str, dict[str, str]] = {_PART: {}, _SERIAL: {}, _SLOT: {}, _LINK: {}}
    address, bridges, devices, denied = "", 0, 0, False
    for line in text.splitlines():
        if match := _ADDRESS.fullmatch(line):
            address, devices = full_address(match[1]), devices + 1
        elif "ACSCtl:" in line:
            bridges += 1
            enabled += [address or f"bridge #{bridges}"] if redirects(line) else []
        elif "<access denied>" in line:
            denied = True
        elif address and (label := next((one for one in by_label if one in line), "")):
            by_label[label][address] = line.partition(label)[2].strip()
    problem = _problem(bridges, devices, denied and not enabled)
    found = (by_label[label] for label in (_SERIAL, _SLOT, _LINK))
    return PciReport(tuple(enabled), by_label[_PART], problem, *found)


def redirects(line: str) -> bool:
    """Whether an ``ACSCtl:`` line redirects traffic between peers to the root complex."""
    return any(flag in line for flag in _REDIRECTS)


def full_address(address: str) -> str:
    """Return the address with its domain, which lspci omits if there is only one."""
    return f"0000:{address}" if len(address) == _SHORT_ADDRESS else address


def _problem(bridges: int, devices: int, denied: bool) -> str:
    if denied:
        return "the capabilities read <access denied>"
    return "" if bridges or devices else "lists no devices"

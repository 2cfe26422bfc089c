"""Pseudonyms for host names, addresses and serial numbers, on request. Pure.

A name or an address becomes a pseudonym, the same one everywhere, that still has the form of a name
or an address: redacted output can still be parsed and judged::

    eth0 of mx07 is 10.2.122.7  ->  eth0 of host007 is 198.18.0.1
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property

from railgauge.core.errors import BadInput
from railgauge.core.node_names import spellings
from railgauge.core.nodeset import expanded


class Pseudonyms:
    """One pseudonym for each host name, numbered in sorted order, and for each address found.

    ``hosts`` are names as they occur in files. The pseudonym of a long name (``mx01.example.org``)
    begins with that of its short name (``mx01``), if both are given. ``serials`` are serial numbers
    and UUIDs, and each is replaced by one of its own form. ``versions`` are versions of software
    that look like IPv4 addresses (``2.32.0.6``) and stay.
    """

    def __init__(
        self,
        hosts: Iterable[str] | None = None,
        *,
        addresses: bool = False,
        serials: Iterable[str] = (),
        versions: Iterable[str] = (),
    ) -> None:
        self._versions = frozenset(versions)
        self._serials = _serial_numbers(serials)
        self._names = self._serials | _host_names(hosts or ())
        self._addresses = addresses
        self._known: dict[str, str] = {}
        self._numbers: Counter[str] = Counter()

    def text(self, text: str, counts: Counter[str]) -> str:
        if self._names:
            text = _SET.sub(lambda match: self._set(match[0], counts), text)
            text = self._name_pattern.sub(lambda match: self._named(match[0], counts), text)
        if self._addresses:
            text, count = _ADDRESS.subn(self._address, text)
            counts["address"] += count
        return text

    def _named(self, word: str, counts: Counter[str]) -> str:
        counts["serial number" if word in self._serials else "host name"] += 1
        return self._names[word]

    def know(self, words: Mapping[str, str]) -> None:
        """Add words with their replacements, which must already be made of pseudonyms."""
        self._names |= words
        self.__dict__.pop("_name_pattern", None)

    @cached_property
    def _name_pattern(self) -> re.Pattern[str]:
        """All names, longest first, where no letter or digit is next to them."""
        names = sorted(self._names, key=lambda name: (-len(name), name))
        one_of = "|".join(map(re.escape, names))
        return re.compile(rf"(?<![^\W_])(?:{one_of})(?![^\W_])")

    def _set(self, text: str, counts: Counter[str]) -> str:
        """Replace a folded node set such as ``mx[01-16]`` if all of its hosts are known."""
        names = _expanded(text)
        if not names or not all(name in self._names for name in names):
            return text
        counts["host name"] += len(names)
        return _folded(self._names[name] for name in names)

    def _address(self, match: re.Match[str]) -> str:
        found = match[0]
        kind = match.lastgroup or ""
        if not _is_address(kind, found) or (kind == "ipv4" and found in self._versions):
            return found
        if found not in self._known:
            self._numbers[kind] += 1
            self._known[found] = _ADDRESSES[kind](self._numbers[kind])
        return self._known[found]


def _host_names(hosts: Iterable[str]) -> dict[str, str]:
    named = sorted({host for host in hosts if host and not _is_ip(host) and host != "localhost"})
    short = [host for host in named if host.partition(".")[0] == host]
    width = max(3, len(str(len(named))))
    result = {host: f"host{number:0{width}}" for number, host in enumerate(short, 1)}
    for number, host in enumerate((host for host in named if host not in result), len(short) + 1):
        first = host.partition(".")[0]
        result[host] = f"{result.get(first, f'host{number:0{width}}')}.example"
    return {spelled: given for host, given in result.items() for spelled in spellings(host)}


_UUID = re.compile(r"(.*?)[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_CHIP = re.compile(r"0x[0-9A-Fa-f]{16}")


def _serial_numbers(serials: Iterable[str]) -> dict[str, str]:
    return {serial: _alike(serial, number) for number, serial in enumerate(sorted(set(serials)), 1)}


def _alike(serial: str, number: int) -> str:
    """A made-up serial number, or a UUID if it is one."""
    if match := _UUID.fullmatch(serial):
        return f"{match[1]}00000000-0000-4000-8000-{number:012x}"
    return f"0x{number:016x}" if _CHIP.fullmatch(serial) else f"SERIAL{number:06}"


# Node sets in ClusterShell's notation. Brackets alone are not a name, and are common in logs.
_RANGE = r"\[\d[\d,-]{0,30000}\]"
_SET = re.compile(
    rf"(?<![\w.\]-])(?:[^\W_][\w.-]{{0,200}}{_RANGE}[\w.-]{{0,200}}|{_RANGE}[\w.-]{{1,200}})"
)
_MOST_HOSTS = 4096


def _expanded(text: str) -> list[str]:
    try:
        return list(expanded(text, _MOST_HOSTS))
    except BadInput:
        return []


def _folded(names: Iterable[str]) -> str:
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet  # noqa: PLC0415

    return str(NodeSet.fromlist(list(names), resolver=RESOLVER_NOGROUP))


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


# GIDs in decimals as perftest prints them, MAC addresses, IPv6 and GIDs in hexadecimals, GUIDs.
_ADDRESS = re.compile(
    r"(?<![\w:.])(?:"
    r"(?P<decimal_gid>\d{1,3}(?::\d{1,3}){15})"
    r"|(?P<mac>[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5})"
    r"|(?P<ipv6>(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{0,4})"
    r"|(?P<guid>0x[0-9a-f]{16})"
    r")(?![\w:]|\.\d)"
    r"|(?<![\w.])(?P<ipv4>\d{1,3}(?:\.\d{1,3}){3})(?!\w|\.\d)"  # a port may follow
)
# Reserved ranges: RFC 2544 (IPv4), RFC 3849 (IPv6), and locally administered MAC addresses (02:).
_ADDRESSES: Mapping[str, Callable[[int], str]] = {
    "ipv4": lambda n: f"198.{18 + n // 65536}.{n // 256 % 256}.{n % 256}",
    "ipv6": lambda n: f"2001:0db8:0000:0000:0000:0000:{n // 65536:04x}:{n % 65536:04x}",
    "mac": lambda n: f"02:00:00:{n // 65536 % 256:02x}:{n // 256 % 256:02x}:{n % 256:02x}",
    "decimal_gid": lambda n: "32:01:13:184:" + "00:" * 10 + f"{n // 256 % 256:02}:{n % 256:02}",
    "guid": lambda n: f"0x{n:016x}",
}


def _is_address(kind: str, text: str) -> bool:
    """Return whether it is an address that identifies a site: not loopback, not multicast, and no
    GUID of zeros, which is none."""
    if kind == "guid":
        return int(text, 16) > 0
    if kind not in ("ipv4", "ipv6"):
        return True
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return text not in _NOBODYS and not (address.is_unspecified or address.is_multicast)


_NOBODYS = ("127.0.0.1", "::1", "0000:0000:0000:0000:0000:0000:0000:0001")

"""The settings of the cluster: its number of nodes, and the faults of their links.

For example, ``settings(3, {"limit": ["tcp02=50mbit"]})`` gives the nodes tcp01, tcp02 and tcp03 and
limits the link of tcp02 to 50 Mbit/s.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

from railgauge.core.errors import BadInput

LINE_RATE_MBIT = 200.0
MTU_BYTES = 1500
SSHDS = ("asyncssh", "openssh")
MOST_NODES = 128

# The IPv4 minimum that every host must be able to reassemble (RFC 791).
_SMALLEST_MTU = 576
_RATES = {"kbit": 1e-3, "mbit": 1.0, "gbit": 1e3}
_LOWEST_MBIT = 1.0


@dataclass(frozen=True, slots=True)
class LinkSettings:
    """The link of one node, the same in both directions.

    ``loss`` is the share of packets that are dropped, from 0 to 1. ``cut`` is empty, ``all`` (drop
    everything), or ``data`` (drop everything but ARP and SSH).
    """

    rate_mbit: float = LINE_RATE_MBIT
    loss: float = 0.0
    cut: str = ""
    mtu_bytes: int = MTU_BYTES


@dataclass(frozen=True, slots=True)
class Settings:
    """The names of the nodes in order, the links that have a fault, and the kind of SSH server."""

    nodes: tuple[str, ...]
    links: Mapping[str, LinkSettings] = field(default_factory=dict)
    sshd: str = SSHDS[0]

    def link(self, node: str) -> LinkSettings:
        return self.links.get(node, LinkSettings())


def settings(count: int, faults: Mapping[str, Sequence[str]], sshd: str = SSHDS[0]) -> Settings:
    """Read the settings; ``faults`` maps a key of ``FAULTS`` to its ``NODE=VALUE`` arguments.

    Raises ``BadInput`` for an unknown node, or a value that cannot be read or is out of range.
    """
    if not 2 <= count <= MOST_NODES:  # noqa: PLR2004 - a pair
        raise BadInput(
            f"--nodes {count} is out of range", remedy=f"give a number from 2 to {MOST_NODES}"
        )
    nodes = tuple(f"tcp{number:02d}" for number in range(1, count + 1))
    links: dict[str, LinkSettings] = {}
    for kind, words in faults.items():
        for word in words:
            node = re.split("[=:]", word, maxsplit=1)[0]
            if node not in nodes:
                raise BadInput(
                    f"--{kind} {word}: unknown node", remedy=f"name one of {', '.join(nodes)}"
                )
            links[node] = FAULTS[kind](links.get(node, LinkSettings()), word.removeprefix(node))
    return Settings(nodes, links, sshd)


def _limited(link: LinkSettings, word: str) -> LinkSettings:
    match = re.fullmatch(r"=(\d{1,6}(?:\.\d{1,3})?)([kmg]bit)", word.lower())
    rate_mbit = float(match[1]) * _RATES[match[2]] if match else 0.0
    if not _LOWEST_MBIT <= rate_mbit <= LINE_RATE_MBIT:
        _refuse("limit", word, f"NODE=50mbit, from {_LOWEST_MBIT:g} to {LINE_RATE_MBIT:g} Mbit/s")
    return replace(link, rate_mbit=rate_mbit)


def _lossy(link: LinkSettings, word: str) -> LinkSettings:
    match = re.fullmatch(r"=(\d{1,2}(?:\.\d)?)%", word)
    if not match or not float(match[1]):
        _refuse("loss", word, "NODE=5%, from 0.1 to 99.9")
    return replace(link, loss=float(match[1]) / 100)


def _cut(link: LinkSettings, word: str) -> LinkSettings:
    if word not in ("", ":data"):
        _refuse("partition", word, "NODE, or NODE:data to let SSH through")
    return replace(link, cut="data" if word else "all")


def _with_mtu(link: LinkSettings, word: str) -> LinkSettings:
    match = re.fullmatch(r"=(\d{1,5})", word)
    if not match or not _SMALLEST_MTU <= int(match[1]) <= MTU_BYTES:
        _refuse("mtu", word, f"NODE=1300, from {_SMALLEST_MTU} to {MTU_BYTES} bytes")
    return replace(link, mtu_bytes=int(match[1]))


def _refuse(kind: str, word: str, form: str) -> NoReturn:
    raise BadInput(f"--{kind} …{word} cannot be read or is out of range", remedy=f"write {form}")


FAULTS: Mapping[str, Callable[[LinkSettings, str], LinkSettings]] = {
    "limit": _limited,
    "loss": _lossy,
    "partition": _cut,
    "mtu": _with_mtu,
}

"""The addresses of queue pairs in perftest's output, compared with the nodes and with each other.

The two sides exchange their addresses, and each prints both. So a client's remote addresses are the
server's local ones, and all of them are those of the ports that the survey found::

     local address: LID 0x0e QPN 0x028a PSN 0x1a4ddc RKey 0x1fff7f VAddr 0x007f3b4c800000
     GID: 254:128:00:00:00:00:00:00:16:76:116:255:254:70:225:171

The output of another pair, or of another run, contradicts that.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from railgauge.facts.model import NicFacts
from railgauge.tools.output_checks import OutputCheck, SideOutput, ToolRequest, listed

_LOCAL, _REMOTE = "local", "remote"
_ADDRESS = re.compile(
    r"^[ \t]{0,8}(local|remote) address:[ \t]{1,4}LID (0x[0-9a-f]{1,8}|0{1,8})"
    r" QPN (0x[0-9a-f]{1,8}|0{1,8}) PSN (0x[0-9a-f]{1,8}|0{1,8})(?!\w)[^\n]{0,120}"
    r"(?:\n[ \t]{0,20}GID:[ \t]{0,20}([0-9a-fA-F:.]{2,64})[ \t]{0,20}$)?",
    re.MULTILINE,
)
_GID_BYTES = 16
# The verbs report 16 bits of a LID; Omni-Path has longer ones.
_LID_BITS = 0xFFFF


@dataclass(frozen=True, slots=True, order=True)
class QueueAddress:
    """The address of one queue pair; ``gid`` as printed, empty where none was."""

    lid: int
    qpn: int
    psn: int
    gid: str = ""

    def __str__(self) -> str:
        gid = f" GID {self.gid}" if self.gid else ""
        return f"LID {self.lid:#x} QPN {self.qpn:#x} PSN {self.psn:#x}{gid}"


def read_addresses(text: str) -> dict[str, tuple[QueueAddress, ...]]:
    """Return the queue pairs under ``local`` and ``remote``; no key for a side that has none."""
    if " address:" not in text:
        return {}
    found: dict[str, dict[QueueAddress, None]] = {}
    for side, lid, qpn, psn, gid in _ADDRESS.findall(text):
        address = QueueAddress(int(lid, 16), int(qpn, 16), int(psn, 16), gid)
        found.setdefault(side, {})[address] = None
    return {side: tuple(addresses) for side, addresses in found.items()}


def identity(text: str) -> str:
    """Return the queue pairs of both sides, which no other run has; empty if they are not shown.

    Each side draws the first PSN of a queue pair at random, 24 bits. Two runs have the same two
    with a probability of 2^-48: among the 5e9 pairs of 100,000 runs that is expected 2e-5 times.
    The number of a queue pair (QPN), which counts up on most adapters, makes it rarer still. The
    LID is left out, because it could be edited in a copied output.
    """
    addresses = read_addresses(text)
    if not (addresses.get(_LOCAL) and addresses.get(_REMOTE)):
        return ""
    every = sorted({(one.qpn, one.psn) for side in addresses.values() for one in side})
    return ", ".join(f"QPN {qpn:#x} PSN {psn:#x}" for qpn, psn in every)


def checks_of_addresses(
    asked: ToolRequest, client: SideOutput, servers: Sequence[SideOutput]
) -> Iterator[OutputCheck]:
    """Check that both sides name the ports of their nodes, and each other's queue pairs."""
    for side in (client, *servers):
        ends = {_LOCAL: side.node, _REMOTE: _other(asked, side.node)}
        for name, node in ends.items():
            yield from _of_port(asked, side, name, node)
    for server in servers:
        yield from _of_each_other(client, server)


def _other(asked: ToolRequest, node: str) -> str:
    return next((one for one in asked.case.nodes if one != node), node)


def _of_port(asked: ToolRequest, side: SideOutput, name: str, node: str) -> Iterator[OutputCheck]:
    """Check that the printed LID and GID are those of the port; RoCE has the LID 0."""
    nic, printed = _port(asked, node), listed(side.parsed.summary, name, QueueAddress)
    if nic is None or not printed:
        return
    at = f"{name} address of {side.node}"
    if nic.lid is not None:
        wanted, lids = nic.lid & _LID_BITS, sorted({one.lid for one in printed})
        shown = ", ".join(f"{lid:#x}" for lid in lids)
        asks = f"{nic.name} of {node} has"
        fits = lids == [wanted]
        yield OutputCheck(
            f"LID in the {at}", f"{wanted:#x}", shown, fits, side.node, remedy=_MOVED, asks=asks
        )
    known = {packed for entry in nic.gids if (packed := _packed(entry.gid))}
    gids = [one.gid for one in printed if one.gid and _readings(one.gid)]
    if known and gids:
        strange = [gid for gid in gids if known.isdisjoint(_readings(gid))]
        yield OutputCheck(
            f"GID in the {at}", "one of its GID table", ", ".join(strange or gids), not strange,
            side.node, asks=f"{nic.name} of {node} has",
        )  # fmt: skip


_MOVED = (
    "look for a wrapper that prints another output; if the subnet manager has given out other LIDs "
    "since the survey, start a new run"
)


def _port(asked: ToolRequest, node: str) -> NicFacts | None:
    end, facts = asked.case.path_at(node), asked.facts(node)
    if end is None or facts is None:
        return None
    return next((nic for nic in facts.nics if nic.name == end.nic), None)


def _packed(gid: str) -> bytes | None:
    try:
        return ipaddress.IPv6Address(gid).packed
    except ValueError:
        return None


def _readings(printed: str) -> frozenset[bytes]:
    """Return what a printed GID may mean: perftest prints each byte, in decimal or hexadecimal."""
    words = printed.split(":")
    found = {packed} if (packed := _packed(printed)) else set()
    if len(words) == _GID_BYTES:
        for base in (10, 16):
            try:
                found.add(bytes(int(word, base) for word in words))
            except ValueError:  # a digit of the other base, or more than a byte
                continue
    return frozenset(found)


def _of_each_other(client: SideOutput, server: SideOutput) -> Iterator[OutputCheck]:
    """Check that the remote addresses of one side are the local ones of the other.

    A server that was ended early may have printed fewer of its queue pairs. GIDs are compared if
    both sides print them.
    """
    for one, other in ((client, server), (server, client)):
        remote, local = (
            set(listed(one.parsed.summary, _REMOTE, QueueAddress)),
            set(listed(other.parsed.summary, _LOCAL, QueueAddress)),
        )
        if not all(address.gid for address in remote | local):
            remote, local = ({replace(each, gid="") for each in side} for side in (remote, local))
        if remote and local:
            yield OutputCheck(
                f"remote address of {one.node}", _words(local), _words(remote),
                remote <= local or local <= remote, one.node,
                asks=f"the local one of {other.node} is",
            )  # fmt: skip


def _words(addresses: set[QueueAddress]) -> str:
    return ", ".join(map(str, sorted(addresses)))

"""The cells of what other nodes find of a node: its name and its ports. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence

from railgauge.core.naming import folded
from railgauge.describing.readiness import peers
from railgauge.describing.readiness.model import (
    CellState,
    CheckCell,
    HostfileLine,
    NodeSeen,
    NodesSeen,
    SeenByOther,
)

_ALONE = "no other node to ask"
_REFUSED = "Connection refused"
_UNRESOLVED = ("Name or service not known", "name resolution", "nodename nor servname")
_FIREWALL = (
    "open TCP between the nodes; if a firewall leaves a range of 16 or more open, write it: "
    "ports: 20000-20099"
)


def name(one: NodeSeen, site: NodesSeen) -> CheckCell:
    address = one.node.data_address
    if len(site.asked) < 2:  # noqa: PLR2004 - a node and another one
        return CheckCell(CellState.OK, _ALONE)
    if _is_address(address):
        return CheckCell(CellState.OK, "an address, which needs no name")
    known = {other: _resolved(met, address) for other, met in one.met.items()}
    there = {other: found for other, found in known.items() if found is not None}
    if not there:
        return CheckCell(
            CellState.UNKNOWN, f"no other node could be asked for {address}", "install getent"
        )
    lost = [other for other, found in there.items() if not found]
    loops = [other for other, found in there.items() if found and _is_loopback(found)]
    if not lost and not loops:
        return CheckCell(CellState.OK, "its name is resolved by other nodes")
    which = folded(lost or loops)
    how = "is not resolved" if lost else "is resolved to the loopback"
    lines, remedy = _other_address(one, site)
    return CheckCell(CellState.MEND, f"{address} {how} on {which}", remedy, lines)


def ports(one: NodeSeen, site: NodesSeen) -> CheckCell:
    if len(site.asked) < 2:  # noqa: PLR2004
        return CheckCell(CellState.OK, _ALONE)
    address = one.node.data_address
    answers = {
        other: met.reached[address] for other, met in one.met.items() if address in met.reached
    }
    if not answers:
        return CheckCell(
            CellState.UNKNOWN, "no other node tried to connect", "see the other nodes' cells"
        )
    if all(_is_nameless(how) for how in answers.values()):
        return _by_other_address(one, site)
    bad = {other: how for other, how in answers.items() if not _came_through(how, one)}
    if not bad:
        how = "" if one.listens else ", by refusals, as nothing could listen there"
        return CheckCell(CellState.OK, f"TCP from other nodes arrives{how}")
    first = next(iter(bad.values())).rpartition(": ")[2][:80]
    lines, _ = _other_address(one, site)
    return CheckCell(
        CellState.MEND,
        f"{folded(bad)} cannot connect to {address}: {first}",
        "" if lines else _FIREWALL,
        lines,
    )


def _by_other_address(one: NodeSeen, site: NodesSeen) -> CheckCell:
    """The cell of a node whose name is not resolved: by its own addresses, if they are reached."""
    if good := _reached_at(one, site):
        return CheckCell(CellState.OK, f"TCP from other nodes arrives at {good}")
    return CheckCell(
        CellState.UNKNOWN, "its name is not resolved, and no address is known", "see its name"
    )


def _other_address(one: NodeSeen, site: NodesSeen) -> tuple[tuple[HostfileLine, ...], str]:
    """Return the node's ``data_address``, one that others reach; else what to do by hand."""
    good = _reached_at(one, site)
    if good:
        return (HostfileLine(("nodes", one.node.name, "data_address"), good),), ""
    remedy = f"give {one.node.name} an address that other nodes reach: data_address: ADDRESS"
    return (), remedy


def _reached_at(one: NodeSeen, site: NodesSeen) -> str:
    """Return the first own address of the node at which all connections of others arrive.

    An address of several nodes is that of a bridge in each of them, or they are one machine.
    """
    others = {address for each in site.asked if each is not one for address in _own(each)}
    own = [address for address in peers.addresses(one)[1:] if address not in others]
    return next(_all_reach(one, own), "")


def _own(one: NodeSeen) -> Sequence[str]:
    return one.self_report.addresses if one.self_report else ()


def _all_reach(one: NodeSeen, addresses: Sequence[str]) -> Iterator[str]:
    for address in addresses:
        answers = [met.reached[address] for met in one.met.values() if address in met.reached]
        if answers and all(_came_through(how, one) for how in answers):
            yield address


def _came_through(how: str, one: NodeSeen) -> bool:
    """Whether a connection arrived; a refusal shows that only if nothing listens there."""
    return how == peers.OPEN or (not one.listens and _REFUSED in how)


def _is_nameless(how: str) -> bool:
    return any(words in how for words in _UNRESOLVED)


def _resolved(met: SeenByOther, address: str) -> str | None:
    """Return to what a name is resolved, empty if it is not, ``None`` if that is not known."""
    if met.resolved is not None:
        return met.resolved
    how = met.reached.get(address, "")
    if _is_nameless(how):
        return ""
    return address if how == peers.OPEN or _REFUSED in how else None


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_loopback(text: str) -> bool:
    return _is_address(text) and ipaddress.ip_address(text).is_loopback

"""Compare a fact with the same fact of the other nodes: it must be distinct, or near theirs. Pure.

``distinct`` is for what no two nodes, ports or devices may share. With the boot ids A, B and A the
first and the third node fail, and each judgement points at both. ``within`` is for numbers. With
clocks that are 0, 1 and 7200 s ahead, the third node fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from railgauge.config.thresholds import Expectation
from railgauge.core.errors import FactMissing, NoEvidence
from railgauge.core.model import Judgement, Outcome
from railgauge.core.naming import listed
from railgauge.core.question import FactAt
from railgauge.facts import FactsByNode, NodeFacts, require
from railgauge.facts.clock import OFFSET
from railgauge.facts.model import NicFacts

DISTINCT, WITHIN = "distinct", "within"
RULES = (DISTINCT, WITHIN)
PORTS, DEVICES = "ports", "devices"

# Device ids of virtual functions. They have GIDs of their own, and may have the LID of their port.
_VIRTUAL = frozenset(
    {"MT4116", "MT4118", "MT4120", "MT4122", "MT4124", "MT4126", "MT41683"}
)  # fmt: skip

_NO_GUID = f"0x{0:016x}"

NodeDevice = tuple[str, str]
"""A node, and one of its devices; the device is empty if the fact is the node's."""


def judge_among(at: FactAt, expectation: Expectation, found: FactsByNode) -> Judgement:
    """Judge a fact that was surveyed by the rule ``distinct`` or ``within``.

    Raises ``NoEvidence`` if the node's own fact is unknown. Nodes whose fact is unknown are left
    out of the comparison; their own items are errors.
    """
    known = {name: facts for name, facts in found.items() if isinstance(facts, NodeFacts)}
    if expectation.rule == WITHIN:
        return _near(at, expectation, known)
    if expectation.value == DEVICES and require(known[at.node], _path(at)) == _NO_GUID:
        return _unset(expectation)
    shared = {PORTS: _shared_ports, DEVICES: _shared_guids}.get(str(expectation.value))
    return _distinct(at, expectation, (shared or _shared_facts)(at, known))


@dataclass(frozen=True, slots=True)
class _Shared:
    """A value that another place has too, as a text."""

    place: NodeDevice
    what: str


def _distinct(at: FactAt, expectation: Expectation, shared: Iterable[_Shared]) -> Judgement:
    twice = list(shared)
    own = (at.node, _device(at))
    others = list(dict.fromkeys(one.place for one in twice))
    what = ", ".join(dict.fromkeys(one.what for one in twice))
    also = listed([" ".join(filter(None, place)) for place in others])
    return Judgement(
        metric=expectation.name,
        outcome=Outcome.FAILED if twice else Outcome.PASSED,
        measured=f"{what} also at {also}" if twice else "its own",
        limit="its own",
        basis=str(expectation.basis),
        reason=f"{what} is also that of {also}" if twice else "",
        pointer=expectation.pointer,
        points_at=tuple(sorted({own, *others})) if twice else (),
    )


def _unset(expectation: Expectation) -> Judgement:
    """The judgement of a GUID of zeros, which is invalid even if no other device has it."""
    return Judgement(
        metric=expectation.name,
        outcome=Outcome.FAILED,
        measured="0",
        limit="its own",
        basis=str(expectation.basis),
        reason="the node GUID is zero: the adapter was given none",
        pointer=expectation.pointer,
    )


def _path(at: FactAt) -> str:
    (path,) = at.paths
    return path


def _device(at: FactAt) -> str:
    kind, _, rest = _path(at).partition(".")
    return rest.partition(".")[0] if kind == "nics" else ""


def _shared_facts(at: FactAt, known: Mapping[str, NodeFacts]) -> Iterator[_Shared]:
    path = _path(at)
    own = require(known[at.node], path)
    for name, value in _values(path, known):
        if name != at.node and value == own:
            yield _Shared((name, ""), path)


def _values(path: str, known: Mapping[str, NodeFacts]) -> Iterator[tuple[str, object]]:
    for name, facts in known.items():
        with suppress(NoEvidence):
            yield name, require(facts, path)


# --- addresses of ports, and GUIDs of devices ---


def _shared_guids(at: FactAt, known: Mapping[str, NodeFacts]) -> Iterator[_Shared]:
    """Yield the other devices that have the device's GUID."""
    own = require(known[at.node], _path(at))
    for name, nic in _others(at, known):
        if nic.node_guid == own:
            yield _Shared((name, nic.name), f"GUID {own}")


def _shared_ports(at: FactAt, known: Mapping[str, NodeFacts]) -> Iterator[_Shared]:
    """Yield the addresses of the port that another port in its subnet has."""
    facts = known[at.node]
    require(facts, _path(at))
    port = next(nic for nic in facts.nics if nic.name == _device(at))
    for name, nic in _others(at, known):
        yield from (_Shared((name, nic.name), what) for what in _same(port, nic))


def _others(at: FactAt, known: Mapping[str, NodeFacts]) -> Iterator[tuple[str, NicFacts]]:
    """Yield all other NICs with their nodes.

    Names of one running kernel may share a NIC; ``boot_id`` names them.
    """
    own = known[at.node].boot_id
    for name, facts in known.items():
        if name == at.node or not own or facts.boot_id != own:
            own_name = _device(at) if name == at.node else ""
            yield from ((name, nic) for nic in facts.nics if nic.name != own_name)


def _same(port: NicFacts, other: NicFacts) -> Iterator[str]:
    if port.link_layer != other.link_layer:
        return
    if port.link_layer == "InfiniBand":
        if _lid(port) and _lid(port) == _lid(other):
            yield f"LID {port.lid}"
        # The second half of a GID is the port's GUID, which no other port of any subnet has.
        yield from (f"GID {gid}" for gid in sorted(_gids(port) & _gids(other)))
    elif port.name == other.name:
        # Link-local GIDs are unique on their link only. NICs of one name are one rail.
        yield from (f"GID {address}" for address in sorted(_addresses(port) & _addresses(other)))


def _lid(nic: NicFacts) -> tuple[str, int, int | None] | None:
    """Return the LID with the NIC's name, which stands for its subnet."""
    is_own = nic.lid and nic.hca_type not in _VIRTUAL
    return (nic.name, nic.lid, nic.sm_lid) if is_own and nic.lid else None


def _gids(nic: NicFacts) -> set[str]:
    return {gid.gid.lower() for gid in nic.gids}


def _addresses(nic: NicFacts) -> set[str]:
    return {gid.ipv4 for gid in nic.gids if gid.ipv4}


# --- numbers ---


def _near(at: FactAt, expectation: Expectation, known: Mapping[str, NodeFacts]) -> Judgement:
    path, most = _path(at), expectation.value
    own = require(known[at.node], path)
    numbers = [value for _, value in _values(path, known)]
    # A clock is measured against the controller's, which counts as one more clock.
    numbers += [0.0] if path == OFFSET else []
    ordered = sorted(value for value in numbers if isinstance(value, (int, float)))
    if not isinstance(own, (int, float)) or not isinstance(most, (int, float)):
        raise FactMissing(f"{path} is not a number", where=at.node)
    middle = (ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2])
    holds = all(abs(own - one) <= most for one in middle)
    between = " and ".join(dict.fromkeys(f"{one:g}" for one in middle))
    return Judgement(
        metric=expectation.name,
        outcome=Outcome.PASSED if holds else Outcome.FAILED,
        measured=f"{own:g}",
        limit=f"within {most:g} of the median: {between}",
        basis=str(expectation.basis),
        reason="" if holds else f"{path} is {own:g}, should be within {most:g} of {between}",
        pointer=expectation.pointer,
    )

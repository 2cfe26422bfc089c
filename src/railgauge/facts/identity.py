"""Find names of a hostfile that are one machine, and names whose machine was exchanged.

Pure; only reports of the nodes are compared.

The kernel draws a new boot id at each boot. Network namespaces and containers share it with their
host; host names and the GUIDs of the NICs distinguish such nodes. Machine ids and SSH host keys
are copied with a system image and therefore prove nothing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations

from railgauge.facts.boot import parse_boot_id
from railgauge.facts.host import parse_line
from railgauge.facts.model import GidFacts, NicFacts, NodeFacts

# A link-local GID is this prefix and the port's GUID. Several ports may share any other GID.
_LINK_LOCAL = "fe80:0000:0000:0000:"
_NO_GUID = "0000:0000:0000:0000"
_SCRIPT = (
    'cat "$1/proc/sys/kernel/hostname" "$1/proc/sys/kernel/random/boot_id"; '
    'cd "$1/sys/class/infiniband" 2>/dev/null && grep -sH . */ports/1/gids/0'
)
_GID = re.compile(r"([^/]+)/ports/1/gids/0:(.+)")


def identity_argv(rootfs: str) -> tuple[str, ...]:
    """Return the command that prints host name, boot id, and each NIC's first GID, one per line."""
    return ("sh", "-c", _SCRIPT, "railgauge", rootfs.rstrip("/"))


def parse_identity(node: str, text: str) -> NodeFacts:
    """Parse the output of ``identity_argv``; all other facts are left unset."""
    hostname, boot_id, *lines = [*text.splitlines(), "", ""]
    nics = tuple(
        NicFacts(match[1], gids=(GidFacts(0, match[2].strip(), None, None),))
        for match in map(_GID.fullmatch, lines)
        if match
    )
    return NodeFacts(node, hostname=parse_line(hostname), boot_id=parse_boot_id(boot_id), nics=nics)


def exchanged(was: NodeFacts, now: NodeFacts) -> tuple[str, ...]:
    """Return the identities of the machine or a part of it that have changed.

    ``machine id``, or names of parts. Host names and SSH host keys are copied with an image. A part
    that only disappeared or came back is not exchanged: an identity must be gone and another one
    new.
    """
    before, after = _identities(was), _identities(now)
    others: dict[str, None] = {}
    for kind, ids in after.items():
        new = ids.keys() - before.get(kind, {}).keys()
        if new and before.get(kind, {}).keys() - ids.keys():
            others.update(dict.fromkeys(name for one, name in ids.items() if one in new))
    return tuple(others)


def _identities(facts: NodeFacts) -> dict[tuple[str, str], dict[str, str]]:
    """Each identity with the part that it identifies, by kind of part and of identity."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    if facts.machine_id:
        found["machine", "id"] = {facts.machine_id: "machine id"}
    for part in facts.parts:
        for kind, identity in (("serial", part.serial), ("uuid", part.uuid)):
            if identity:
                found.setdefault((part.kind, kind), {})[identity] = part.name
    return found


def confusions(found: Iterable[NodeFacts]) -> tuple[str, ...]:
    """Return a line for each set of names that are one machine or may be confused."""
    nodes = {facts.node: facts for facts in found}
    same = list(_same_machine(nodes))
    together = {frozenset(pair) for names in same for pair in combinations(names, 2)}
    lines = [_one_machine(names, nodes[names[0]]) for names in same]
    for others in (_misnamed(nodes), _shared_guids(nodes)):
        lines += [line for pair, line in others if pair not in together]
    return tuple(lines)


def _same_machine(nodes: Mapping[str, NodeFacts]) -> Iterator[tuple[str, ...]]:
    """Yield names with the same boot id, and with the same host name or a common port."""
    booted: defaultdict[str, list[str]] = defaultdict(list)
    for name, facts in nodes.items():
        if facts.boot_id:
            booted[facts.boot_id].append(name)
    for names in booted.values():
        left = list(names)
        while left:
            first, *rest = left
            same = [name for name in rest if _is_one(nodes[first], nodes[name])]
            if same:
                yield (first, *same)
            left = [name for name in rest if name not in same]


def _is_one(one: NodeFacts, other: NodeFacts) -> bool:
    mine, yours = _guids(one), _guids(other)
    if mine and yours:
        return bool(mine & yours)
    return one.hostname is not None and one.hostname == other.hostname


def _one_machine(names: tuple[str, ...], facts: NodeFacts) -> str:
    return (
        f"{', '.join(names)} are {len(names)} names of one machine: its host name is "
        f"{facts.hostname or 'unknown'}, and all have the boot id {facts.boot_id}; "
        "keep one of them in the hostfile"
    )


def _misnamed(nodes: Mapping[str, NodeFacts]) -> Iterator[tuple[frozenset[str], str]]:
    """Yield nodes whose host name is the name of another node of the hostfile."""
    named = {_short(name): name for name in nodes}
    for name, facts in nodes.items():
        own = _short(facts.hostname or "")
        other = facts.hostname if facts.hostname in nodes else named.get(own, "")
        if own != _short(name) and other and other != name:
            line = (
                f"{name} has the host name {facts.hostname}, which is another node of the "
                "hostfile; correct its address there, or its host name"
            )
            yield frozenset((name, other)), line


def _short(name: str) -> str:
    return name.partition(".")[0].lower()


def _shared_guids(nodes: Mapping[str, NodeFacts]) -> Iterator[tuple[frozenset[str], str]]:
    """Yield pairs of nodes that have a GUID in common, and that may be one machine.

    Two running kernels are two machines; their GUID is a duplicate address, which a test judges.
    Only InfiniBand counts: a GUID is unique in its subnet, an Ethernet address only on its link.
    """
    having: defaultdict[str, list[str]] = defaultdict(list)
    for name, facts in nodes.items():
        for guid in sorted(_guids(facts, "InfiniBand")):
            having[guid].append(name)
    reported: set[frozenset[str]] = set()
    for guid, names in having.items():
        for pair in map(frozenset, combinations(names, 2)):
            if pair not in reported and not _are_two([nodes[name] for name in pair]):
                reported.add(pair)
                line = (
                    f"{' and '.join(sorted(pair))} each have a port with the GUID {guid}; if they "
                    "are one machine, keep one of them in the hostfile, otherwise give each port "
                    "its own GUID"
                )
                yield pair, line


def _are_two(pair: list[NodeFacts]) -> bool:
    boots = {facts.boot_id for facts in pair}
    return None not in boots and len(boots) > 1


def _guids(facts: NodeFacts, link_layer: str = "") -> set[str]:
    gids = (
        gid.gid.lower()
        for nic in facts.nics
        if not link_layer or nic.link_layer == link_layer
        for gid in nic.gids
    )
    found = {gid.removeprefix(_LINK_LOCAL) for gid in gids if gid.startswith(_LINK_LOCAL)}
    return found - {_NO_GUID}

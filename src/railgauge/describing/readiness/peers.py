"""Which nodes ask for which others, and what they found. Pure.

Each name is asked for on up to four other nodes, the next ones of the hostfile: a name that only
the control host knows fails on all of them, a node with a broken resolver fails for all that it
asks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from railgauge.core.model import Command
from railgauge.describing.readiness.ask import text
from railgauge.describing.readiness.model import NodeSeen, SeenByOther

ANSWER_LIMIT_S = 12.0
LISTEN_LIMIT_S = 30.0
_PARTNERS = 4
_PORTS = (18515, 32767)  # those of servers, where the hostfile names none
_RESOLVED = re.compile(r"resolved (\S{1,300}) (\S{1,100})")
_REACHED = re.compile(r"reached (\S{1,300}) (\S{1,300}) (.{1,300})")
OPEN = "open"
_NOTHING = "none of"  # what peers.sh prints where no program can connect


def asked_of(nodes: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return node -> the others that it asks for."""
    count = min(_PARTNERS, len(nodes) - 1)
    return {
        node: tuple(nodes[(at + step) % len(nodes)] for step in range(1, count + 1))
        for at, node in enumerate(nodes)
    }


def ports(nodes: Sequence[str], given: tuple[int, int] | None) -> dict[str, int]:
    """Return the port on which each node listens, all different: two nodes may be one machine."""
    first, last = given or _PORTS
    return {node: first + at % (last - first + 1) for at, node in enumerate(nodes)}


def addresses(one: NodeSeen) -> tuple[str, ...]:
    """Return the addresses at which others try to reach a node: the tools' first, then its own."""
    own = one.self_report.addresses if one.self_report else ()
    return tuple(dict.fromkeys((one.node.data_address, *own)))


def listening(node: str, port: int) -> Command:
    argv = ("sh", "-c", text("listen.sh"), "railgauge", str(port))
    return Command(node, argv, {}, LISTEN_LIMIT_S, listens_on=port, endless=True, plain=True)


def asking(node: str, others: Sequence[NodeSeen], port_of: Mapping[str, int]) -> Command:
    words = [
        word
        for one in others
        for word in (one.node.name, str(port_of[one.node.name]), ",".join(addresses(one)))
    ]
    argv = ("sh", "-c", text("peers.sh"), "railgauge", *words)
    return Command(node, argv, {}, ANSWER_LIMIT_S, plain=True)


def found(printed: str, others: Sequence[NodeSeen]) -> dict[str, SeenByOther]:
    """Read the output of ``asking``: what the node found of each of the others."""
    resolved: dict[str, str] = {}
    reached: dict[tuple[str, str], str] = {}
    for line in printed.splitlines():
        if match := _RESOLVED.fullmatch(line):
            resolved.setdefault(match[1], "" if match[2] == "-" else match[2])
        elif (match := _REACHED.fullmatch(line)) and not match[3].startswith(_NOTHING):
            reached.setdefault((match[1], match[2]), match[3])
    return {
        one.node.name: SeenByOther(
            resolved.get(one.node.name),
            {
                address: reached[one.node.name, address]
                for address in addresses(one)
                if (one.node.name, address) in reached
            },
        )
        for one in others
    }

"""Which start of a node it is: the kernel makes up a new id each time (random(4), boot_id)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

# What a run keeps of reboots: a line each.
FILE = "reboots.jsonl"

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PATH = "proc/sys/kernel/random/boot_id"


@dataclass(frozen=True, slots=True)
class Reboot:
    """A node that is not up since ``was`` any more, but since ``now``; both are boot ids.

    ``during`` is the run that found out in its course, ``after`` the one that ended before.
    """

    node: str
    was: str
    now: str
    during: str = ""
    after: str = ""


def parse_boot_id(text: str) -> str | None:
    """The id, as the kernel writes it."""
    match = _ID.fullmatch(text.strip())
    return match[0] if match else None


def boot_argv(rootfs: str) -> tuple[str, ...]:
    """The command that prints it."""
    return ("cat", f"{rootfs.rstrip('/')}/{_PATH}")


def shared(boots: Mapping[str, str | None]) -> tuple[tuple[str, ...], ...]:
    """Nodes with one boot id, by node: several names of one machine."""
    named: dict[str, list[str]] = {}
    for node, boot in boots.items():
        if boot:
            named.setdefault(boot, []).append(node)
    return tuple(tuple(nodes) for nodes in named.values() if len(nodes) > 1)


def once(reboots: Iterable[Reboot]) -> tuple[Reboot, ...]:
    """Each reboot once, by node, however many connections have noticed it."""
    found = {(reboot.node, reboot.now): reboot for reboot in reversed(list(reboots))}
    return tuple(found[key] for key in sorted(found))

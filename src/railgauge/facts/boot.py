"""Boot ids, which show whether a node was rebooted: the kernel draws a new one at each boot.

See ``boot_id`` in random(4).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

# The file of a run that has one line for each reboot.
FILE = "reboots.jsonl"
# The file of a run that continues others: the last records of the kernel's logs when those began.
MARKS = "kernel_marks.jsonl"

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PATH = "proc/sys/kernel/random/boot_id"


@dataclass(frozen=True, slots=True)
class Reboot:
    """A node whose boot id changed from ``was`` to ``now``.

    ``during`` is the run in which it changed, ``after`` the run that had ended before it changed.
    """

    node: str
    was: str
    now: str
    during: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class KernelMark:
    """The last record of a node's kernel log when an earlier run, ``run``, surveyed it.

    ``record`` is its number under ``boot_id``.
    """

    node: str
    run: str
    boot_id: str
    record: str


def parse_boot_id(text: str) -> str | None:
    """Return the boot id that the kernel prints; ``None`` if the text is not one."""
    match = _ID.fullmatch(text.strip())
    return match[0] if match else None


def boot_argv(rootfs: str) -> tuple[str, ...]:
    """Return the command that prints the boot id."""
    return ("cat", f"{rootfs.rstrip('/')}/{_PATH}")


def shared(boots: Mapping[str, str | None]) -> tuple[tuple[str, ...], ...]:
    """Return the groups of nodes with equal boot ids: several names of one machine."""
    named: dict[str, list[str]] = {}
    for node, boot in boots.items():
        if boot:
            named.setdefault(boot, []).append(node)
    return tuple(tuple(nodes) for nodes in named.values() if len(nodes) > 1)


def once(reboots: Iterable[Reboot]) -> tuple[Reboot, ...]:
    """Return each reboot once, sorted by node, however many connections noticed it."""
    found = {(reboot.node, reboot.now): reboot for reboot in reversed(list(reboots))}
    return tuple(found[key] for key in sorted(found))

"""``ssh`` from one node to another, as far as launchers need it: whether the login succeeds."""

from __future__ import annotations

import sys

from . import hosts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]

_FAILED = 255  # ssh's own exit code; otherwise it ends with that of the command
_WITH_VALUE = ("-o", "-p", "-l", "-i", "-F")


def run(_tool: str, arguments: list[str], node: Node) -> int:
    """Return 0 if the login succeeds; the command itself is not run."""
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        del rest[: 2 if rest[0] in _WITH_VALUE else 1]
    try:
        hosts.named(node, rest[0] if rest else "")
    except hosts.Unreachable as error:
        sys.stderr.write(f"{error}\n")
        return _FAILED
    return 0

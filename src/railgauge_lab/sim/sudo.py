"""``sudo -n``: becomes the command, as nodes of the lab have one user; or asks for a password."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]

_REFUSED = 1
_NOT_FOUND = 127


def run(_tool: str, arguments: list[str], node: Node) -> int:
    """Become the command, or return sudo's exit code where the login lacks the right."""
    words = list(arguments)
    while words and words[0].startswith("-"):
        del words[0]
    if node["sudo_asks"]:
        sys.stderr.write("sudo: a password is required\n")
        return _REFUSED
    if not words:
        sys.stderr.write("usage: sudo [-n] command [arg ...]\n")
        return _REFUSED
    os.environ["SUDO_USER"] = "lab"
    try:
        os.execvp(words[0], words)  # noqa: S606 - the words are a command, as sudo's are
    except OSError:
        sys.stderr.write(f"sudo: {words[0]}: command not found\n")
    return _NOT_FOUND

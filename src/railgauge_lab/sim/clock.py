"""``date`` on a node whose clock is off: ``date``, ``date -u`` and ``date +FORMAT``."""

from __future__ import annotations

import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]

_PLAIN = "%a %b %e %H:%M:%S %Z %Y"


def run(tool: str, arguments: list[str], node: Node) -> int:
    """Return exit code 0, or 1 for an argument that the lab does not know."""
    now = time.time() + node["clock_ahead_s"]
    form = _PLAIN
    for word in arguments:
        if word.startswith("+"):
            form = word[1:]
        elif word != "-u":
            sys.stderr.write(f"{tool}: invalid option -- '{word}'\n")
            return 1
    # strftime has %s of the C library only for a local time.
    shown = time.gmtime(now) if "-u" in arguments else time.localtime(now)
    print(time.strftime(form.replace("%s", str(int(now))), shown))
    return 0

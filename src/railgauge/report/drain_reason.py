"""The reason with which a node is taken from a scheduler: one short line of plain characters."""

from __future__ import annotations

import re
from collections.abc import Iterable

_MOST_CAUSES = 3
_LONGEST = 160
# Other characters could have a meaning to a shell, scontrol or sinfo.
_ODD = re.compile(r"[^A-Za-z0-9 ._:,()/\[\]-]")


def drain_reason(causes: Iterable[str], seen_in: str) -> str:
    """Return the causes of one node, worst first, each once; ``seen_in`` names what found them."""
    once = list(dict.fromkeys(cause.strip() for cause in causes))
    rest = len(once) - _MOST_CAUSES
    more = f" and {rest} more" if rest > 0 else ""
    line = _ODD.sub("_", f"railgauge: {', '.join(once[:_MOST_CAUSES])}{more}, {seen_in}")
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."

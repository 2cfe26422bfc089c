"""Which tool printed an output: the only one whose parser finds a value in it."""

from __future__ import annotations

from railgauge.core.errors import BadInput
from railgauge.core.model import Parsed
from railgauge.tools import NAMES, tool

_MOST_SHOWN = 6


def find(text: str, where: str) -> Parsed:
    """Return what the only fitting parser reads.

    Raises ``BadInput``, which names ``where`` the text is from, if no parser finds a value, or if
    several do: nothing is guessed.
    """
    found = {name: parsed for name in NAMES if (parsed := tool(name).parse(text)).samples}
    if len(found) == 1:
        return next(iter(found.values()))
    if not found:
        raise BadInput(
            "no tool's output is in this text",
            where=where,
            remedy="name the tool, whose messages then say why: railgauge parse TOOL FILE",
        )
    raise BadInput(
        f"this text fits several tools: {', '.join(list(found)[:_MOST_SHOWN])}",
        where=where,
        remedy="name the tool, or give the output of one: railgauge parse TOOL FILE",
    )

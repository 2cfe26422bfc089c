"""Reading the file that a command was given, and writing JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railgauge.core.errors import BadInput

if TYPE_CHECKING:
    from railgauge.bundle.statement import Redacted

# A sweep is a few kilobytes; hundreds of megabytes are some other file.
_MOST_BYTES = 256 * 2**20


def read(name: str) -> str:
    """The text of a file, or of standard input for ``-``; bytes that are not UTF-8 are marked."""
    try:
        if name == "-":
            data = sys.stdin.buffer.read(_MOST_BYTES + 1)
        else:
            with Path(name).open("rb") as file:
                data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=name) from None
    if len(data) > _MOST_BYTES:
        raise BadInput(
            f"is larger than {_MOST_BYTES // 2**20} MiB",
            where=name,
            remedy="cut the part that the tool printed out of it",
        )
    return data.decode("utf-8", errors="replace")


def print_json(data: object) -> None:
    """Where the terminal cannot show a character, JSON's own escape stands for it."""
    plain = (sys.stdout.encoding or "utf-8").lower() not in ("utf-8", "utf8")
    print(json.dumps(data, indent=2, ensure_ascii=plain, allow_nan=False))


def printable(words: str) -> str:
    """Text from a file that anybody may have written: nothing in it steers the terminal."""
    return "".join(
        c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in words
    )


def redacted(found: Redacted) -> str:
    """What was redacted in a bundle, in a line."""
    asked = f" (asked for: {', '.join(found.on_request)})" if found.on_request else ""
    counts = [f"{count} x {kind}" for kind, count in sorted(found.counts.items())]
    left_out = [f"left out {name}" for name in found.left_out]
    return printable((", ".join([*counts, *left_out]) or "nothing") + asked)


def redacted_json(found: Redacted) -> dict[str, Any]:
    return {
        "counts": dict(found.counts),
        "on_request": list(found.on_request),
        "left_out": list(found.left_out),
    }

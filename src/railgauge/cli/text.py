"""Read a command's input file, and write JSON and text that is safe on a terminal."""

from __future__ import annotations

import codecs
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railgauge.core.errors import BadInput

if TYPE_CHECKING:
    from railgauge.bundle.make import Made
    from railgauge.bundle.statement import Redacted

# The output of a sweep has a few kilobytes; a file of hundreds of megabytes is not one.
_MOST_BYTES = 256 * 2**20


def read(name: str) -> str:
    """Return the text of a file, or of standard input for ``-``; invalid UTF-8 is replaced.

    With a byte order mark of UTF-16 it is read as such, because PowerShell writes it.
    """
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
            remedy="extract the part that the tool printed",
        )
    is_utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode("utf-16" if is_utf16 else "utf-8", errors="replace")


def print_json(data: object) -> None:
    """Print JSON; characters that could control the terminal, or cannot be shown, are escaped."""
    plain = (sys.stdout.encoding or "utf-8").lower() not in ("utf-8", "utf8")
    json_text = json.dumps(data, indent=2, ensure_ascii=plain, allow_nan=False)
    print(_escaped(json_text))


def _escaped(json_text: str) -> str:
    """JSON with every unprintable character escaped as ``\\u009b``, in pairs above ``\\uffff``."""

    def escape(char: str) -> str:
        return json.dumps(char)[1:-1] if ord(char) > _DEL else f"\\u{ord(char):04x}"

    return _replaced(json_text, escape)


_DEL = 0x7F  # the only control character up to it that JSON does not escape
_UNUSUAL = re.compile(r"[^ -~\n]")


def _replaced(text: str, instead: Callable[[str], str]) -> str:
    """Replace unprintable characters; the usual ones are not looked at one by one."""
    return _UNUSUAL.sub(lambda m: m[0] if m[0].isprintable() else instead(m[0]), text)


def printable(words: str) -> str:
    """Return untrusted text without control characters, which could control the terminal."""
    return _replaced(words, lambda _: "\N{REPLACEMENT CHARACTER}")


def made_json(made: Made) -> dict[str, Any]:
    """Return what the JSON about a written bundle begins with."""
    about = made.report.statement.about
    return {
        "bundle": str(made.path),
        "sha256": made.sha256,
        "run_id": about.run_id,
        "evidence": about.evidence,
        "verdict": about.verdict,
    }


def redacted(found: Redacted) -> str:
    """Return one line about what was redacted in a bundle."""
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

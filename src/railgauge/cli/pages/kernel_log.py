"""The tables of the page ``kernel-log``: every kind of line, and every Xid code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from railgauge.facts.kernel.kinds import CRITICAL, KINDS, METAX, KernelKind
from railgauge.facts.kernel.xids import BASIS, UNKNOWN, XIDS, Xid

_KINDS = """\
# Lines of the kernel's log

Every kind of line that a run looks for. `railgauge docs telemetry` explains how the log is read and
judged.

## Kinds of lines

The first kind whose pattern is found decides. The cause is the one that a failed item has in the
report ([causes.md](causes.md)).

| kind | means | | cause | source |
|---|---|---|---|---|
"""

_XIDS = """
## NVIDIA's Xid codes

{basis}. A number that is not listed is a fault with the meaning "{unknown}".

| Xid | means | | do |
|---|---|---|---|
"""


def page(_: Path) -> str:
    """Every kind of line, and every Xid code."""
    rows = dict.fromkeys(map(_kind, (*KINDS, METAX, CRITICAL)))
    xids = _XIDS.format(basis=BASIS.removeprefix("standard: "), unknown=UNKNOWN.means)
    return _KINDS + "".join(rows) + xids + "".join(_codes())


def _kind(kind: KernelKind) -> str:
    source = kind.basis.partition(": ")[2]
    return f"| `{kind.name}` | {kind.means} | {kind.gravity} | `{kind.cause}` | {source} |\n"


def _codes() -> Iterator[str]:
    alike: dict[Xid, list[int]] = {}
    for code in sorted(XIDS):
        alike.setdefault(XIDS[code], []).append(code)
    for xid, codes in alike.items():
        listed = ", ".join(map(str, codes))
        yield f"| {listed} | {xid.means} | {xid.gravity} | {xid.action} |\n"

"""The page of the kernel's log: how it is judged, and the table of kinds, made from the code.

    python selftests/documents/kernel_page.py [--page FILE]

Without ``--page`` it is printed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from railgauge.facts.kernel.kinds import CRITICAL, KINDS, METAX, KernelKind
from railgauge.facts.kernel.xids import BASIS, UNKNOWN, XIDS, Xid

_HEAD = Path(__file__).resolve().parents[2] / "docs" / "kernel-log.head.md"

_KINDS = """
## The kinds of lines

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


def page() -> str:
    """The whole page."""
    rows = dict.fromkeys(map(_kind, (*KINDS, METAX, CRITICAL)))
    xids = _XIDS.format(basis=BASIS.removeprefix("standard: "), unknown=UNKNOWN.means)
    return _HEAD.read_text(encoding="utf-8") + _KINDS + "".join(rows) + xids + "".join(_codes())


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


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args(arguments)
    if options.page:
        options.page.write_text(page(), encoding="utf-8")
    else:
        print(page(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

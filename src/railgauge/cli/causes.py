"""``railgauge causes``: every cause that a run can name, with its remedy."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict

from railgauge.cli import text
from railgauge.core.errors import BadInput
from railgauge.diagnosis import CATALOGUE, Kind

NAME = "causes"
HELP = "print the causes that a run can name: what each means and what to do, as Markdown"
EXAMPLE = "example: railgauge causes slow-nic"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("cause", nargs="*", metavar="CAUSE", help="default: every cause")


def run(options: argparse.Namespace) -> int:
    kinds = {name: _kind(name) for name in options.cause or CATALOGUE}
    if options.json:
        text.print_json({name: _plain(kind) for name, kind in kinds.items()})
    else:
        print("\n".join(line for name, kind in kinds.items() for line in _section(name, kind)))
    return 0


def _kind(name: str) -> Kind:
    if name not in CATALOGUE:
        raise BadInput(f"unknown cause {name!r}", remedy=f"there are: {', '.join(CATALOGUE)}")
    return CATALOGUE[name]


def _plain(kind: Kind) -> dict[str, object]:
    return {**asdict(kind), "reach": sorted(kind.reach)}


def _section(name: str, kind: Kind) -> Iterator[str]:
    yield f"## {name}\n\n{kind.means[0].upper()}{kind.means[1:]}.\n"
    prepare = ", or `--prepare` where the platform has that step" if kind.prepared_by else ""
    yield f"- **What to do:** {kind.remedy}{prepare}."
    if kind.reach:
        through = f", over the same {kind.through.upper()}" if kind.through else ""
        rungs = ", ".join(map(str, sorted(kind.reach)))
        yield f"- **Can explain:** what goes wrong on its node on rungs {rungs}{through}."
    yield f"- **Basis:** {kind.basis}.\n"

"""``railgauge causes``: every cause that a run can name, with its remedy."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from railgauge.cli import text
from railgauge.core.errors import BadInput
from railgauge.diagnosis import CATALOGUE, Kind
from railgauge.diagnosis.catalogue.effect import ANY_FACT, Effect
from railgauge.diagnosis.symptoms import Symptom

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


def page(_: Path) -> str:
    """Every cause, with the words of ``railgauge causes``."""
    sections = (line for name, kind in CATALOGUE.items() for line in _section(name, kind))
    return "\n".join(("# All causes\n", *sections, ""))


def _kind(name: str) -> Kind:
    if name not in CATALOGUE:
        raise BadInput(f"unknown cause {name!r}", remedy=f"there are: {', '.join(CATALOGUE)}")
    return CATALOGUE[name]


def _plain(kind: Kind) -> dict[str, object]:
    plain = asdict(kind)
    return plain | {key: _listed(value) for key, value in plain.pop("effect").items()}


def _listed(value: object) -> object:
    return sorted(value) if isinstance(value, frozenset) else value


def _section(name: str, kind: Kind) -> Iterator[str]:
    yield f"## {name}\n\n{kind.means[0].upper()}{kind.means[1:]}.\n"
    prepare = ", or `--prepare` where the platform has that step" if kind.prepared_by else ""
    yield f"- **What to do:** {kind.remedy}{prepare}."
    effect = kind.effect
    yield f"- **Severity:** {kind.severity}. **Action:** {kind.action}."
    yield f"- **Harm:** {effect.harm}."
    if reach := "; ".join(filter(None, (_facts(effect), _above(effect)))):
        yield f"- **Can explain, on its node:** {reach}."
    yield f"- **Basis:** {kind.basis}.\n"


def _facts(effect: Effect) -> str:
    """The facts of rung 0 that the cause changes, in words."""
    if ANY_FACT in effect.facts:
        return "facts that are not known"
    of_part = " of the same part" if effect.through and effect.facts else ""
    names = ", ".join(f"`{fact}`" for fact in sorted(effect.facts))
    return f"the facts {names}{of_part}" if names else ""


def _above(effect: Effect) -> str:
    """The failures and errors above rung 0 that the cause explains, in words."""
    if not effect.reach:
        return ""
    rungs = ", ".join(map(str, sorted(effect.reach)))
    ways = ", ".join(str(way) for way in Symptom if way in effect.symptoms)
    return f"on rungs {rungs}{_THROUGH[effect.through]}: {ways}"


_THROUGH = {
    "": "",
    "nic": ", over the same NIC",
    "gpu": ", over the same GPU",
    "link": ", over the same link",
    "part": ", over the same part",
    "tool": ", with the same tool",
    "node": ", of the node as a whole",
}

"""``railgauge countersign``: add a second signature to a signed bundle."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from railgauge.cli import private_key, text
from railgauge.core.errors import BadInput

if TYPE_CHECKING:
    from railgauge.bundle.make import Made

HELP = "verify a signed bundle and add a signature of another key to it"
EXAMPLE = (
    "example: railgauge countersign night.railgauge --key customer; "
    "railgauge verify night.railgauge --key vendor.pub --key customer.pub --require 2"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", type=Path, metavar="BUNDLE")
    private_key.add(parser, required=True)
    parser.add_argument(
        "-o", dest="output", type=Path, metavar="FILE", help="default: BUNDLE itself, in one step"
    )


def run(options: argparse.Namespace) -> int:
    from railgauge.bundle import countersign  # noqa: PLC0415 - keys are slow to import

    key, target = private_key.load(options.key), options.output or options.bundle
    try:
        made = countersign.countersign(options.bundle, target, key)
    except OSError as error:
        where = str(error.filename or target)
        raise BadInput(f"cannot be written: {error.strerror}", where=where) from None
    (_print_json if options.json else _print_text)(made)
    return 0


def _print_json(made: Made) -> None:
    signed_by = [one.fingerprint for one in made.report.signatures]
    text.print_json({**text.made_json(made), "signed_by": signed_by})


def _print_text(made: Made) -> None:
    report, about = made.report, made.report.statement.about
    print(f"{made.path}: {about.run_id}, sha256 {made.sha256}")
    print(f"verdict {about.verdict}, {about.evidence.upper()} evidence, judged again: it stands")
    for number, one in enumerate(report.signatures, 1):
        print(f"signature {number}: {one.fingerprint}")

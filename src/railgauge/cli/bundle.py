"""``railgauge bundle``: one signed file of a run, which others can verify."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from railgauge.cli import private_key, run_argument, text
from railgauge.core.errors import BadInput

if TYPE_CHECKING:
    from railgauge.bundle.make import Made

HELP = "make one signed file of a run that others can verify"
EXAMPLE = "example: railgauge bundle reports/latest --key ~/.ssh/id_ed25519"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    run_argument.add(parser)
    parser.add_argument(
        "-o", dest="output", type=Path, metavar="FILE", help="default: <run>.railgauge, here"
    )
    seal = parser.add_mutually_exclusive_group(required=True)
    private_key.add(seal)
    seal.add_argument(
        "--unsigned", action="store_true", help="do not sign: nothing proves who made the bundle"
    )
    parser.add_argument(
        "--redact",
        type=_requests,
        action="extend",
        default=[],
        metavar="WHAT",
        help="hosts, addresses, serials, or several with commas: use pseudonyms for them (secrets"
        " always are); may be given several times",
    )


def _requests(value: str) -> tuple[str, ...]:
    from railgauge.bundle.redact import REQUESTS  # noqa: PLC0415 - only where it is asked for

    words = tuple(dict.fromkeys(value.split(",")))
    if unknown := [word for word in words if word not in REQUESTS]:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is not one of {', '.join(REQUESTS)}")
    return words


def run(options: argparse.Namespace) -> int:
    # Imported here because keys and envelopes take a quarter of a second to import.
    from railgauge.bundle import make  # noqa: PLC0415

    folder = run_argument.folder(options)
    output = options.output or Path(f"{folder.name}.railgauge")
    key = private_key.load(options.key) if options.key else None
    try:
        made = make.make(folder, output, key, tuple(dict.fromkeys(options.redact)))
    except OSError as error:
        raise BadInput(f"{error.strerror}", where=str(error.filename or output)) from None
    (_print_json if options.json else _print_text)(made)
    return 0


def _print_json(made: Made) -> None:
    text.print_json(
        {
            **text.made_json(made),
            "files": made.report.files,
            "signed_by": made.report.signature.fingerprint or None,
            "redacted": text.redacted_json(made.report.statement.about.redacted),
        }
    )


def _print_text(made: Made) -> None:
    report, about = made.report, made.report.statement.about
    print(f"{made.path}: {report.files} files of {about.run_id}, sha256 {made.sha256}")
    print(f"verdict {about.verdict}, {about.evidence.upper()} evidence, judged again: it stands")
    print(f"redacted: {text.redacted(about.redacted)}")
    if report.signature.fingerprint:
        print(f"signed by {report.signature.fingerprint}")
    else:
        print("UNSIGNED: nothing proves who made this bundle", file=sys.stderr)

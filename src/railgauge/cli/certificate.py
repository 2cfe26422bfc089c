"""``railgauge certificate``: what people sign of a run, as a page for paper and as PDF."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railgauge.cli import run_argument, text
from railgauge.core.errors import BadInput
from railgauge.core.terms import EXIT_CODES_IN_WORDS
from railgauge.run.store import write_whole

if TYPE_CHECKING:
    from railgauge.report.certificate.certified import CertifiedRun

HELP = "make the page that people sign: verdict, coverage, summary, inventory, signature fields"
EXAMPLE = (
    "example: railgauge certificate reports/latest --pdf acceptance.pdf; "
    f"exit codes: those of the run's verdict, {EXIT_CODES_IN_WORDS}"
)
PAPERS = ("A4", "Letter")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    run_argument.add(parser, "the run's folder, or a bundle (default: reports/latest)")
    parser.add_argument(
        "-o",
        dest="output",
        type=Path,
        metavar="FILE",
        help="write the page (HTML); without -o and --pdf it is written to RUN-certificate.html",
    )
    parser.add_argument(
        "--pdf", type=Path, metavar="FILE", help="write a PDF; it needs a Chromium on this machine"
    )
    parser.add_argument(
        "--paper",
        choices=PAPERS,
        help="the paper of the PDF (default: A4); a page that a browser prints has the browser's",
    )


def run(options: argparse.Namespace) -> int:
    """Return the exit code of the run's verdict."""
    from railgauge.bundle import certified as recorded  # noqa: PLC0415 - 0.3 s to import
    from railgauge.report.certificate import document, printing  # noqa: PLC0415

    certified = recorded.read(run_argument.of_pruned(run_argument.named(options)))
    written: list[Path] = []
    if options.pdf:
        printing.as_pdf(document.page(certified, options.paper or PAPERS[0]), options.pdf)
        written.append(options.pdf)
    if options.output or not options.pdf:
        path = options.output or Path(f"{certified.verdict.run_id}-certificate.html")
        _write(path, document.page(certified, options.paper or ""))
        written.append(path)
    scope = document.scope(certified.verdict)
    if options.json:
        text.print_json(_plain(certified, scope, written))
    else:
        print(text.printable(f"{scope} ({certified.verdict.evidence.upper()} evidence)"))
        print("\n".join(map(str, written)))
    return certified.verdict.exit_code


def _plain(certified: CertifiedRun, scope: str, written: list[Path]) -> dict[str, Any]:
    return {
        "run_id": certified.verdict.run_id,
        "cluster": certified.verdict.cluster,
        "evidence": certified.verdict.evidence,
        "verdict": certified.verdict.verdict,
        "scope": scope,
        "sha256": dict(certified.hashes),
        "seals": list(certified.seals),
        "written": [str(path) for path in written],
    }


def _write(path: Path, page: str) -> None:
    try:
        write_whole(path, page)
    except OSError as error:
        raise BadInput(f"cannot be written: {error.strerror}", where=str(path)) from None

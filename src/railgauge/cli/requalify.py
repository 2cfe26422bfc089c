"""``railgauge requalify``: repaired nodes are measured again, and complete their sign-off."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from railgauge.cli import merge, pytest_session, text
from railgauge.core.naming import folded
from railgauge.core.run_files import VERDICT
from railgauge.core.terms import EXIT_CODES_IN_WORDS, Verdict
from railgauge.run.progress import screen

if TYPE_CHECKING:
    from railgauge.bundle.requalification import Requalification

HELP = "measure repaired nodes of a run again, with good partners, and complete the run with that"
EXAMPLE = (
    "example: railgauge requalify 20261124-180000-mine mx[07,09]; the folder of the run is only "
    "read. More options of the measurement are in PYTEST_ADDOPTS, such as --wait 600. Exit codes: "
    f"those of the completed run's verdict, {EXIT_CODES_IN_WORDS}; 2 for input that cannot be "
    "used; where the nodes reached no verdict, that of pytest"
)
_REACHED = {one.exit_code for one in Verdict}
_BROKEN = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "signed", metavar="RUN", help="the run to complete: its name in reports/, folder or bundle"
    )
    parser.add_argument("nodes", metavar="NODES", help="the nodes to qualify: mx07, mx[07-09]")
    parser.add_argument(
        "--hostfile",
        type=Path,
        metavar="FILE",
        help="the run's hostfile, if this site does not have it",
    )
    merge.add_into(parser)


def run(options: argparse.Namespace) -> int:
    """Return the exit code of the completed run's verdict."""
    from railgauge.bundle import partners, requalification  # noqa: PLC0415 - 0.3 s to import

    site = options.root.resolve()
    hostfile = options.hostfile.resolve() if options.hostfile else None
    signed = partners.run_named(options.signed, (site / "reports", Path()), "RUN")
    asked = requalification.of_run(signed, options.nodes, site, hostfile)
    measured, code = _measured(asked, site, options)
    if measured is None:
        return code
    folder, code = merge.merged((signed, measured), options)
    result = {
        "run": asked.run_id,
        "was": asked.was,
        "nodes": list(asked.nodes),
        "measured": measured.name,
        "found": merge.verdict(measured)["verdict"],
        "folder": str(folder),
        "verdict": merge.verdict(folder)["verdict"],
    }
    if options.json:
        text.print_json(result)
    else:
        print(text.printable(_LINE.format(**{**result, "nodes": folded(asked.nodes)})))
    return code


_LINE = "{run} was {was}. {nodes}: {found} in {measured}. The run of both is {verdict}: {folder}"


def _measured(
    asked: Requalification, site: Path, options: argparse.Namespace
) -> tuple[Path | None, int]:
    """The folder of the run of the nodes, unless it reached no verdict, and its exit code."""
    with TemporaryDirectory(prefix="railgauge-requalify-") as made:
        id_file, given = Path(made, "run-id"), Path(made, "deviations.yaml")
        words = [*asked.options, f"--run-id-file={id_file}"]
        if asked.deviations:  # JSON is YAML too
            accepted = [asdict(one) for one in asked.deviations]
            given.write_text(json.dumps(accepted), encoding="utf-8")
            words.append(f"--deviations={given}")
        with nullcontext() if options.json else screen.paused():
            code = pytest_session.ended(words, site, quiet=options.json)
        run_id = id_file.read_text(encoding="utf-8").strip() if id_file.exists() else ""
    folder = site / "reports" / run_id
    if run_id and code in _REACHED and (folder / VERDICT).exists():
        return folder, code
    kept = f": carry it on with pytest --resume {run_id}, then railgauge merge" if run_id else ""
    line = f"{folded(asked.nodes)}: no verdict, exit code {code}{kept}"
    print(f"railgauge: {text.printable(line)}", file=sys.stderr)
    return None, _BROKEN if code in _REACHED else code

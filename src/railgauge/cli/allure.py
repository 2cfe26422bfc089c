"""``railgauge allure``: the Allure report of a run, in one file that loads nothing from outside."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from railgauge.cli import run_argument, text
from railgauge.core.errors import BadInput
from railgauge.core.run_files import VERDICT
from railgauge.report.allure import surroundings
from railgauge.report.allure.packed import packed
from railgauge.report.allure.site import loaded_from_outside, without_analytics
from railgauge.run.newer import refuse_newer
from railgauge.run.store import write_whole

HELP = "make the Allure report of a run, with earlier nights as history"
EXAMPLE = "example: railgauge allure reports/latest"

OUTPUT = "allure-report"
_NIGHTS = 60
_TIME_LIMIT_S = 900
_INSTALLED = ".cache/allure/node_modules/.bin/allure"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    run_argument.add(parser)
    parser.add_argument(
        "--allure",
        metavar="PROGRAM",
        help=f"the generator, version 3 (default: {_INSTALLED}, then allure on the PATH)",
    )
    parser.add_argument(
        "-o", dest="output", type=Path, metavar="DIR", help=f"default: RUN/{OUTPUT}"
    )
    parser.add_argument(
        "--folder",
        action="store_true",
        help="write many files for a web server, instead of one that opens without a server",
    )


def run(options: argparse.Namespace) -> int:
    folder = run_argument.folder(options)
    program = _program(options)
    output = (options.output or folder / OUTPUT).absolute()
    if output.is_symlink():  # what it points to would be deleted
        raise BadInput("is a link", where=str(output), remedy="remove it, or name another with -o")
    config = _config(folder, output, single=not options.folder)
    history = Path(config["historyPath"])
    _forget(history, config["name"])
    _generate(program, config, folder)
    _silence(output)
    nights = len(_lines(history))
    page = output / "index.html"
    if options.json:
        text.print_json({"report": str(page), "nights": nights})
    else:
        print(f"{page}: {nights} nights in its history")
    return 0


def _program(options: argparse.Namespace) -> str:
    found: str | None
    if options.allure:
        found = shutil.which(options.allure)
    else:
        installed = options.root / _INSTALLED
        found = str(installed.resolve()) if installed.exists() else shutil.which("allure")
    if found:
        return found
    raise BadInput(
        "Allure's generator is not installed",
        where=options.allure or "allure",
        remedy="make allure-cli installs it (needs node 20 and npm), or name it with --allure",
    )


def _config(folder: Path, output: Path, single: bool) -> dict[str, Any]:
    """Return the run's Allure settings, with the paths of the report and of its history.

    Only texts are taken from the run's folder: settings can name programs that Allure loads.
    """
    refuse_newer(folder)
    path = folder / "allurerc.json"
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        verdict = json.loads((folder / VERDICT).read_text(encoding="utf-8"))
        cluster = Path(verdict["cluster"]).name
        title = str(kept["plugins"]["awesome"]["options"]["reportName"])
        config = surroundings.config(str(kept["name"]), title, kept["categories"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise BadInput(
            f"is not the folder of a run with a verdict: {path.name}: {why}", where=str(folder)
        ) from None
    config["plugins"]["awesome"]["options"]["singleFile"] = single
    history = folder.parent / f"allure-history-{cluster}.jsonl"
    return {
        **config,
        "output": str(output),
        "historyPath": str(history),
        "historyLimit": _NIGHTS,
    }


def _generate(program: str, config: dict[str, Any], folder: Path) -> None:
    output = Path(config["output"])
    if output.is_dir():
        shutil.rmtree(output)
    with tempfile.TemporaryDirectory(prefix="railgauge-allure-") as place:
        settings = Path(place, "allurerc.json")
        settings.write_text(json.dumps(config), encoding="utf-8")
        command = [program, "generate", "--config", str(settings), str(folder / "allure-results")]
        try:
            done = subprocess.run(
                [*command, "--output", str(output)],
                capture_output=True, text=True, errors="replace", check=False,
                timeout=_TIME_LIMIT_S, stdin=subprocess.DEVNULL, cwd=folder,
                env={**os.environ, "ALLURE_NO_ANALYTICS": "true"},
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise BadInput(f"could not run: {error}", where=program) from None
    output_text = " ".join(f"{done.stdout} {done.stderr}".split())
    if done.returncode or not (output / "index.html").is_file():
        raise BadInput(
            f"made no report: {output_text[-500:] or 'it printed nothing'}", where=program
        )
    if output_text:
        print(f"{program}: {text.printable(output_text)}", file=sys.stderr)


def _silence(output: Path) -> None:
    """Remove the analytics from every page. Raises ``BadInput`` if a page loads from outside."""
    for page in output.rglob("*.html"):
        if page.parent.name == "attachments":
            continue
        quiet = without_analytics(page.read_text(encoding="utf-8"))
        if outside := loaded_from_outside(quiet):
            raise BadInput(f"would load {outside[0]}", where=str(page))
        write_whole(page, packed(quiet))


def _lines(history: Path) -> list[str]:
    return history.read_text(encoding="utf-8").splitlines() if history.is_file() else []


def _forget(history: Path, name: str) -> None:
    """Remove a run from the history, so that a report made again does not count twice."""
    kept = [line for line in _lines(history) if _name(line) != name]
    if history.is_file():
        write_whole(history, "".join(f"{line}\n" for line in kept))


def _name(line: str) -> object:
    try:
        return json.loads(line).get("name")
    except (ValueError, AttributeError):
        return None

"""Measures what the suite itself costs, and writes the page of benchmarks.

    python selftests/bench/benchmarks.py [--only TOPIC]… [--json FILE] [--page FILE]

Runs every ``bench_<topic>.py`` beside this file (how one looks: ``measuring.py``), prints its
table as soon as it is done, and keeps the results of each topic with a note of the machine in the
JSON file: a topic that is not run stays as it was. The page is made from that file. Exit code 1
if a target was missed or grows too fast, 2 for a topic that does not exist.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmark_page import page, reasons, table
from measuring import row_from_json, row_to_json

HERE = Path(__file__).parent


def topics(folder: Path = HERE) -> list[str]:
    return sorted(path.stem.removeprefix("bench_") for path in folder.glob("bench_*.py"))


def machine() -> dict[str, Any]:
    """What the figures depend on; nothing identifies the machine."""
    return {
        "cores": len(os.sched_getaffinity(0)),
        "kernel": f"{platform.system()} {platform.release().split('-')[0]}",
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2),
    }


def measure(topic: str) -> dict[str, Any]:
    """The result of one topic, as plain data."""
    module, noted = importlib.import_module(f"bench_{topic}"), machine()
    rows = [row_to_json(row) for row in module.rows()]
    return {"title": module.TITLE, "about": module.ABOUT, "machine": noted, "rows": rows}


def show(result: Mapping[str, Any]) -> bool:
    """Print a topic's table; return whether all targets were met."""
    rows = [row_from_json(data) for data in result["rows"]]
    missed = list(reasons(rows))
    print("\n".join([result["title"], *table(rows), *missed]), flush=True)
    return not missed


def run(names: Sequence[str], keep: Path | None) -> tuple[bool, dict[str, Any]]:
    """Measure the topics one after the other and save each; return whether all targets were met."""
    met, results = True, kept(keep)
    for name in names:
        result = measure(name)
        met = show(result) and met
        results = {**results, **kept(keep), name: result}
        if keep:
            text = json.dumps(results, indent=1, sort_keys=True)
            keep.write_text(text + "\n", encoding="utf-8")
    return met, results


def kept(path: Path | None) -> dict[str, Any]:
    """All results so far, including those of a run at the same time."""
    if path is None or not path.exists():
        return {}
    results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return results


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    known = topics()
    if unknown := sorted(set(options.only) - set(known)):
        print(f"no topic {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    met, results = run(options.only or known, options.json)
    if options.page:
        options.page.write_text(page(results), encoding="utf-8")
    return 0 if met else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="what the suite itself costs")
    parser.add_argument("--only", action="append", default=[], metavar="TOPIC")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where results are kept")
    parser.add_argument("--page", type=Path, metavar="FILE", help="the table as a page")
    return parser


if __name__ == "__main__":
    sys.exit(main())

"""Allure: how many files the results of a large run are, and when its page answers in a browser."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

from measuring import ROOT, Row

sys.path.append(str(ROOT / "selftests"))

from bench_report import night, write_run
from testing.devtools import tab
from testing.render_page import Replacement
from testing.waiting import wait_until

from railgauge.cli import main
from railgauge.report.allure import results, surroundings
from railgauge.report.lines import of_items
from railgauge.report.plots import plots
from railgauge.run.store import Store

TITLE = "Allure"
ABOUT = """RDMA writes between H200 nodes, of which one is slow: the files of Allure's results for
each item, and the page that `railgauge allure` makes of them with Allure's generator (`make
allure-cli`): its size, and the wall-clock time from the address to the items in headless
Chromium."""

ITEMS = 10_000
_LIMIT_S = 300
_GENERATOR = ROOT / ".cache" / "allure" / "node_modules" / ".bin" / "allure"
_ARE_ITEMS = "document.body.innerText.includes('host_write_bandwidth[')"


def rows() -> Iterator[Row]:
    with TemporaryDirectory() as name:
        run = Path(name, "run")
        run.mkdir()
        write_run(run, night(312, {"n7": 200.0}))
        files = _write(run)
        yield Row("Allure, results", ITEMS, "items", files / ITEMS, "files an item", target=1.2)
        with redirect_stdout(sys.stderr):
            assert main(["allure", str(run), "--allure", str(_GENERATOR)]) == 0
        page = run / "allure-report" / "index.html"
        size_mb = page.stat().st_size / 1e6
        yield Row("Allure, page", ITEMS, "items", size_mb, "MB", target=30.0)
        yield Row("Allure, page answers", ITEMS, "items", _opens_s(page), "s", target=10.0)


def _write(run: Path) -> int:
    """Write the results as the end of a run does, and return the number of files."""
    made = Replacement(run, ITEMS)
    drawn = plots(made.records.values(), made.platform, made.cluster, made.run.evidence)
    folder = run / "allure-results"
    surroundings.write(folder, made.verdict, made.platform, drawn)
    surroundings.write_config(run / "allurerc.json", made.verdict)
    Store(run).write_json("verdict.json", made.verdict.to_json())
    reported = results.ReportedRun(run, folder, made.verdict, int(1000 * time.time()), drawn)
    results.write(reported, of_items(made.records))
    return sum(1 for _ in folder.iterdir())


def _opens_s(page: Path) -> float:
    with tab() as shown:
        shown.emulate(1280)
        began = time.perf_counter()
        shown.open(page.as_uri())
        wait_until(lambda: shown.of(_ARE_ITEMS), _LIMIT_S, "the items")
        return time.perf_counter() - began

"""Page: when report.html answers in a browser, beside the page of pytest-html itself."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from measuring import ROOT, Row

sys.path.append(str(ROOT / "selftests"))

from bench_report import night, write_run
from testing.devtools import tab
from testing.render_page import render

TITLE = "Page"
ABOUT = """How long headless Chromium takes from the address to a page that answers: loaded, its
script done, a frame drawn. `report.html` of RDMA writes between H200 nodes, of which one is slow,
beside the page that pytest-html makes of as many tests without railgauge, of which one in fifty
fails. Wall-clock seconds, the better of two, both pages in turn; the size is that of
`report.html`."""

SIZES = {1000: 1.5, 3000: None, 10000: 0.5}
_ARE_ROWS = "document.querySelectorAll('#results-table tbody').length > 0"
_HAS_FILTER = "!document.getElementById('filter').hidden"
_DRAWN = "new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"
_MOST_MB = 8.0


def rows() -> Iterator[Row]:
    with TemporaryDirectory() as name:
        run = Path(name, "run")
        run.mkdir()
        write_run(run, night(312, {"n7": 200.0}))
        for items, target in SIZES.items():
            ours, plain = Path(name, "report.html"), Path(name, "plain.html")
            render(run, ours, items)
            _plain(Path(name), plain, items)
            both = [(_opens_s(ours, _HAS_FILTER), _opens_s(plain, _ARE_ROWS)) for _ in range(2)]
            measured, baseline = (min(side) for side in zip(*both, strict=True))
            size_mb = ours.stat().st_size / 1e6
            yield Row(
                "page answers", items, "items", measured, "s", compared_with="pytest-html",
                baseline=baseline, ratio=measured / baseline, target=target,
                shown=f"{size_mb:.1f} MB",
            )  # fmt: skip
        yield Row("page, size", items, "items", size_mb, "MB", target=_MOST_MB)


def _plain(folder: Path, page: Path, items: int) -> None:
    """The page of pytest-html alone."""
    tests = folder / "plain"
    tests.mkdir(exist_ok=True)
    text = f"import pytest\n@pytest.mark.parametrize('n', range({items}))\n"
    (tests / "test_x.py").write_text(f"{text}def test_write_bandwidth(n):\n    assert n % 50\n")
    (tests / "pytest.ini").write_text("[pytest]\n")
    options = ["-q", "--tb=line", "-p", "no:railgauge", "-p", "no:allure_pytest"]
    options += [f"--html={page}", "--self-contained-html", f"--rootdir={tests}", str(tests)]
    subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        cwd=tests, stdout=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    assert page.exists()


def _opens_s(page: Path, is_ready: str) -> float:
    with tab() as shown:
        shown.emulate(1280)
        began = time.perf_counter()
        shown.open(page.as_uri())
        while not shown.of(f"document.readyState === 'complete' && {is_ready}"):
            time.sleep(0.01)
        shown.of(_DRAWN)
        return time.perf_counter() - began

"""A page as PDF, by a Chromium that is installed here. It gets no network and no profile."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from railgauge.core.errors import BadInput

PROGRAMS = (
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
    "chrome",
    "headless_shell",
    "chrome-headless-shell",
)
_LIMIT_S = 180
_PDF = b"%PDF-"
_REMEDY = "write the page with -o FILE.html, open it in a browser, and print it"


def as_pdf(page: str, path: Path) -> None:
    """Write ``page`` as PDF to ``path``. Raises ``BadInput`` without a Chromium that prints it."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        raise BadInput("no Chromium is installed here to make a PDF", remedy=_REMEDY)
    with tempfile.TemporaryDirectory(prefix="railgauge-pdf-") as folder:
        source, made = Path(folder, "page.html"), Path(folder, "page.pdf")
        source.write_text(page, encoding="utf-8")
        why = _printed(_argv(program, Path(folder), source, made), Path(folder))
        if not made.is_file() or not made.read_bytes().startswith(_PDF):
            raise BadInput(f"{program} printed no PDF: {why}", remedy=_REMEDY)
        try:
            shutil.copyfile(made, path)
        except OSError as error:
            raise BadInput(f"cannot be written: {error.strerror}", where=str(path)) from None


def _argv(program: str, folder: Path, source: Path, made: Path) -> list[str]:
    # Chromium refuses to run as root with its sandbox; the page has no script and loads nothing.
    alone = ["--no-sandbox"] if os.geteuid() == 0 else []
    return [
        program,
        "--headless",
        *alone,
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        f"--user-data-dir={folder / 'profile'}",
        "--no-pdf-header-footer",
        f"--print-to-pdf={made}",
        source.as_uri(),
    ]


def _printed(argv: list[str], folder: Path) -> str:
    """Run the program; return its last line, for an error."""
    try:
        ended = subprocess.run(
            argv, cwd=folder, capture_output=True, timeout=_LIMIT_S, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"it did not end within {_LIMIT_S} s"
    except OSError as error:
        return error.strerror or str(error)
    lines = ended.stderr.decode("utf-8", "replace").strip().splitlines()
    return f"exit code {ended.returncode}: {(lines or ['it printed nothing'])[-1][:200]}"

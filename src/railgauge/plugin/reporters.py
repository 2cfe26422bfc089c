"""Where the reports of pytest's plugins go, and what is said on the screen and left off it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from railgauge.report import junit


def direct_reports(option: Any, folder: Path, *, is_worker: bool) -> None:
    """Send the reports of pytest's plugins into the run's folder, if the user named no place."""
    # Allure's results are written where the tests run; xdist hands no option on to its workers.
    _unless_named(option, "allure_report_dir", folder / "allure-results")
    if not is_worker and _unless_named(option, "htmlpath", folder / "report.html"):
        option.self_contained_html = True


def junit_files(option: Any, folder: Path) -> tuple[Path, ...]:
    """Where ``junit.xml`` goes; pytest's own, which follows marks and hooks, is switched off."""
    named = getattr(option, "xmlpath", None)
    option.xmlpath = None
    elsewhere = (Path(named).expanduser().absolute(),) if named else ()
    return (folder / junit.FILE, *elsewhere)


def _unless_named(option: Any, name: str, path: Path) -> bool:
    """Set a reporter's path if the user did not; a reporter that was switched off has no option."""
    if getattr(option, name, None):
        return False
    setattr(option, name, str(path))
    return True


def quieten(config: pytest.Config) -> None:
    """The last screen says what went wrong; pytest's own repetition of it is left to the reports.

    ``--tb`` and ``-r`` bring it back.
    """
    if config.option.tbstyle == "auto":
        config.option.tbstyle = "no"
    if config.option.reportchars == "fE":
        config.option.reportchars = "N"


def tell(config: pytest.Config, line: str) -> None:
    """A line of its own on the terminal, in yellow, if there is one: workers have none."""
    if out := config.pluginmanager.getplugin("terminalreporter"):
        out.ensure_newline()
        out.write_line(line, yellow=True)


def writer(config: pytest.Config, *, yellow: bool = False) -> Callable[[str], None]:
    """Writes a line on the terminal where its cursor is, if there is a terminal."""
    out = config.pluginmanager.getplugin("terminalreporter")

    def write(line: str) -> None:
        if out is not None:
            out.write_line(line, yellow=yellow)

    return write


def show_faults(config: pytest.Config) -> None:
    """``--lab-fault list`` prints the faults and ends."""
    if "list" in config.getoption("--lab-fault"):
        from railgauge.lab import faults  # noqa: PLC0415

        lines = [f"  {name:<20} {what}" for name, what in sorted(faults.NAMES.items())]
        pytest.exit("\n".join(["faults of the lab, NAME[@NODE[:DEVICE]]:", *lines]), returncode=0)

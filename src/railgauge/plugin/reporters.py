"""Where the reports of pytest's plugins go, and what is printed on the terminal."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from railgauge import labs
from railgauge.report import junit
from railgauge.report.causes import printable
from railgauge.run.progress.screen import Screen

SCREEN = pytest.StashKey[Screen]()


def direct_reports(option: Any, folder: Path, *, is_worker: bool) -> None:
    """Send the reports of pytest's plugins to the run's folder, unless the user named a path."""
    # Workers write Allure's results too, and xdist does not pass them this option.
    _unless_named(option, "allure_report_dir", folder / "allure-results")
    if not is_worker and _unless_named(option, "htmlpath", folder / "report.html"):
        option.self_contained_html = True


def junit_files(option: Any, folder: Path) -> tuple[Path, ...]:
    """The paths of ``junit.xml``. pytest's own JUnit report is off, because marks change it."""
    named = getattr(option, "xmlpath", None)
    option.xmlpath = None
    elsewhere = (Path(named).expanduser().absolute(),) if named else ()
    return (folder / junit.FILE, *elsewhere)


def _unless_named(option: Any, name: str, path: Path) -> bool:
    """Set a reporter's path unless the user did; return whether it was set.

    The option is set even if the reporter is switched off, which does no harm.
    """
    if getattr(option, name, None):
        return False
    setattr(option, name, str(path))
    return True


def quieten(config: pytest.Config) -> None:
    """Switch off pytest's tracebacks and short summary: the final summary has the same facts.

    ``--tb`` and ``-r`` switch them on again.
    """
    if config.option.tbstyle == "auto":
        config.option.tbstyle = "no"
    if config.option.reportchars == "fE":
        config.option.reportchars = "N"


def tell(config: pytest.Config, line: str, *, yellow: bool = True) -> None:
    """Print a line of its own on the terminal; does nothing in a worker, which has no terminal.

    The line is flushed, because the terminal may be the log file of a CI server. Any thread may
    call this.
    """
    out = config.pluginmanager.getplugin("terminalreporter")
    if out is None:
        return
    with config.stash[SCREEN].lock if SCREEN in config.stash else nullcontext():
        out.ensure_newline()
        out.write_line(printable(line), yellow=yellow)
        out.flush()


def lists_faults(config: pytest.Config) -> bool:
    """Whether ``--lab-fault list`` is given, which only prints the faults of the lab."""
    return "list" in config.getoption("--lab-fault")


def show_faults(config: pytest.Config) -> None:
    """Print the faults of the lab and exit, if ``--lab-fault list`` is given."""
    if lists_faults(config):
        pytest.exit("\n".join(labs.listed_faults()), returncode=0)

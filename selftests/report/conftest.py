"""The runs that the report tests read, each made once, and the programs they need."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest
from testing import browser, devtools
from testing.browser import Seen
from testing.places import ROOT

if TYPE_CHECKING:
    from testing.acceptance import Run

Look = Callable[..., Seen]


@pytest.fixture(scope="session")
def look(cannot_run: Callable[[str], NoReturn], tmp_path_factory: pytest.TempPathFactory) -> Look:
    """``look(page, then="")`` returns the page as Chromium renders it, once for each content."""
    if browser.program() is None:
        cannot_run(f"there is none of {', '.join(browser.NAMES)}")

    seen: dict[tuple[Path, str, bytes], Seen] = {}

    def look(page: Path, then: str = "") -> Seen:
        key = (page, then, page.read_bytes())
        if key not in seen:
            seen[key] = browser.look(page, tmp_path_factory.mktemp("browser"), then)
        return seen[key]

    return look


@pytest.fixture(scope="session")
def new_tab(cannot_run: Callable[[str], NoReturn]) -> Iterator[Callable[[], devtools.Tab]]:
    """``new_tab()``: a tab of a browser, driven over its debugging pipe."""
    if browser.program() is None:
        cannot_run(f"there is none of {', '.join(browser.NAMES)}")
    with devtools.tabs() as new:
        yield new


@pytest.fixture
def tab(new_tab: Callable[[], devtools.Tab]) -> Iterator[devtools.Tab]:
    """A tab that shares nothing with those of other tests but the browser."""
    made = new_tab()
    yield made
    made.close()


@pytest.fixture(scope="session")
def axe(cannot_run: Callable[[str], NoReturn]) -> str:
    """The script of axe-core, if it is installed."""
    script = ROOT / ".cache" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        cannot_run("axe-core is not installed: make axe")
    return script.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def generator(cannot_run: Callable[[str], NoReturn]) -> str:
    """Allure's generator, if it is installed."""
    installed = ROOT / ".cache" / "allure" / "node_modules" / ".bin" / "allure"
    if shutil.which("node") is None:
        cannot_run("there is no node")
    if not installed.exists():
        cannot_run("Allure's generator is not installed: make allure-cli")
    return str(installed)


@dataclass(frozen=True)
class Nights:
    """Two runs of one project: the first is healthy, the second has a fault."""

    healthy: Run
    red: Run
    folders: tuple[Path, Path]


@pytest.fixture(scope="session")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Nights:
    from testing.acceptance import HOMELAB, SMOKE, make_project  # noqa: PLC0415 - found by the path above

    project = make_project(tmp_path_factory.mktemp("nights") / "project")
    healthy = project.run(*HOMELAB, *SMOKE)
    first = healthy.latest.resolve()
    red = project.run(*HOMELAB, *SMOKE, "--no-gates", "--lab-fault", "memlock@columbia")
    assert (healthy.code, red.code) == (0, 1), healthy.output[-2000:] + red.output[-2000:]
    return Nights(healthy, red, (first, red.latest.resolve()))


@pytest.fixture(scope="session")
def gdr(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The story of document 000: both RDMA rungs pass, collectives between nodes fail."""
    from testing.acceptance import METAX, SMOKE, make_project  # noqa: PLC0415

    project = make_project(tmp_path_factory.mktemp("gdr") / "project")
    fault = ("--no-gates", "--lab-fault", "gdr-disabled@mx02")
    some = ("-k", "peer_memory or alike or write_bandwidth or all_reduce")
    run = project.run(*METAX, *SMOKE, *fault, *some)
    assert run.code == 1, run.output[-2000:]
    return run

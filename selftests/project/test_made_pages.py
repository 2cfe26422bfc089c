"""``make docs``: every page is there, every link leads somewhere, and the list has every page."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from test_pages import anchors, links
from testing.places import ROOT
from testing.programs import asked

from railgauge.cli.pages import MADE


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "site"
    environment = (f"VENV={sys.prefix}", f"--old-file={sys.prefix}/.ready")
    made = subprocess.run(
        [asked("make"), "--silent", "docs", f"SITE={folder}", *environment],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    return folder


def test_it_has_the_pages_of_the_project_and_those_that_are_made(site: Path) -> None:
    written = {path.name for path in (ROOT / "docs").glob("*.md")}
    made = {f"{name}.md" for name in MADE} | {"documents.md"}
    pages = {path.name: path.read_text(encoding="utf-8") for path in (site / "docs").glob("*.md")}
    assert pages.keys() == written | made
    assert [name for name, text in pages.items() if not text.startswith("# ")] == []


def test_every_link_of_the_pages_leads_somewhere(site: Path) -> None:
    for page in site.rglob("*.md"):
        for link in links(page):
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            assert target.exists(), f"{page}: {link}"
            assert target.is_relative_to(site), f"{page}: {link}"
            assert not anchor or anchor in anchors(target), f"{page}: {link}"


def test_the_list_has_a_link_to_each_page(site: Path) -> None:
    listed = {link.partition("#")[0] for link in links(site / "docs" / "README.md")}
    assert {path.name for path in (site / "docs").glob("*.md")} - listed == {"README.md"}

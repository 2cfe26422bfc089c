"""The documentation is in the package, and messages name the command that prints it."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from testing.places import ROOT

from railgauge.cli.pages import MADE, made
from railgauge.site import contents

DOCS = ROOT / "docs"
PAGES = {*contents.pages(DOCS), *MADE}
_FILE = re.compile(r"\bdocs/[\w-]+\.md\b")
_COMMAND = re.compile(r"\brailgauge docs ([a-z-]+)")


def test_every_page_is_listed_with_what_is_in_it(railgauge) -> None:
    code, out, err = railgauge("docs")
    listed = re.findall(r"^  ([a-z-]+) +\S", out, re.MULTILINE)
    assert (code, err) == (0, "")
    assert sorted(listed) == sorted(PAGES)
    report = json.loads(railgauge("docs", "--json")[1])["pages"]
    assert [one["page"] for one in report] == listed
    assert all(one["contents"] for one in report)


@pytest.mark.parametrize("name", contents.pages(DOCS))
def test_a_page_is_printed_as_it_is(railgauge, name: str) -> None:
    """Nothing in it is taken for a secret and masked."""
    code, out, err = railgauge("docs", name)
    assert (code, out, err) == (0, (DOCS / f"{name}.md").read_text(encoding="utf-8"), "")


@pytest.mark.parametrize("name", ["nightly", "nightly.md", "docs/nightly.md"])
def test_a_page_is_found_by_the_name_of_its_file_too(railgauge, name: str) -> None:
    report = json.loads(railgauge("docs", name, "--json")[1])
    written = (DOCS / "nightly.md").read_text(encoding="utf-8")
    assert report == {"page": "nightly", "text": written}


@pytest.mark.parametrize("name", MADE)
def test_a_page_that_is_made_is_no_file_too(railgauge, name: str) -> None:
    code, out, err = railgauge("docs", name, "--root", str(ROOT))
    assert not (DOCS / f"{name}.md").exists()
    assert (code, err) == (0, "")
    assert out == made(name, ROOT)
    assert {*re.findall(r"\]\(([a-z-]+)\.md\b", out)} <= PAGES
    assert out.startswith("# ")
    assert out.endswith("\n")


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("nigtly", "railgauge docs nightly"),
        ("../../etc/passwd", "list them: railgauge docs"),
        ("README", "list them: railgauge docs"),
        ("limit", "railgauge docs limits"),
        ("secrets.md", "railgauge docs security, under 'Secrets'"),
    ],
)
def test_a_page_that_does_not_exist_is_bad_input(railgauge, asked: str, says: str) -> None:
    code, out, err = railgauge("docs", asked)
    assert (code, out) == (2, "")
    assert err == f"railgauge: there is no page {asked!r}; {says}\n"


def test_a_page_on_a_terminal_is_shown_by_the_user_s_pager(
    railgauge, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    monkeypatch.setattr("pydoc.pager", shown.append)
    monkeypatch.setattr(type(sys.stdin), "isatty", lambda _: True, raising=False)
    railgauge("docs", "nightly")
    assert shown == [], "standard output is a file"
    from railgauge.cli import docs  # noqa: PLC0415

    class Terminal:
        @staticmethod
        def isatty() -> bool:
            return True

    monkeypatch.setattr(docs, "sys", type("Sys", (), {"stdin": Terminal, "stdout": Terminal}))
    railgauge("docs", "nightly")
    assert shown == [(DOCS / "nightly.md").read_text(encoding="utf-8")]


# --- what the product says ---


def _strings(path: Path) -> Iterator[str]:
    """The texts of a module that are no documentation of it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    prose = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.value


def _said() -> Iterator[tuple[str, str]]:
    """Every text of the packages, and of the files of a site but its tests, with its file."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        yield from ((path.name, text) for text in _strings(path))
    for name in contents.names(ROOT):
        if not name.endswith(".py"):
            yield name, (ROOT / name).read_text(encoding="utf-8")


def test_no_message_names_a_file_that_a_site_does_not_have() -> None:
    assert [(name, found[0]) for name, text in _said() if (found := _FILE.findall(text))] == []


def test_every_page_that_a_message_names_exists() -> None:
    named = {(name, page) for name, text in _said() for page in _COMMAND.findall(text)}
    assert len(named) > 10
    assert {page for _, page in named} <= PAGES, named

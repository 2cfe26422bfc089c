"""``railgauge docs``: the documentation: pages of the package, and pages made from its data."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

from railgauge.cli import text
from railgauge.cli.pages import MADE, made
from railgauge.core.errors import BadInput
from railgauge.run.progress import screen
from railgauge.site import contents

HELP = "print a page of the documentation, or list the pages"
EXAMPLE = "example: railgauge docs running"
_ROW = re.compile(
    r"\| (?:\[(?P<page>[a-z-]+)\.md\]\((?P=page)\.md\)|`railgauge docs (?P<made>[a-z-]+)`)"
    r" \| (?P<contents>.*) \|"
)
_WIDTH = 18


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("page", nargs="?", metavar="PAGE", help="default: list all pages")


def run(options: argparse.Namespace) -> int:
    folder = contents.documentation()
    pages = contents.pages(folder)
    if options.page is None:
        _show_list((folder / f"{contents.LIST}.md").read_text("utf-8"), as_json=options.json)
        return 0
    name = _known(options.page, pages)
    page = _text(name, pages, options.root)
    if options.json:
        text.print_json({"page": name, "text": page})
    else:
        _show(page)
    return 0


def _text(name: str, pages: Mapping[str, Path], root: Path) -> str:
    return made(name, root) if name in MADE else pages[name].read_text(encoding="utf-8")


def _known(asked: str, pages: Mapping[str, Path]) -> str:
    """The name of the page; the name of its file is accepted too, as in links between pages."""
    name = Path(asked).name.removesuffix(".md")
    names = sorted({*pages, *MADE})
    if name in names:
        return name
    raise BadInput(f"there is no page {asked!r}", remedy=_nearest(name, names, pages))


def _nearest(name: str, names: list[str], pages: Mapping[str, Path]) -> str:
    """What to read instead: the page with a heading of these words, or one with a like name."""
    words = r"[- ]".join(map(re.escape, name.split("-"))) or "(?!)"
    heading = re.compile(rf"^##+ (.*\b{words}\b.*)$", re.I | re.M)
    for page, path in pages.items():
        if found := heading.search(path.read_text(encoding="utf-8")):
            return f"railgauge docs {page}, under {found[1]!r}"
    near = get_close_matches(name, names, 1)
    return f"railgauge docs {near[0]}" if near else "list them: railgauge docs"


def _show_list(written: str, *, as_json: bool) -> None:
    """Print the pages as ``docs/README.md`` lists them, with its headings."""
    rows = [_ROW.fullmatch(line) for line in written.splitlines()]
    if as_json:
        listed = [{"page": _name(row), "contents": row["contents"]} for row in rows if row]
        text.print_json({"pages": listed})
        return
    for line, row in zip(written.splitlines(), rows, strict=True):
        if line.startswith("## "):
            print(f"{line.removeprefix('## ')}:")
        elif row:
            print(f"  {_name(row):<{_WIDTH}} {row['contents'].replace('`', '')}")
    print("railgauge docs PAGE prints one")


def _name(row: re.Match[str]) -> str:
    return row["page"] or row["made"]


def _show(page: str) -> None:
    """Print the page; on a terminal by the user's pager (PAGER), or less."""
    if sys.stdout.isatty() and sys.stdin.isatty():
        import pydoc  # noqa: PLC0415 - only a terminal needs it

        with screen.paused():
            pydoc.pager(page)
    else:
        print(page, end="")

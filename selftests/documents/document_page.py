"""The page of the five documents: each check, figure, setting and step, and what holds it.

    python selftests/documents/document_page.py [--page FILE]

Without ``--page`` it is printed. Exit code 1 if a line is held by nothing, or by what is not there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from document_holders import Unheld, resolved
from document_lines import Document, Line, documents

_HEAD = """\
# The five documents

Made by `make docs` from `docs/documents/` and the platform files; do not edit. Each check, figure,
setting and step that a document names stands beside what holds it: the expectation or limit of the
platform file with what it is, the measurement and what of it is judged (size, link, gpu, run,
traffic, transport), the option or variable that it is run with, the declared hardware, the fault of
the lab that breaks it and the cause that is then named. What is deliberately not held says why.
"""


def page() -> str:
    """The whole page; a reference that cannot be resolved is marked on it."""
    return "\n".join((_HEAD, *(line for one in documents() for line in _document(one))))


def _document(one: Document) -> Iterator[str]:
    yield f"## {one.number}: {one.title} (`{one.platform}`)\n"
    yield "| section | what it says | figure | held by |\n|---|---|---|---|"
    for line in one.lines:
        cells = (line.section, line.says, line.figure, _held(line, one.platform))
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
    yield ""


def _held(line: Line, platform: str) -> str:
    held = [_shown(reference, platform, line.document) for reference in line.held]
    why = [f"not held: {line.why}" if not held else line.why] if line.why else []
    todo = [f"**todo: {line.todo}**"] if line.todo else []
    return "; ".join([*(f"`{one}`" for one in held), *why, *todo])


def _shown(reference: str, platform: str, document: str) -> str:
    try:
        return resolved(reference, platform, document)
    except Unheld as error:
        return f"NOT THERE: {error}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args(arguments)
    text = page()
    if options.page:
        options.page.write_text(text, encoding="utf-8")
    else:
        print(text)
    empty = [str(line) for one in documents() for line in one.lines if line.is_empty or line.todo]
    empty += [line for line in text.splitlines() if "NOT THERE: " in line]
    print("\n".join(empty), end="", file=sys.stderr)
    return 1 if empty else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

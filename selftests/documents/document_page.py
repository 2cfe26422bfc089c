"""The page of the five documents: each check, figure, setting and step, and what holds it.

    python selftests/documents/document_page.py [--page FILE]

Without ``--page`` it is printed. Exit code 1 if a line is held by nothing, or by what is not there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from document_holders import Unheld, is_run, resolved
from document_lines import Document, Line, documents

_HEAD = """\
# The five documents

Each check, figure, setting and step that a document names stands beside what holds it. A figure
after *bad* is one that the document finds on a broken machine. The column *example* says what the
selftests run of a line:

- **run**: the selftests run an example of at least one reference of the line, a healthy input and
  a broken one. The references that are run are:
  - `expected`: the lab's healthy node is judged by the expectation and passes; with another value
    of the fact it fails.
  - `limit`: the figures of the line are judged by the limit and pass, those after *bad* fail, and
    so does a value that is 0.1 % beyond the limit. A line without a figure of that size takes one
    that is 2 % within the limit.
  - `option`, `environment`: the planned command has the option or the variable; without the entry
    in the platform file it is another command. Options that an output of the documents prints are
    denied by it if they had another value.
  - `hardware`: with another declaration a healthy node fails, or ceilings or paths are others.
  - `measured`: a level asks for the measurement, and for what of it is judged (size, link, gpu,
    run, traffic, transport).
  - `result`: the named test passes if it was printed and passed, and only then.
  - `fact`: the survey of the lab's node knows it; a survey that printed nothing does not.
  - `fault`: the fault matrix runs it on the lab, and the cause that is named is one of the line.
- **named**: every reference of the line exists, and nothing of it is run here: `cause`, `prepare`,
  `tool`, `hostfile`, and `selftest`, which is run as a test of its own.
- **not held**: the line says why.
"""


def page() -> str:
    """The whole page; a reference that cannot be resolved is marked on it."""
    return "\n".join((_HEAD, *(line for one in documents() for line in _document(one))))


def _document(one: Document) -> Iterator[str]:
    yield f"## {one.number}: {one.title} (`{one.platform}`)\n"
    yield "| section | what it says | figure | example | held by |\n|---|---|---|---|---|"
    for line in one.lines:
        figure = f"bad: {line.bad}" if line.bad else line.figure
        cells = (line.section, line.says, figure, _example(line), _held(line, one.platform))
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
    yield ""


def _example(line: Line) -> str:
    """Whether the selftests run an example of what holds the line."""
    if not line.held:
        return "not held"
    return "run" if any(map(is_run, line.held)) else "named"


def _held(line: Line, platform: str) -> str:
    held = [_shown(reference, platform, line.document) for reference in line.held]
    why = [line.why] if line.why else []
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

"""Cleaning of printed text: one function, which every tool's output goes through."""

import pytest
from testing.core_values import SHARED
from testing.corpus_owners import OF_TOOLS

from railgauge import tools
from railgauge.tools.text import (
    clean,
    first_line_with,
    is_torn,
    line_at,
    lines,
    whole_lines,
)


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        ("a\r\nb\rc\n", "a\nb\nc\n"),
        ("\x1b[1;32mbusbw\x1b[0m 48.5\n", "busbw 48.5\n"),
        ("\x1b[?25lhidden cursor\x1b[2K\n", "hidden cursor\n"),
        ("nothing to clean\n", "nothing to clean\n"),
        ("", ""),
    ],
)
def test_colours_and_line_ends_are_removed(printed, text):
    assert clean(printed) == text
    assert clean(text) == text


def test_each_line_says_whether_its_end_was_printed():
    assert list(lines("a\nlong line\nb", 4)) == [("a", True), ("b", False)]
    assert list(lines("a\n")) == [("a", True), ("", False)]
    assert (whole_lines("a\nb"), is_torn("a\nb"), is_torn("a\n")) == (["a"], True, False)


def test_the_line_of_a_sign_is_fit_for_a_message():
    text = f"first\n  the   line with a sign{'.' * 500}\nlast"
    found = line_at(text, text.index("sign"))
    assert found.startswith("the line with a sign...")
    assert len(found) <= 200
    assert first_line_with(text, ("no such", "last", "first")) == "last"
    assert first_line_with(text, ("no such",)) is None


def recorded(name):
    """The first recorded output of the tool ``name``; ``None`` if there is none."""
    for path in sorted(SHARED.glob("*/**/*")):
        owners = [begin for begin in OF_TOOLS if str(path.relative_to(SHARED)).startswith(begin)]
        if owners and path.is_file() and OF_TOOLS[max(owners, key=len)] == name:
            return path.read_text(encoding="utf-8", errors="replace")
    return None


@pytest.mark.parametrize("name", tools.NAMES)
def test_every_tool_reads_what_a_terminal_made_of_its_output(name):
    """With colours and terminal line ends an output parses to the same result."""
    text = recorded(name)
    if text is None:
        pytest.skip(f"no recorded output of {name} is beside this repository")
    parse = tools.tool(name).parse
    printed = text.replace("\r\n", "\n").replace("\n", "\x1b[0m\r\n")
    expected = parse(text)
    assert expected.samples or expected.summary
    assert parse(printed) == expected

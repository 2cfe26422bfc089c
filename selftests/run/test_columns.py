"""How wide texts are on a terminal, and where they leave the cursor."""

from __future__ import annotations

import pytest

from railgauge.run.progress.columns import after, cut, stays, visible

WIDE = "\N{CJK UNIFIED IDEOGRAPH-65E5}"
ACCENT = "e\N{COMBINING ACUTE ACCENT}"


@pytest.mark.parametrize(
    ("text", "columns", "shown"),
    [
        ("abc", 3, "abc"),
        ("abcdef", 5, "ab..."),
        ("abcdef", 2, ".."),
        ("abcdef", 0, ""),
        (WIDE * 3, 6, WIDE * 3),
        (WIDE * 4, 7, f"{WIDE * 2}..."),
        (WIDE * 4, 6, f"{WIDE}..."),
        (ACCENT * 3, 3, ACCENT * 3),
        ("a\x1b[2J\nb\x9b", 80, "a [2J b "),
    ],
)
def test_a_text_is_cut_to_columns(text: str, columns: int, shown: str) -> None:
    assert cut(text, columns) == shown


@pytest.mark.parametrize(
    ("text", "column", "left_at"),
    [
        ("", 4, 4),
        ("....", 3, 7),
        ("abc\n", 3, 0),
        ("abc\nde", 3, 2),
        ("a\rbc", 7, 2),
        ("\x1b[32m.\x1b[0m", 3, 4),
        ("\x1b]0;a title\x07.", 3, 4),
        ("......", 4, 10),
        (".......", 4, 1),
        (".", 10, 1),
        ("x" * 23, 0, 3),
        (WIDE, 9, 2),
        (WIDE * 2, 3, 7),
        ("\t", 3, 8),
        ("\t", 8, 9),
        ("\b", 3, 2),
        ("\b", 0, 0),
        (ACCENT, 3, 4),
    ],
)
def test_a_text_moves_the_cursor_on_a_line_of_ten_columns(
    text: str, column: int, left_at: int
) -> None:
    assert after(visible(text), column, 10) == left_at


@pytest.mark.parametrize(
    ("text", "is_short"),
    [(".", True), ("......", False), (".....", True), ("a\n", False), ("\x1b[31m.....", True)],
)
def test_what_fits_into_the_line_leaves_what_is_below_it(text: str, is_short: bool) -> None:
    assert stays(visible(text), 4, 10) == is_short

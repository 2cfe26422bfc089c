"""No two places of the packages share more than five equal lines of code."""

from pathlib import Path

from equal_lines import shared_lines
from testing.core_values import ROOT

SIX = "".join(f"n{i} = {i}\n" for i in range(6))


def found(tmp_path: Path, one: str, other: str) -> list[str]:
    (tmp_path / "one.py").write_text(one)
    (tmp_path / "other.py").write_text(other)
    return shared_lines(tmp_path)


def test_nothing_stands_twice_in_the_package():
    assert shared_lines(ROOT / "src") == []


def test_six_lines_in_two_files_are_named_once_with_both_places(tmp_path):
    line = "one.py:2 and other.py:1 share 6 lines: n0 = 0"
    assert found(tmp_path, f"a = 1\n{SIX}b = 2\n", f"{SIX}c = 3\n") == [line]


def test_a_longer_run_is_one_entry_with_its_length(tmp_path):
    (entry,) = found(tmp_path, SIX + "m = 1\nk = 2\n", SIX + "m = 1\nk = 2\n")
    assert "share 8 lines" in entry


def test_a_file_that_repeats_itself_is_found(tmp_path):
    (entry,) = found(tmp_path, f"{SIX}b = 2\n{SIX}", "")
    assert entry.startswith("one.py:1 and one.py:8 share 6 lines")


def test_indentation_blank_lines_comments_and_docstrings_hide_nothing(tmp_path):
    body = "".join(f"\n    # why {i}\n    n{i} = {i}\n" for i in range(6))
    other = f'def f():\n    """Other words."""\n{body}'
    assert len(found(tmp_path, SIX, other)) == 1


def test_five_lines_imports_and_heads_of_functions_may_be_equal(tmp_path):
    five = "".join(SIX.splitlines(keepends=True)[:5])
    imports = "".join(f"import m{i}\n" for i in range(9))
    head = "def f(\n    a,\n    b,\n    c,\n    d,\n    e,\n    g,\n) -> None:\n"
    assert found(tmp_path, five + imports, five + imports) == []
    assert found(tmp_path, f"{head}    a()\n", f"{head}    b()\n") == []

"""HTML is made only by templates: text from nodes and users is escaped."""

from __future__ import annotations

import re

import pytest
from jinja2 import UndefinedError
from testing.places import ROOT

from railgauge.core import pages
from railgauge.report.rows import ItemRow, RowGroup

PACKAGE = ROOT / "src" / "railgauge"
TEMPLATES = sorted(PACKAGE.rglob("*.html.j2"))
ROWS = "report/templates/rows.html.j2"
TABLE = "report/templates/table.html.j2"
FIGURE = "core/templates/figure.html.j2"
HOSTILE = "<script>\"'&"
ESCAPED = "&lt;script&gt;&#34;&#39;&amp;"


def test_words_of_a_node_are_text():
    lines = [HOSTILE]
    row = ItemRow(
        "r1", HOSTILE, HOSTILE, False, lines, lines, 0.1, [(HOSTILE, 1)], "c1", HOSTILE, "", HOSTILE
    )
    made_by = pages.parts(ROWS)
    for made in (
        made_by.row(row),
        made_by.group(RowGroup(1, HOSTILE, HOSTILE, False, True, [row])),
        made_by.case("c1", HOSTILE, {"commands": [], "output": HOSTILE}),
        made_by.paragraphs([HOSTILE]),
        pages.parts(FIGURE).figure("", HOSTILE),
    ):
        assert ESCAPED in made
        assert "<script" not in made


def test_a_link_to_a_file_of_the_run_is_never_a_script():
    row = ItemRow("r1", "a", "failed", False, [], [], None, [], "", "javascript:alert(1)", "", "")
    assert 'href="./javascript:alert(1)"' in pages.parts(ROWS).row(row)


def test_a_row_is_as_short_as_it_can_be():
    """A page of ten thousand rows has each tag of a row ten thousand times."""
    row = ItemRow(
        "r1", "a", "passed", True, ["1 s"], ["2 s", "b"], 0.5, [("001", 3)], "", "", "0 1", ""
    )
    assert pages.parts(ROWS).row(row).replace("\n", "") == (
        '<tr id=r1 data-n="0 1" data-m=0.5><th scope=row>a<td class=ok>passed<td>1 s'
        "<td>2 s<br>b<td>+50.0%<td><a href=#basis-3>001&nbsp;[3]</a><td>"
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("n[1,11-13],mx07 and mx08", "n[1,<wbr>11-13],<wbr>mx07 and mx08"),
        ("10,057 items, 1,024 of them", "10,057 items, 1,024 of them"),
        ("<b>,<i>", "&lt;b&gt;,&lt;i&gt;"),
    ],
)
def test_a_set_of_nodes_wraps_between_nodes_and_no_number_does(text, shown):
    assert f">{shown}</td>" in pages.parts(TABLE).cell(text)


def test_a_value_that_is_not_given_ends_in_an_error():
    with pytest.raises(UndefinedError):
        pages.render("report/templates/causes.html.j2")


def test_text_is_taken_as_markup_in_one_place():
    held = [path for path in TEMPLATES if re.search(r"\|\s*safe\b|autoescape", path.read_text())]
    assert [path.relative_to(PACKAGE).as_posix() for path in held] == [FIGURE]


def test_no_page_is_put_together_by_hand():
    """Only the plots write SVG themselves; no other module writes a tag."""
    tag = re.compile(r"[\"'(]</?(?:html|div|p|table|t[drh]|h[1-6]|span|a|ul|li|dl|style|script)\b")
    modules = list(PACKAGE.rglob("*.py"))
    assert len(modules) > 100
    held = [
        path.relative_to(PACKAGE).as_posix() for path in modules if tag.search(path.read_text())
    ]
    assert set(held) <= {"report/allure/site.py"}, "which reads what Allure's generator made"


def test_a_wheel_has_every_module_and_template():
    folders = {path.parent for path in PACKAGE.parent.rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []
    assert TEMPLATES
    assert '"**/*.html.j2"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")

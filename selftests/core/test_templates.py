"""HTML is made only by templates: text from nodes and users is escaped."""

from __future__ import annotations

import re

import pytest
from jinja2 import UndefinedError
from testing.places import ROOT

from railgauge.core import pages

PACKAGE = ROOT / "src" / "railgauge"
TEMPLATES = sorted(PACKAGE.rglob("*.html.j2"))
ROW = "report/templates/row.html.j2"
FIGURE = "core/templates/figure.html.j2"
HOSTILE = "<script>\"'&"
ESCAPED = "&lt;script&gt;&#34;&#39;&amp;"


def test_words_of_a_node_are_text():
    row = pages.parts(ROW)
    for made in (
        row.name(HOSTILE, HOSTILE, 1, HOSTILE),
        row.outcome(HOSTILE, True),
        row.lines("measured", [HOSTILE, HOSTILE]),
        row.bases([(HOSTILE, 1)]),
        row.links(HOSTILE),
        row.paragraphs([HOSTILE]),
        pages.parts(FIGURE).figure("", HOSTILE),
    ):
        assert ESCAPED in made
        assert "<script" not in made


def test_a_cell_is_as_short_as_it_can_be():
    """On a page of ten thousand rows every quote of every cell is escaped."""
    row = pages.parts(ROW)
    assert row.lines("limit", ["a", "b"]) == "<td class=col-limit>a<br>b</td>"
    assert row.bases([("derived", 3)]) == (
        "<td class=col-basis><a href=#basis-3>derived&nbsp;[3]</a></td>"
    )
    assert row.links("") == "<td class=col-links></td>"


def test_a_value_that_is_not_given_ends_in_an_error():
    with pytest.raises(UndefinedError):
        pages.render("report/templates/below.html.j2", bases=[])


def test_json_in_a_page_cannot_end_its_script():
    from railgauge.core.pages import _environment  # noqa: PLC0415 - the policy, without a page

    made = _environment().from_string("{{ value|tojson }}").render(value={"é": "</script>", "a": 1})
    assert made == '{"é":"\\u003c/script\\u003e","a":1}'


def test_text_is_taken_as_markup_in_one_place():
    held = [path for path in TEMPLATES if re.search(r"\|\s*safe\b|autoescape", path.read_text())]
    assert [path.relative_to(PACKAGE).as_posix() for path in held] == [FIGURE]


def test_no_page_is_put_together_by_hand():
    """Only the plots write SVG themselves; no other module writes a tag."""
    tag = re.compile(r"[\"'(]</?(?:html|div|p|table|t[drh]|h[1-6]|span|a|ul|li|dl|style|script)\b")
    modules = [path for path in PACKAGE.rglob("*.py") if "lab" not in path.parts]
    assert len(modules) > 100
    held = [
        path.relative_to(PACKAGE).as_posix() for path in modules if tag.search(path.read_text())
    ]
    assert set(held) <= {"report/allure/site.py"}, "which reads what Allure's generator made"


def test_a_wheel_has_every_module_and_template():
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []
    assert TEMPLATES
    assert '"**/*.html.j2"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")

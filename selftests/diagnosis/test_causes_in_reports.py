"""Terminal, page, Allure and verdict.json show the same causes and escape hostile text."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from testing.diagnose_scenes import (
    broken,
    causes,
    collectives,
    fact,
    names,
    pairs_of,
    planned,
    record,
    run_results,
    unknown,
)

from railgauge.core import pages
from railgauge.core.model import Outcome
from railgauge.diagnosis import Cause, diagnose
from railgauge.diagnosis.model import Where
from railgauge.report import page, terminal
from railgauge.report.allure import causes as allure_causes
from railgauge.report.causes import about, leading, unexplained
from railgauge.verdict.decision import decide

HOSTILE = "<script>alert(\"x\")</script> & <b onmouseover='y'>"
CAUSE = Cause(
    cause="slow-nic",
    where=Where("n1", "mlx5_0"),
    says="why it is thought so",
    evidence=("tests/a.py::test_a[1]", "tests/a.py::test_a[2]"),
    explains=("tests/b.py::test_b[1]",),
    confidence="likely",
    would_decide="measure it again",
    remedy="what to do",
    basis="derived: a figure",
    passes=("host holds",),
    misses=("gpu misses", "ring misses"),
)


class Out:
    """Records the lines written to the terminal."""

    def __init__(self):
        self.text = ""

    def write_line(self, line, **_):
        assert "\n" not in line
        self.text += f"{line}\n"

    def section(self, title, **_):
        self.write_line(title)


def on_terminal(*shown):
    out = Out()
    terminal._causes(out, shown)
    return out.text


def on_page(*shown):
    return pages.render("report/templates/causes.html.j2", **page._causes(shown, {}))


class PageText(HTMLParser):
    """The text and the tags of a page."""

    def __init__(self, page):
        super().__init__()
        self.words, self.tags = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def flat(text):
    return " ".join(text.split())


# --- the same causes everywhere ---


def test_terminal_and_page_show_the_same_lines_of_a_cause():
    lines = [line for _, printed in about(CAUSE) for line in printed]
    labels = [label for label, _ in about(CAUSE)]
    assert labels == ["why", "holds", "misses", "decide", "do", "seen in", "explains", "basis"]
    for shown in (flat(on_terminal(CAUSE)), PageText(on_page(CAUSE)).text):
        for line in (*lines, *labels, "slow-nic", "n1, mlx5_0"):
            assert line in shown


def test_empty_entries_of_a_cause_are_left_out():
    bare = replace(CAUSE, passes=(), misses=(), would_decide="", explains=())
    assert [label for label, _ in about(bare)] == ["why", "do", "seen in", "basis"]


def test_three_of_many_items_are_shown_and_the_rest_are_counted():
    many = replace(CAUSE, evidence=tuple(f"a.py::test[{i}]" for i in range(9)))
    assert dict(about(many))["seen in"] == ["test[0]", "test[1]", "test[2]", "and 6 more"]
    exact = replace(CAUSE, evidence=many.evidence[:3])
    assert dict(about(exact))["seen in"] == ["test[0]", "test[1]", "test[2]"]


@pytest.mark.parametrize("empty", ["", "  ", "\n"])
def test_an_empty_reason_breaks_no_report(empty):
    silent = replace(CAUSE, says=empty, misses=(empty,))
    for shown in (on_terminal(silent), on_page(silent)):
        assert "what to do" in shown


def test_an_error_without_a_message_can_be_shown():
    nameless = replace(
        broken(record(3, "node_all_reduce", "n1"), "tool-failed", "n1: x"), reason=""
    )
    found = causes(nameless)
    assert "cause 1: tool-failing" in on_terminal(*found)


@pytest.mark.parametrize(
    ("confidence", "short", "long"),
    [("certain", "n1, mlx5_0\n", "a fact or a counter"), ("likely", "(likely)", "the pattern"),
     ("open", "(not decided)", "not decided")],
)  # fmt: skip
def test_the_confidence_of_a_cause_is_shown(confidence, short, long):
    cause = replace(CAUSE, confidence=confidence)
    assert short in on_terminal(cause)
    assert long in on_page(cause)


def test_causes_beyond_the_shown_ones_are_counted():
    many = [replace(CAUSE, where=Where(f"n{i}")) for i in range(30)]
    assert on_terminal(*many).endswith("20 more causes, see verdict.json: 20 slow-nic\n")
    assert on_page(*many).count('class="cause"') == 20
    assert "10 more in verdict.json" in on_page(*many)


def test_not_run_items_beyond_the_shown_ones_are_counted():
    records = {
        f"i{n}": replace(record(0, f"fact{n:02}", "n1"), id=f"i{n}", outcome=Outcome.NOT_RUN)
        for n in range(14)
    }
    verdict = decide(planned(run_results([])), run_results([]))
    counted = replace(verdict, counts=replace(verdict.counts, not_run=14, planned=14))
    out = Out()
    terminal._not_run(out, counted, records)
    assert out.text.count("fact") == 10
    assert out.text.endswith("      4 of 4 other kinds\n")


def test_a_run_without_causes_shows_no_section_of_causes():
    assert on_terminal() == ""
    assert on_page() == ""


def test_items_that_a_cause_covers_have_no_line_of_their_own():
    records = [fact("n1", "cpu_governor"), *collectives(pairs_of(names(4), 2), {"n1": 10.0})]
    found = run_results(records)
    verdict = decide(planned(found), found)
    left = unexplained(verdict, found.records)
    assert {item.id for item in left} == {r.id for r in records if r.outcome == "passed"}
    assert len(unexplained(replace(verdict, causes=()), found.records)) == len(records)


def test_undiagnosed_items_are_shown_even_after_many_causes():
    """They are listed last, and a terminal shows ten causes only."""
    many = [fact(f"n{i}", "pcie_link", f"mlx5_{i % 8}") for i in range(1, 30)]
    left = [unknown(f"n{i}", "memlock") for i in range(1, 6)]
    found = causes(many, left)
    assert len(found) == 30
    shown = on_terminal(*found)
    assert shown.count("cause ") >= 10
    for text in (shown, on_page(*found)):
        assert "undiagnosed" in text
        for item in left:
            assert item.id.rsplit("::", 1)[-1] in text
    assert "20 more causes" in shown
    assert leading(found[:3], 10) == list(found[:3])


# --- hostile text ---


def test_the_page_escapes_each_text_of_a_cause():
    cause = Cause(
        cause=HOSTILE, where=Where(HOSTILE, HOSTILE, HOSTILE), says=HOSTILE, evidence=(HOSTILE,),
        explains=(HOSTILE,), confidence="open", would_decide=HOSTILE, remedy=HOSTILE,
        basis=HOSTILE, passes=(HOSTILE,), misses=(HOSTILE,),
    )  # fmt: skip
    page = PageText(on_page(cause))
    assert {tag for tag, _ in page.tags} <= {"h2", "h3", "div", "dl", "dt", "dd", "small", "br"}
    assert not [attrs for _, attrs in page.tags if set(attrs) - {"class"}]
    assert HOSTILE in page.text


@given(st.text())
def test_any_text_of_a_cause_stays_text_on_the_page(text):
    page = PageText(on_page(replace(CAUSE, says=text, where=Where(text))))
    assert {tag for tag, _ in page.tags} <= {"h2", "h3", "div", "dl", "dt", "dd", "small", "br"}
    assert on_terminal(replace(CAUSE, says=text))


def test_no_text_sends_control_characters_to_the_terminal():
    steering = "\x1b[2J\x1b]0;title\x07 \r\u202e\x9b2J"
    cause = replace(CAUSE, says=steering, where=Where(steering), passes=(steering,))
    assert all(char.isprintable() or char == "\n" for char in on_terminal(cause))
    out = Out()
    terminal._failure_groups(out, [replace(unknown("n1", "memlock"), reason=steering)])
    assert "could not tell" in out.text
    assert all(char.isprintable() or char == "\n" for char in out.text)


def test_a_hostile_node_name_reaches_the_page_as_text():
    found = causes(replace(unknown("n1", "memlock"), reason=HOSTILE))
    assert "<script" not in on_page(*found)
    assert "&lt;script&gt;" in on_page(*found)


# --- Allure ---


def pattern(category):
    return re.compile(category["messageRegex"])


# What may follow a backslash in a JavaScript regular expression with the u flag.
JAVASCRIPT = re.compile(r"\\(?![\^$\\.*+?()\[\]{}|/dDsSwWbBfnrtv])")


TEXTS = (
    "n1", "n[1-3]", "a|b", "gpu0>gpu7", "n1 (x) {y} $z ^ \\ . * + ?", "é-ü/#&~@!%", "-",
)  # fmt: skip
HOSTILE_CAUSES = [replace(CAUSE, where=Where(text, text)) for text in TEXTS]


@pytest.mark.parametrize("cause", HOSTILE_CAUSES, ids=lambda cause: cause.where.node)
def test_a_category_matches_only_the_messages_of_its_cause(cause):
    (category,) = allure_causes.categories([cause])
    marked = allure_causes.with_cause({"statusDetails": {"message": "limit missed:\nit"}}, cause)
    message = marked["statusDetails"]["message"]
    assert pattern(category).fullmatch(message)
    assert pattern(category).match(message)
    other = replace(cause, where=Where(f"{cause.where.node}0"))
    for wrong in (
        "limit missed:\nit",
        allure_causes.with_cause({}, other)["statusDetails"]["message"],
    ):
        assert not pattern(category).fullmatch(wrong)


@pytest.mark.parametrize("cause", HOSTILE_CAUSES, ids=lambda cause: cause.where.node)
def test_categories_have_only_escapes_that_javascript_accepts(cause):
    (category,) = allure_causes.categories([cause])
    assert not JAVASCRIPT.search(category["messageRegex"].replace("\\\\", ""))
    assert not re.search(r"\(\?|\\[AZzQE]|[*+?]\+", category["messageRegex"])


@given(st.text(min_size=1))
def test_a_category_matches_any_text_literally(text):
    cause = replace(CAUSE, where=Where(text))
    (category,) = allure_causes.categories([cause])
    assert pattern(category).fullmatch(f"before\n{allure_causes._words(cause)}\nafter")
    literal = allure_causes._literal(text)
    assert re.sub(r"\\(.)", r"\1", literal, flags=re.S) == text


# --- verdict.json ---


def test_causes_in_verdict_json_have_the_keys_of_the_contract():
    records = [fact("n1", "cpu_governor"), *collectives(pairs_of(names(4), 2), {"n1": 10.0})]
    found = run_results(records)
    verdict = decide(planned(found), found)
    (cause,) = json.loads(json.dumps(verdict.to_json()))["causes"]
    assert {"cause", "where", "evidence", "remedy", "basis"} <= set(cause)
    assert set(cause["where"]) == {"node", "device", "peer"}
    assert cause["where"]["node"] == "n1"
    assert cause["cause"] == "cpu-governor"
    assert cause["evidence"] == [records[0].id]
    assert cause["explains"] == len(diagnose(found)[0].explains) == 2
    assert set(cause["evidence"]) <= set(found.records)
    assert cause["confidence"] == "certain"

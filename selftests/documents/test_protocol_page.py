"""Every acceptance test says when it passes, when it fails and what to do; so does the page."""

from __future__ import annotations

import pytest
from testing.places import ROOT

from railgauge.cli.pages.tests import PARTS, AcceptanceTest, acceptance_tests, page

TESTS = acceptance_tests(ROOT)


@pytest.mark.parametrize("test", TESTS, ids=lambda test: f"{test.path.stem}:{test.function.name}")
def test_the_docstring_is_a_protocol(test: AcceptanceTest) -> None:
    assert test.title.endswith("."), "a sentence that can be signed"
    titled = [label for label in test.parts if label not in PARTS]
    assert tuple(test.parts) == (*titled, *PARTS)
    assert len(test.subjects) > 1 or not titled
    assert titled in ([], [name for name in test.subjects if name in titled]), "in their order"
    assert all(text.endswith(".") for text in test.parts.values())


def test_every_test_names_what_judges_it_and_what_it_is_about() -> None:
    for test in TESTS:
        assert {"measures", "expects"} & {name for name, _ in test.marks}, test.function.name
        assert test.each, test.function.name


def test_every_test_is_on_the_page_with_all_that_it_says() -> None:
    sections = page(ROOT).split("\n### ")[1:]
    assert len(sections) == len(TESTS) > 50
    for test, section in zip(TESTS, sections, strict=True):
        assert section.startswith(f"`{test.function.name}`\n\n{test.title}\n")
        assert all(text in section for text in (*test.parts.values(), *test.subjects, *test.needs))


def test_the_test_that_a_page_shows_is_as_it_is_printed() -> None:
    shown = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    (section,) = (one for one in page(ROOT).split("\n### ") if one.startswith("`test_peer_memory`"))
    assert f"```\n### {section.rstrip()}\n```" in shown

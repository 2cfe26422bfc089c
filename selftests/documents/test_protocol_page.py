"""Every acceptance test says when it passes, when it fails and what to do; so does the page."""

from __future__ import annotations

import pytest
from protocol_page import PARTS, ROOT, AcceptanceTest, acceptance_tests, page


@pytest.mark.parametrize(
    "test", acceptance_tests(), ids=lambda test: f"{test.path.stem}:{test.function.name}"
)
def test_the_docstring_is_a_protocol(test: AcceptanceTest) -> None:
    assert test.title.endswith("."), "a sentence that can be signed"
    titled = [label for label in test.parts if label not in PARTS]
    assert tuple(test.parts) == (*titled, *PARTS)
    assert len(test.subjects) > 1 or not titled
    assert titled in ([], [name for name in test.subjects if name in titled]), "in their order"
    assert all(text.endswith(".") for text in test.parts.values())


def test_every_test_names_what_judges_it_and_what_it_is_about() -> None:
    for test in acceptance_tests():
        assert {"measures", "expects"} & {name for name, _ in test.marks}, test.function.name
        assert test.each, test.function.name


def test_the_page_is_of_today() -> None:
    assert (ROOT / "docs/tests.md").read_text(encoding="utf-8") == page(), "run: make docs"

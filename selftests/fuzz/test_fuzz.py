"""Whatever a text is, its reader answers: with values of the text, or with a declared error.

Here a few changes of each seed, always the same; ``make fuzz`` tries many. A text that failed once
is kept in ``kept``, beside the seeds.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from testing.fuzz_changes import changed
from testing.fuzz_checks import KEPT
from testing.fuzz_targets import targets

TARGETS = targets()


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_kept_is_read_or_refused(name: str) -> None:
    for text in TARGETS[name].seeds:
        TARGETS[name].check(text)


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=12, derandomize=True, database=None, deadline=None)
@given(data=st.data())
def test_a_changed_text_is_read_or_refused(name: str, data: st.DataObject) -> None:
    target, seeds = TARGETS[name], TARGETS[name].seeds

    def choose(below: int) -> int:
        return data.draw(st.integers(0, below - 1))

    target.check(changed(seeds[choose(len(seeds))], seeds, choose))


def test_what_is_kept_is_of_a_target() -> None:
    assert {path.name for path in KEPT.iterdir()} <= set(TARGETS)

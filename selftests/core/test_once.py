"""A result that an object is asked for repeatedly is computed once."""

import pytest

from railgauge.core.once import once


class Asked:
    def __init__(self, *answers):
        self.answers = list(answers)

    @once
    def answer(self):
        found = self.answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return found


def test_each_object_answers_once():
    one, other = Asked(None, 2), Asked(3)
    assert [one.answer(), one.answer(), other.answer()] == [None, None, 3]
    assert one.answers == [2]


def test_an_exception_is_not_kept():
    one = Asked(ValueError("not yet"), 1)
    with pytest.raises(ValueError, match="not yet"):
        one.answer()
    assert one.answer() == 1

"""What a user types as a number is read, or refused with one sentence."""

from __future__ import annotations

import math
from argparse import ArgumentTypeError

import pytest

from railgauge.core import arguments

AT_LEAST_0 = arguments.number(0, math.inf, "seconds")
UP_TO_9 = arguments.number(2, 9, "minutes")


@pytest.mark.parametrize(
    ("read", "word", "value"),
    [
        (arguments.count, "12", 12),
        (arguments.size, "2GiB", 2**31),
        (AT_LEAST_0, "0", 0.0),
        (UP_TO_9, "2.5", 2.5),
        (arguments.share, "1", 1.0),
    ],
)
def test_a_number_is_read(read, word, value):
    assert read(word) == value


@pytest.mark.parametrize(
    ("read", "words", "message"),
    [
        (
            arguments.count,
            ("0", "-1", "x", "1.5", "", "\u0661"),
            "is not a whole number, 1 or more",
        ),
        (arguments.size, ("72GB", "x", ""), "is not a message size"),
        (AT_LEAST_0, ("-1", "inf", "nan", "x"), "is not a number of seconds, 0 or more"),
        (UP_TO_9, ("1", "10", "x"), "is not a number of minutes, from 2 to 9"),
        (arguments.share, ("0", "1.1", "nan", "x"), "is not a share above 0"),
    ],
)
def test_another_word_is_refused_with_one_sentence(read, words, message):
    for word in words:
        with pytest.raises(ArgumentTypeError, match=message):
            read(word)

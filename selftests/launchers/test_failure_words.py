"""A failure is searched for only in a text with one of its words: each sign must have one."""

import pytest

from railgauge.launchers import mpi_failures, slurm_failures

SIGNS = [
    *((sign, mpi_failures._WORDS[kind]) for kind, sign in mpi_failures._SIGNS),
    *((sign, slurm_failures._WORDS) for _, sign in slurm_failures._SIGNS),
]


def alternatives(sign):
    """The texts between those ``|`` that stand in no brackets; an escape counts as a letter."""
    depth, begun, found = 0, 0, []
    plain = sign.replace(r"\(", "__").replace(r"\)", "__").replace(r"\[", "__").replace(r"\]", "__")
    for at, letter in enumerate(plain):
        depth += (letter in "([") - (letter in ")]")
        if letter == "|" and not depth:
            found.append(sign[begun:at])
            begun = at + 1
    return [*found, sign[begun:]]


def test_alternatives_are_those_outside_of_brackets():
    assert alternatives(r"a (?:b|c)|[d|e] \(f|g") == ["a (?:b|c)", "[d|e] \\(f", "g"]


@pytest.mark.parametrize(("sign", "words"), SIGNS)
def test_each_alternative_of_a_sign_has_one_of_its_words(sign, words):
    def written(alternative):
        """As a text of it may begin: both letters of ``[Oo]``, and no optional part."""
        return alternative.replace("[Oo]", "O").replace("[Mm]", "M").partition("(?:\\s+=")[0]

    lacking = [one for one in alternatives(sign) if not any(word in written(one) for word in words)]
    assert not lacking


@pytest.mark.parametrize(
    "text", ["out of memory", "Out Of Memory", "Out of memory", "out Of Memory"]
)
def test_letters_of_either_size_are_found(text):
    assert [kind.value for kind, _ in slurm_failures.find(f"slurm: {text}")] == ["out-of-memory"]

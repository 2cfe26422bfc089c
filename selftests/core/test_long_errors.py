"""What an error quotes is cut: it may be a whole file."""

import pytest

from railgauge.config import strict_yaml
from railgauge.core.errors import BadInput, BadInputs, NoEvidence, cut, from_json, to_json

LONG = "q" * 3_000_000


@pytest.mark.parametrize("kind", [BadInput, NoEvidence])
def test_the_text_of_an_error_has_an_end(kind):
    error = kind(f"begins {LONG} ends", where=LONG, remedy=LONG)
    assert len(str(error)) < 15_000
    assert str(error.args[0]) == error.what
    assert error.what.startswith("begins qqq")
    assert error.what.endswith("qqq ends")
    assert "characters left out" in error.what
    assert to_json(from_json(to_json(error))) == to_json(error)


def test_a_short_error_stays():
    assert cut("a" * 4000) == "a" * 4000
    assert str(BadInput("a", where="b", remedy="c")) == "b: a; c"


def test_each_of_many_complaints_is_cut():
    error = BadInputs([BadInput(f"{n} {LONG}") for n in range(100)])
    assert len(str(error)) < 200_000
    assert str(error).endswith("and 60 more")


@pytest.mark.parametrize(
    "text", [f"a: {{{LONG}: 1, {LONG}: 2}}", f"? [{LONG}]\n: 1\n", f"!!{LONG} 1"]
)
def test_yaml_that_quotes_a_key(text):
    with pytest.raises(strict_yaml.BadYaml) as caught:
        strict_yaml.loads(text)
    assert max(len(str(caught.value)), len(caught.value.what)) < 5000

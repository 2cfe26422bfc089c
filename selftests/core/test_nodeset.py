"""Node names are read from untrusted text."""

import pytest

from railgauge.core.errors import BadInput
from railgauge.core.nodeset import expanded


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("viper", ("viper",)),
        ("mx[01-03]", ("mx01", "mx02", "mx03")),
        ("b,a[1,3]", ("a1", "a3", "b")),
        ("r[1-2]n[1-2]", ("r1n1", "r1n2", "r2n1", "r2n2")),
    ],
)
def test_names(text, names):
    assert expanded(text, 4) == names


@pytest.mark.parametrize(
    "text",
    [
        "a[0-999999999]",
        "a[0-4]",
        "a[0-1]b[0-1]c[0-1]",
        "a1,a2,a3,a4,a5",
        "a[0-999999999]&b",
        "a[0-" + "9" * 30 + "]",
        "a[1-2",
        "a[x]",
        "a[[0-999999999]]",
        "a[0-999999999",
        "@[0-999999999]",
        "x" * 200_000,
    ],
)
def test_a_set_of_too_many_nodes_is_refused_before_it_is_expanded(text):
    with pytest.raises(BadInput):
        expanded(text, 4)

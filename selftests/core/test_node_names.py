"""Names of nodes: all that DNS can hold, and nothing with another meaning."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railgauge.core.naming import folded, unfolded
from railgauge.core.node_names import file_name, is_name, tool_address, why_not

NAMES = [
    "n1", "MX01", "rack1-gpu02.example.org", "gpu_01", "a..b", "n1.", "a" * 253, "xn--bcher-kva",
    "bücher", "ノード1", "node_ü", "東京01", "한국", "नोड1", "узел-7.пример", "b\u0301",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_dns_can_hold_is_a_name(name):
    assert is_name(name)
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}", tool_address(name))
    assert len(f"{file_name(name)}.lease".encode()) <= 255
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", file_name(name))


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "does not begin with a letter or a digit"),
        ("-oProxyCommand=x", "has '='"),
        ("-n1", "does not begin"), (".", "does not begin"), ("..", "does not begin"),
        ("_n1", "does not begin"), ("-ü", "does not begin"), ("\u0301a", "does not begin"),
        ("a b", "has ' '"), ("a/b", "has '/'"), ("a@b", "has '@'"), ("a~b", "has '~'"),
        ("a:b", "has ':'"), ("ü[1-2]", "has '['"), ("a\nb", "has U+000A"),
        ("a\x1b[31m", "has U+001B"), ("n1\u202e", "has U+202E"), ("\u200dü", "has U+200D"),
        ("ノ٣", "has '٣'"), ("a\ud800", "has U+D800"),
        ("a" * 254, "has 254 characters, and a name in DNS has at most 253"),
        ("ü" * 60, "has no form in DNS"), ("ノ..x", "has no form in DNS"),
        ("xn--ü", "has no form in DNS"),
        ("straße", "is read as 'strasse' in DNS"), ("ｎ1", "is read as 'n1' in DNS"),
        (unicodedata.normalize("NFD", "bücher"), "is read as 'b\\xfccher' in DNS"),
    ],
)  # fmt: skip
def test_a_text_that_cannot_be_a_name_is_refused_with_the_reason(name, why):
    assert why_not(name).startswith(why)
    assert why_not(name).isprintable()


def test_names_that_are_alike_have_different_files():
    alike = ["ノード1", "サーバ1", "bücher", "BÜCHER", "xn--bcher-kva", "a" * 253, "a" * 252 + "b"]
    assert len({*map(file_name, alike)}) == len(alike)


LETTERS = st.characters(categories=["Ll", "Lu", "Lo", "Lm", "Mn", "Nd", "Pd"])


@given(st.lists(st.text(LETTERS, min_size=1, max_size=12), min_size=1, max_size=6))
def test_names_are_read_back_from_a_set_of_nodes(words):
    names = sorted({word for word in words if is_name(word)})
    if names:
        assert sorted(unfolded(folded(names))) == names


@given(st.text(max_size=20))
def test_no_name_has_a_separator_of_ids_or_sets(text):
    if is_name(text):
        assert not set(text) & set("@~:,|[]/\\ &!^*%'\"$`;\n")
        assert text.isprintable()

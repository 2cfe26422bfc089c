"""The text of a chained line is that of its data, and is encoded only once."""

import json

import pytest

from railgauge.core import chain


@pytest.mark.parametrize(
    "line",
    [
        {},
        {"id": "é", "values": [1.5]},
        {"basis": "b", "a": {"nested": None}},
        {"z": 1, "chain": "of before", "a": '\x00"\\'},
    ],
)
def test_it_is_the_json_of_the_bound_line(line):
    text, digest = chain.bound_text(line, "before")
    bound = chain.bound(line, "before")
    assert text == json.dumps(bound, ensure_ascii=False, sort_keys=True)
    assert digest == bound[chain.FIELD]
    assert chain.first_broken([chain.bound(line, "")]) is None

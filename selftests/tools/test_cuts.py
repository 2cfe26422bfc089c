"""An output that was cut off, at either end, never loses values silently.

It gives the values of the whole, an error, or a warning that no verdict ignores. Each output is cut
at the ends of its lines and at many places between them; a long one at fewer.
"""

from collections import Counter

import pytest
from testing.recorded_outputs import recorded

from railgauge import tools
from railgauge.judging.evidence import DOUBTS

# The rest is a whole output: the text holds two, or its parts are whole by themselves.
WHOLE_IN_PART = {
    "corpus/perftest/001-ib_write_bw-8M-both-sides-concat-MBs.txt": "both sides, one after another",
    "corpus/perftest/046-unit-trap-loopback-interleaved-100g.txt": "both sides on one terminal",
    "corpus/ib-tools/020-iblinkinfo-edr-and-down.txt": "each node's block is whole by itself",
    "transcripts/h200-azure-nhc.txt": "the platform file names the checks that must be there",
}
MOST_PLACES, LEAST_PLACES = 60, 20
MOST_CHARACTERS = 200_000  # of all beginnings together


def values(parsed):
    return Counter((s.metric, s.size_bytes, s.placement, s.unit, s.value) for s in parsed.samples)


def is_loud(parsed):
    return bool(parsed.errors) or any(one.kind in DOUBTS for one in parsed.problems)


def cuts(text):
    count = max(LEAST_PLACES, min(MOST_PLACES, MOST_CHARACTERS // len(text)))
    places = set(range(1, len(text), len(text) // count + 1))
    end = 0
    lines = text.split("\n")
    for line in lines[:: len(lines) // count + 1]:
        end = text.index(line, end) + len(line)
        places |= {end, end + 1}
    return sorted(place for place in places if 0 < place < len(text))


@pytest.mark.parametrize(("tool", "path"), recorded(WHOLE_IN_PART))
def test_no_cut_loses_values_silently(tool, path):
    text = path.read_text(encoding="utf-8", errors="replace")
    parse = tools.tool(tool).parse
    whole = parse(text)
    if whole.errors:
        pytest.skip("the recorded output is no complete one")
    expected = values(whole)
    for place in cuts(text):
        for part in (text[:place], text[place:]):
            found = parse(part)
            if not is_loud(found):
                assert values(found) == expected, (place, part[:60], part[-60:])

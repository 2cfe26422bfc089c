"""The node's clock compared with the controller's: travel and probe time are not an offset."""

from datetime import datetime, timezone

import pytest

from railgauge.core.model import Transcript
from railgauge.facts import parse_probe
from railgauge.facts.clock import ahead_s

SPAN = (datetime.fromtimestamp(1000.25, timezone.utc), datetime.fromtimestamp(1005.5, timezone.utc))


@pytest.mark.parametrize(
    ("printed", "offset"),
    [
        (1000, 0.0),  # 1000.9 was truncated to 1000
        (1003, 0.0),
        (1005, 0.0),
        (999, -0.2),
        (1007, 1.5),
        (8203, 7197.5),
        (400, -599.2),
    ],
)
def test_a_time_during_the_probe_gives_no_offset(printed, offset):
    assert ahead_s(printed, SPAN) == pytest.approx(offset, abs=0.06)


def test_a_transcript_gives_the_time_of_its_run():
    span = Transcript("n", (), 0, "", "", 2.5, "2026-11-22T18:00:00.500+00:00").span
    assert span is not None
    assert [one.timestamp() for one in span] == [1795370400.5, 1795370403.0]


@pytest.mark.parametrize(
    "at", ["", "yesterday", "2026-11-22T18:00:00", "9999-12-31T23:59:59+00:00"]
)
def test_a_time_without_its_zone_or_past_all_dates_is_not_known(at):
    assert Transcript("n", (), 0, "", "", 2.5, at).span is None


def printed(text):
    return f"ab begin clock\n{text}\n\nab end clock 0\n"


def test_the_probe_gives_the_offset_or_the_reason():
    assert parse_probe("n", printed("8203"), "ab", None, SPAN).clock_offset_s == 7197.5
    for text, span, why in (
        ("8203", None, "the transport does not record when the probe ran"),
        ("Sun Nov 22", SPAN, "clock: cannot be parsed: 'Sun Nov 22'"),
        ("", SPAN, "clock: cannot be parsed"),
    ):
        facts = parse_probe("n", printed(text), "ab", None, span)
        assert facts.clock_offset_s is None
        assert facts.missing["clock_offset_s"].startswith(why)

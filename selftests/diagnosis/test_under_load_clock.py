"""The wall clock of the control host is set while a repeat is measured."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from testing.core_values import transcript

from railgauge.core.terms import Role
from railgauge.diagnosis.facts.under_load import measured_in

NOON = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)


def at(after_s, lasted_s, **more):
    began = (NOON + timedelta(seconds=after_s)).isoformat()
    return replace(transcript("n1", **more), started_at=began, duration_s=lasted_s)


READING = at(0, 10, role=Role.CONTROL_HOST).span


def test_a_reading_spans_the_commands_of_its_repeat():
    assert measured_in([at(1, 3), at(2, 7)], READING)


@pytest.mark.parametrize("set_s", [3600, -3600, 6, -6])
def test_the_load_of_a_repeat_in_which_the_clock_was_set_is_not_known(set_s):
    """So it explains no miss."""
    assert not measured_in([at(1, 3), at(5 + set_s, 4)], READING)

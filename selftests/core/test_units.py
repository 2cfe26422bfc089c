"""Units convert exactly within their dimension and refuse everything else."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railgauge.core.errors import BadInput, UnitUnknown
from railgauge.core.units import (
    KNOWN_UNITS,
    convert,
    digits,
    dimension,
    format_size,
    format_value,
    parse_size,
)

units = st.sampled_from(sorted(KNOWN_UNITS))
values = st.floats(1e-6, 1e12, allow_nan=False)


@pytest.mark.parametrize(
    ("value", "unit", "to", "expected"),
    [
        (32, "Gb/s", "MiB/s", 3814.697265625),
        (3776.9, "MiB/s", "Gb/s", 31.683),
        (392.57, "Gb/s", "GB/s", 49.07125),
        (1, "GiB/s", "GB/s", 1.073741824),
        (1, "MB/s", "MiB/s", 0.95367431640625),
        (1.15, "us", "ns", 1150),
        (3.88, "Mpps", "1/s", 3.88e6),
        (5, "count", "1", 5),
    ],
)
def test_known_conversions_are_exact(value, unit, to, expected):
    assert convert(value, unit, to) == pytest.approx(expected, rel=1e-5)


@given(values, units, units)
def test_a_value_that_is_converted_and_back_is_the_same(value, unit, other):
    if dimension(unit) == dimension(other):
        assert convert(convert(value, unit, other), other, unit) == pytest.approx(value)


@given(values, units, units)
def test_other_dimensions_are_refused(value, unit, other):
    if dimension(unit) != dimension(other):
        with pytest.raises(UnitUnknown):
            convert(value, unit, other)


@given(values, values, units, units)
def test_conversion_keeps_the_order(low, high, unit, other):
    if dimension(unit) == dimension(other) and low < high:
        assert convert(low, unit, other) <= convert(high, unit, other)


@pytest.mark.parametrize("unit", ["gb/s", "GB", "MB/sec", "Gbps", "", " Gb/s", "furlong"])
def test_a_unit_is_spelled_exactly(unit):
    with pytest.raises(UnitUnknown):
        convert(1.0, unit, "Gb/s")


def test_an_unknown_unit_is_refused_even_if_it_is_the_same_on_both_sides():
    with pytest.raises(UnitUnknown):
        convert(1.0, "furlong", "furlong")


@given(st.integers(1, 2**50))
def test_sizes_are_spelled_and_read_back(size):
    assert parse_size(format_size(size)) == size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2B", 2),
        ("8388608", 8388608),
        ("8M", 2**23),
        ("8MiB", 2**23),
        ("64K", 65536),
        ("1G", 2**30),
    ],
)
def test_sizes_are_read_as_tools_write_them(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "8 mib", "8MB", "-1", "1.5MiB", "MiB", "8MiB 9MiB", "x"])
def test_a_text_that_is_no_size_is_refused(text):
    with pytest.raises(BadInput, match="not a message size"):
        parse_size(text)


def test_the_shortest_exact_spelling():
    assert [format_size(size) for size in (2, 1023, 1024, 1536, 2**23, 2**34)] == [
        "2B", "1023B", "1KiB", "1536B", "8MiB", "16GiB",
    ]  # fmt: skip


def test_values_for_people():
    assert format_value(392.57, "Gb/s") == "392.6 Gb/s"
    assert format_value(0.05727, "Gb/s") == "0.05727 Gb/s"
    assert format_value(1.15, "us") == "1.15 µs"
    assert format_value(math.nan, "us") == "nan µs"
    assert format_value(0.1054, "1") == "0.1054"
    assert format_value(64, "count") == "64"
    assert [digits(value) for value in (0, 0.12345, 1, 99.999, 1234.5, 12345.67, 1e9)] == [
        "0", "0.1235", "1", "100", "1234", "12346", "1000000000",
    ]  # fmt: skip

"""How pages write values: one precision, µs, and PCIe links in words."""

from __future__ import annotations

import pytest

from railgauge.core.wording import digits, shown, spelled


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("391.90 Gb/s", "391.9 Gb/s"), (">= 372.60 Gb/s", ">= 372.6 Gb/s"),
        ("4.57 GB/s", "4.570 GB/s"), ("73 GB/s (worst of 2)", "73.00 GB/s (worst of 2)"),
        ("1.15 us", "1.150 µs"), ("<= 2000.00 ms", "<= 2000 ms"), ("12345.67 MiB/s", "12346 MiB/s"),
        ("0 GB", "0 GB"), ("ideal 400.00 Gb/s, at 1.5 us", "ideal 400.0 Gb/s, at 1.500 µs"),
    ],
)  # fmt: skip
def test_values_have_four_significant_digits(written, read):
    assert shown(written) == read
    assert shown(read) == read


@pytest.mark.parametrize(
    "text",
    [
        "mlx5_0 8MiB", "5.14.0-570.12.1.el9_6", "64 of 64 requests", "90% to 130%", "1.2.3 s",
        "ib_write_bw -s 8388608", "2 samples", "v4.57 GB/sec", "", "declared: 65536",
    ],
)  # fmt: skip
def test_a_text_without_a_value_and_unit_stays(text):
    assert shown(text) == text


def test_numbers_of_every_size():
    assert [digits(value) for value in (0, 0.12345, 1, 99.999, 1234.5, 1e9)] == [
        "0", "0.1235", "1.000", "100.0", "1234", "1000000000",
    ]  # fmt: skip
    assert spelled("us") == "µs"
    assert spelled("GB/s") == "GB/s"

"""Any matrix that TransferBench can print is parsed exactly; a truncated one gives no new value."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railgauge.tools.transferbench import parse

QUARTER_MEGABYTE = 250_000


def exact(thousandths):
    return f"{thousandths / 1000:.3f}"


@st.composite
def all_to_all(draw):
    """A matrix in whole thousandths, so that its printed sums are exact."""
    count = draw(st.integers(2, 8))
    bandwidths = st.integers(1, 900_000)
    cells = {(i, j): draw(bandwidths) for i in range(count) for j in range(count) if i != j}
    lines = [
        "SRC\\DST  " + "     ".join(f"GPU {i:02d}" for i in range(count)) + "   STotal   Actual"
    ]
    expected = {}
    for i in range(count):
        row = {j: cells[i, j] for j in range(count) if j != i}
        shown = ["     N/A" if j == i else f"{exact(row[j]):>8}" for j in range(count)]
        slowest = min(row.values())
        lines.append(
            f"GPU {i:02d} "
            + "   ".join([*shown, exact(sum(row.values())), exact((count - 1) * slowest)])
        )
        expected |= {("link_bw", f"gpu{i}>gpu{j}"): value / 1000 for j, value in row.items()}
        expected["gpu_sum", f"gpu{i}"] = float(exact(sum(row.values())))
        expected["gpu_actual", f"gpu{i}"] = float(exact((count - 1) * slowest))
        expected["slowest_link", f"gpu{i}"] = slowest / 1000
        expected["derived_aggregate", f"gpu{i}"] = (count - 1) * (slowest / 1000)
    columns = [sum(v for (_, to), v in cells.items() if to == j) for j in range(count)]
    total = sum(cells.values())
    lines += ["", "RTotal " + " ".join(map(exact, [*columns, total])) + "    1.000    2.000", ""]
    lines.append(f"Average   bandwidth (GPU Timed): {exact(total / len(cells)):>8} GB/s")
    lines.append(f"Aggregate bandwidth (GPU Timed): {exact(total):>8} GB/s")
    lines.append(f"Aggregate bandwidth (CPU Timed): {exact(total + 1):>8} GB/s")
    expected["slowest_link", "all"] = min(cells.values()) / 1000
    expected["links", "all"] = len(cells)
    expected["average_bw", "all"] = float(exact(total / len(cells)))
    expected["aggregate_bw", "all"] = float(exact(total))
    expected["cpu_aggregate_bw", "all"] = float(exact(total + 1))
    return "\n".join(lines) + "\n", expected


def read(text):
    return {(s.metric, s.placement): s.value for s in parse(text).samples}


@settings(max_examples=100, deadline=None)
@given(all_to_all())
def test_what_was_printed_is_read(matrix):
    text, expected = matrix
    assert parse(text).errors == ()
    assert read(text) == expected


@settings(max_examples=40, deadline=None)
@given(all_to_all(), st.data())
def test_a_cut_matrix_is_an_error_and_gives_no_new_value(matrix, data):
    text, _ = matrix
    whole = read(text).items()
    for end in data.draw(st.lists(st.integers(0, len(text) - 2), min_size=20, max_size=20)):
        assert read(text[:end]).items() <= whole
        assert parse(text[:end]).errors


@settings(max_examples=60, deadline=None)
@given(all_to_all(), st.binary(max_size=30), st.data())
def test_damage_never_fails(matrix, damage, data):
    raw = matrix[0].encode()
    at = data.draw(st.integers(0, len(raw)))
    parse((raw[:at] + damage + raw[at + len(damage) :]).decode("utf-8", "replace"))


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=400))
def test_noise_gives_no_value(text):
    parsed = parse(text)
    assert (parsed.samples, bool(parsed.errors)) == ((), True)


HEADING = "SRC\\DST  GPU 00     GPU 01    STotal      Actual\n"


@pytest.mark.parametrize(
    "piece",
    [
        "x", " ", "\n", "│", "GPU 00 ", "GPU 00 1.000\n", "GPU 00   N/A  40.000  40.000  40.000\n",
        "SRC\\DST ", HEADING, "[ERROR] ", "[WARN]\n", "Average bandwidth (GPU Timed): ", "RTotal\n",
        " Executor: GPU 00 | ", "Copying 1", "Unidirectional copy peak bandwidth GB/s\n", "\x1b[",
    ],
)  # fmt: skip
def test_a_quarter_of_a_megabyte_of_anything_is_read_in_time(piece):
    noise = piece * (QUARTER_MEGABYTE // len(piece))
    started = time.process_time()
    parse(HEADING + noise)
    parse(noise)
    assert time.process_time() - started < 2.0

"""Any table that perftest can print is parsed exactly; a truncated one gives no new value."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railgauge.tools.perftest import parse

LINE = "-" * 87 + "\n"
# Printed bandwidth per (byte x million messages a second), the unit, and its meaning.
UNITS = {
    "MB/sec": (1e6 / 2**20, "MB/s", "MiB/s"),
    "MiB/sec": (1e6 / 2**20, "MiB/s", ""),
    "Gb/sec": (8 / 1000, "Gb/s", ""),
}
LATENCIES = {
    "t_min[usec]": "lat_min",
    "t_max[usec]": "lat_max",
    "t_typical[usec]": "lat_typical",
    "t_avg[usec]": "lat_avg",
    "t_stdev[usec]": "lat_stdev",
    "99% percentile[usec]": "lat_p99",
    "99.9% percentile[usec]": "lat_p999",
}
NOISE = (
    "Conflicting CPU frequency values detected: 1293.811000 != 1200.024000. CPU is not max.\n",
    "[pid 4711, dev 0]\n",
    "\n",
    "\trx_discards: 0\n",
)

gaps = st.text(" \t", min_size=1, max_size=9)
line_ends = st.sampled_from(["\n", "\r\n"])
noises = st.lists(st.sampled_from(NOISE), max_size=2).map("".join)


@st.composite
def sizes(draw):
    first = draw(st.integers(1, 23))
    last = draw(st.integers(first, 23))
    return [2**exponent for exponent in range(first, last + 1)]


@st.composite
def printed(draw, heading_columns, rows):
    """A table with columns separated by blanks and tabs, and noise between its lines."""
    lines = [" " + draw(gaps).join(heading_columns) + "\n"]
    for tokens in rows:
        lines.append(draw(noises))
        lines.append(" " + "".join(token + draw(gaps) for token in tokens[:-1]) + tokens[-1] + "\n")
    text = LINE + "".join(lines) + LINE
    return text.replace("\n", draw(line_ends))


@st.composite
def bandwidth_tables(draw):
    name = draw(st.sampled_from(sorted(UNITS)))
    factor, unit, means = UNITS[name]
    has_cpu = draw(st.booleans())
    is_qos = draw(st.booleans())
    rows, expected = [], []
    for size in draw(sizes()):
        # Below this an average is printed as 0.00, which is an error.
        rate = draw(st.floats(max(0.001, 0.01 / (factor * size)), 200.0))
        average = factor * size * rate
        peak = draw(st.sampled_from([0.0, average, average * 1.1]))
        decimals = 6 if unit == "Gb/s" and average < 0.1 else 2
        shown = [f"{peak:<7.{decimals}f}", f"{average:<7.{decimals}f}", f"{rate:<7.6f}"]
        level = ["3"] if is_qos else []
        end = [f"{draw(st.floats(0, 100)):.2f}"] if has_cpu else []
        rows.append([str(size), *level, "5000", *(token.strip() for token in shown), *end])
        for metric, token in zip(("bw_peak", "bw_average", "msg_rate"), shown, strict=True):
            bandwidth = metric != "msg_rate"
            expected.append(
                (metric, size, float(token), unit if bandwidth else "Mpps", means * bandwidth)
            )
    columns = ["#bytes", *(["#sl"] * is_qos), "#iterations"]
    columns += [f"BW peak[{name}]", f"BW average[{name}]", "MsgRate[Mpps]"]
    columns += ["CPU_Util[%]"] * has_cpu
    return draw(printed(columns, rows)), expected


@st.composite
def latency_tables(draw):
    shown = list(LATENCIES)[: draw(st.sampled_from([3, 5, 7]))]
    rows, expected = [], []
    for size in draw(sizes()):
        rising = sorted(draw(st.lists(st.floats(0.01, 1e6), min_size=5, max_size=5)))
        by_metric = dict(
            zip(("lat_min", "lat_typical", "lat_p99", "lat_p999", "lat_max"), rising, strict=True)
        )
        by_metric["lat_avg"] = draw(st.floats(rising[0], rising[-1]))
        by_metric["lat_stdev"] = draw(st.floats(0.01, 1e6))
        tokens = [f"{by_metric[LATENCIES[column]]:<7.2f}".strip() for column in shown]
        rows.append([str(size), "1000", *tokens])
        for column, token in zip(shown, tokens, strict=True):
            expected.append((LATENCIES[column], size, float(token), "us", ""))
    return draw(printed(["#bytes", "#iterations", *shown], rows)), expected


@st.composite
def duration_tables(draw):
    average = f"{draw(st.floats(0.01, 1e6)):.2f}"
    rate = f"{draw(st.floats(0.01, 1e7)):.2f}"
    rows = [["2", "1289984", average, rate]]
    text = draw(printed(["#bytes", "#iterations", "t_avg[usec]", "tps average"], rows))
    return text, [("lat_avg", 2, float(average), "us", ""), ("tps", 2, float(rate), "1/s", "")]


tables = st.one_of(bandwidth_tables(), latency_tables(), duration_tables())


def read(text):
    return [(s.metric, s.size_bytes, s.value, s.unit, s.unit_means) for s in parse(text).samples]


@settings(max_examples=200, deadline=None)
@given(tables)
def test_what_was_printed_is_read(table):
    text, expected = table
    assert read(text) == expected
    assert parse(text).errors == ()


@settings(max_examples=60, deadline=None)
@given(tables, st.data())
def test_a_cut_table_gives_no_value_that_the_whole_one_lacks(table, data):
    text, expected = table
    for end in data.draw(st.lists(st.integers(0, len(text)), min_size=20, max_size=20)):
        assert set(read(text[:end])) <= set(expected)


@settings(max_examples=60, deadline=None)
@given(tables, st.data())
def test_a_row_cut_in_the_middle_is_an_error(table, data):
    lines = table[0].replace("\r", "").split("\n")
    numbers = [at for at, line in enumerate(lines) if line.strip()[:1].isdigit()]
    at = data.draw(st.sampled_from(numbers))
    row = lines[at].strip()
    cut = row[: data.draw(st.integers(1, len(row) - 1))]
    end = data.draw(st.sampled_from(["", "\n", "\n" + LINE]))
    assert "truncated" in [p.kind for p in parse("\n".join([*lines[:at], cut]) + end).errors]


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=400))
def test_noise_gives_no_value_and_never_fails(text):
    parsed = parse(text)
    assert parsed.samples == ()
    assert parsed.errors


@settings(max_examples=100, deadline=None)
@given(tables, st.binary(max_size=40), st.data())
def test_damage_never_fails(table, damage, data):
    raw = table[0].encode()
    at = data.draw(st.integers(0, len(raw)))
    parse((raw[:at] + damage + raw[at + len(damage) :]).decode("utf-8", "replace"))


def every_cut(text):
    return [read(text[:end]) for end in range(len(text) + 1)]


def test_every_cut_of_a_real_looking_table():
    text = (
        LINE + " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
        " 2          5000           0.057868            0.057270            3.579360\n"
        " 4          5000             0.11               0.11               3.465332\n"
        " 8          5000             0.22               0.22               3.469740\n" + LINE
    )
    whole = set(read(text))
    assert len(whole) == 9
    assert all(set(found) <= whole for found in every_cut(text))


def test_every_cut_of_a_latency_table():
    heading = " #bytes #iterations    " + "   ".join(LATENCIES) + " \n"
    text = (
        heading + " 2       1000          1.55    7.17   1.60   1.60   0.09   1.62   13.65\n" + LINE
    )
    whole = set(read(text))
    assert len(whole) == 7
    assert all(set(found) <= whole for found in every_cut(text))


QUARTER_MEGABYTE = 250_000
HEADING = " #bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps]\n"


@pytest.mark.parametrize(
    "piece",
    [
        "x", " ", "\t", "\n", "\r", "1 ", "1", "-", "{", "#bytes ", "#bytes\n", "BW ", "99",
        "Failed status 1 ", "Device ", "Device : ", "Use x", "Send ", "Send BW ", "ib_write_bw: ",
        " 65536 5000 392.38 392.34 0.748336\n", "65536 5000 1.0\n", "Port number 1 state is ",
        "\x1b[", "Couldn't\n", "\x00", "Version: 1\n ", "[pid = 1", "t_min[", "1\n", HEADING,
        "Send BW Test\n", '{"results": {}}', '{"a":', "é", "RDMA_Write",
    ],
)  # fmt: skip
def test_a_quarter_of_a_megabyte_of_anything_is_read_in_time(piece):
    """At this limit, time quadratic in the input would be 80 s for a megabyte."""
    text = HEADING + piece * (QUARTER_MEGABYTE // len(piece))
    started = time.process_time()
    parse(text)
    parse(piece * (QUARTER_MEGABYTE // len(piece)))
    assert time.process_time() - started < 5.0

"""Values of one row that contradict each other are an error, for every tool."""

import re

import pytest
from testing.printed_tables import AMD_MONITOR, IMB, UDP
from testing.read_only_outputs import BUS, TABLE
from testing.recorded_outputs import recorded

from railgauge import tools
from railgauge.core.model import Sample
from railgauge.tools import collector
from railgauge.tools.relations import AtMost, Quotient, Statistics, contradictions

LATENCY = """\
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]
 2       1000          1.00           9.00         2.00              2.10             0.10            4.00                    5.00
---------------------------------------------------------------------------------------
"""  # noqa: E501
BANDWIDTH = """\
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      5000             392.30             392.10             0.747871
---------------------------------------------------------------------------------------
"""
SERVED = """\
============ Serving Benchmark Result ============
Successful requests:                     100
Failed requests:                         0
Benchmark duration (s):                  10.00
Mean TTFT (ms):                          20.00
Median TTFT (ms):                        18.00
P99 TTFT (ms):                           40.00
==================================================
"""
OSU = """\
# OSU MPI Allreduce Latency Test v7.1
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
4                       2.00              1.50              2.80        1000
8                       2.10              1.60              2.90        1000
"""
BABEL = """\
[RESULT] [1148200.536604] Action name :hbm
[RESULT] [1148200.576498] [hbm] [GPU:: 42583] Starting the Babel memory stress test
--------------------------------------------------------------------------------
GPU Id      Function    MBytes/sec  Max MB/s    Min MB/s    Avg MB/s
--------------------------------------------------------------------------------
42583       Copy        4030.50     4030.50     4010.25     4020.75
--------------------------------------------------------------------------------
"""
# Two figures of a row of each tool, and what stands in their place.
EDITS = [
    ("perftest", LATENCY, "1.00           9.00", "9.00           1.00"),  # min above max
    ("perftest", LATENCY, " 4.00   ", " 0.50   "),  # a percentile below the median
    ("perftest", LATENCY, "5.00\n", "3.00\n"),  # 99.9 % below 99 %
    ("perftest", LATENCY, " 2.10 ", " 9.10 "),  # a mean above the maximum
    ("perftest", BANDWIDTH, "392.30 ", "391.30 "),  # a mean above the peak
    ("vllm-bench", SERVED, "P99 TTFT (ms):                           40.00",
     "P99 TTFT (ms):                           14.00"),
    ("osu", OSU, "1.50              2.80", "2.80              1.50"),
    ("superbench-copy", BUS, "24.3154 24.7880", "24.7880 24.3154"),
    ("rocm-bandwidth-test", TABLE, "41.880         25.038", "41.880         35.038"),
    ("rocm-bandwidth-test", TABLE, "41.880 ", "51.880 "),
    ("rvs", BABEL, "4010.25     4020.75", "4020.75     4010.25"),
    ("imb", IMB, "4.50        18.59        11.69", "4.50        18.59        21.69"),
    ("iperf3", UDP, "87/8783 (0.99%)", "8783/87 (0.99%)"),
    ("amd-smi", AMD_MONITOR, "13 %", "130 %"),
]  # fmt: skip


def kinds(tool, text):
    return {problem.kind for problem in tools.tool(tool).parse(text).errors}


@pytest.mark.parametrize(("tool", "text", "was", "is_now"), EDITS)
def test_a_row_that_contradicts_itself_is_an_error(tool, text, was, is_now):
    assert was in text
    assert "inconsistent" not in kinds(tool, text)
    assert "inconsistent" in kinds(tool, text.replace(was, is_now, 1))


# Figures of the documents that do contradict each other.
INCONSISTENT = {
    "022-allreduce-doc-inconsistent-row.txt",
    "008-allreduce-algo-proto-nchannels-cols.txt",
    "012-bench-serve-embeddings-no-output.txt",
}


@pytest.mark.parametrize(("name", "path"), recorded())
def test_no_recorded_output_is_called_inconsistent(name, path):
    text = path.read_text(encoding="utf-8", errors="replace")
    assert ("inconsistent" in kinds(name, text)) == (path.name in INCONSISTENT)


STATISTIC = re.compile(r"(?:^|_)(min|max|avg|mean|median|typical|average|peak|p\d{1,5})(?=_|$)")


@pytest.mark.parametrize(("name", "path"), recorded())
def test_statistics_of_a_thing_are_declared(name, path, monkeypatch):
    """Whatever a tool calls minimum, mean, percentile or maximum is one of its relations."""
    calls = []
    monkeypatch.setattr(
        collector,
        "contradictions",
        lambda samples, relations: calls.append((samples, relations)) or (),
    )
    tools.tool(name).parse(path.read_text(encoding="utf-8", errors="replace"))
    for samples, relations in calls:
        for pair in _pairs(samples):
            wrong = {metric: 10.0**9 if "min" in metric else 1.0 for metric in pair}
            wrong |= {metric: 10.0**12 for metric in pair if "max" not in metric}
            assert any(one.contradiction(wrong) for one in relations), pair


def _pairs(samples):
    """The metrics of each row that differ only in their statistic, one of which is an end."""
    rows = {}
    for one in samples:
        if STATISTIC.search(one.metric):
            key = (one.size_bytes, one.placement, one.iteration, STATISTIC.sub("", one.metric))
            rows.setdefault(key, set()).add(one.metric)
    return {
        tuple(sorted(names)) for names in rows.values() if any("max" in name for name in names)
        and len(names) > 1
    }  # fmt: skip


# --- the relations themselves ---


def lat(**values):
    return {f"lat_{name}": value for name, value in values.items()}


@pytest.mark.parametrize(
    ("row", "what"),
    [
        (lat(min=1.0, max=1.0, avg=1.01, p99=1.0), ""),  # rounded to two decimals
        (lat(min=1.0, max=1.0, avg=1.02), "lat_avg is 1.02, but lat_max is 1"),
        (lat(median=2.0, mean=9.0), ""),  # a mean may be above the median
        (lat(p5=1.0, p50=2.0, median=2.0, p999=3.0, p99=2.5), ""),
        (lat(p999=3.0, p99=4.0), "lat_p99 is 4, but lat_p999 is 3"),
        (lat(p100=1.0, p99=4.0), "lat_p99 is 4, but lat_p100 is 1"),
        (lat(average=4.0, peak=0.0), ""),  # not measured
        (lat(stdev=400.0, min=1.0), ""),
        ({"bw_min": 9.0, "lat_max": 1.0}, ""),  # of two things
    ],
)
def test_statistics_rise(row, what):
    statistics = "min|median|mean|average|avg|peak|max|p[0-9]+"
    assert Statistics(f"(?P<of>lat|bw)_(?P<as>{statistics})", 0.01).contradiction(row) == what


@pytest.mark.parametrize(
    ("rate", "time", "size", "is_so"),
    [
        (25.038, 41.880, 2**20, True),
        (25.037, 41.880, 2**20, True),  # one step of rounding
        (25.1, 41.880, 2**20, False),
        (0.0, 0.001, 1, False),
        (100.0, 0.0, 1, True),  # a time below its resolution is not compared
        (1.0, 1.0, None, True),
    ],
)
def test_a_rate_is_bytes_over_time(rate, time, size, is_so):
    one = Quotient("bw", "time", 1e3, 0.001, 0.001)
    assert (one.contradiction({"bw": rate, "time": time}, size) == "") == is_so


def test_a_part_is_at_most_its_whole():
    assert AtMost("efficiency", 1.0).contradiction({"efficiency": 1.2})
    assert not AtMost("efficiency", 1.0).contradiction({"efficiency": 1.0})
    assert AtMost("lost", "sent").contradiction({"lost": 2.0, "sent": 1.0})
    assert not AtMost("lost", "sent").contradiction({"lost": 2.0})


def test_figures_of_other_rows_are_not_compared():
    others = ((16, 0, None), (8, 1, None), (8, 0, "gpu0"))
    rows = [Sample("lat_max", "us", 1.0, *other) for other in others]
    rows.append(Sample("lat_min", "us", 9.0, 8))
    relations = (Statistics("(?P<of>lat)_(?P<as>min|max)", 0.01),)
    assert not [*contradictions(rows, relations)]
    assert [*contradictions([*rows, Sample("lat_max", "us", 1.0, 8)], relations)]

"""OSU micro-benchmarks, HPL and fio: read, attacked, and cut at every byte."""

import json

import pytest

from railgauge import tools
from railgauge.tools.finding import find

BANDWIDTH = """\
# OSU MPI Bandwidth Test v5.8
# Size      Bandwidth (MB/s)
1                       3.88
2                       7.92
4                      15.52
8                      31.91
"""
ALLREDUCE = """\

# OSU MPI Allreduce Latency Test v7.5
# Datatype: MPI_INT.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
4                      11.69             10.10             12.20         100
8                      15.34             14.00             16.00         100
"""
BARRIER = "# OSU MPI Barrier Latency Test v5.8\n# Avg Latency(us)\n             8.32\n"
RATE = """\
# OSU MPI Multiple Bandwidth / Message Rate Test v6.2
# [ pairs: 4 ] [ window size: 64 ]
# Size                  MB/s        Messages/s
1                      20.10       20100000.00
2                      40.20       20100000.00
"""
HPL = """\
================================================================================
HPLinpack 2.3  --  High-Performance Linpack benchmark  --   December 2, 2018
================================================================================
T/V                N    NB     P     Q               Time                 Gflops
--------------------------------------------------------------------------------
WR12R2R4      116000  1024     1     1             662.21             1.5714e+03
HPL_pdgesv() start time Thu Feb  6 10:50:10 2020

--------------------------------------------------------------------------------
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   3.80355268e-03 ...... PASSED
================================================================================
T/V                N    NB     P     Q               Time                 Gflops
--------------------------------------------------------------------------------
WR12R2R4      116000   768     1     1             671.00             1.5508e+03
--------------------------------------------------------------------------------
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   3.80355268e-03 ...... PASSED
================================================================================

Finished      2 tests with the following results:
              2 tests completed and passed residual checks,
              0 tests completed and failed residual checks,
              0 tests skipped because of illegal input values.
--------------------------------------------------------------------------------

End of Tests.
================================================================================
"""
FIO = """\
seq: (g=0): rw=rw, bs=(R) 1024KiB-1024KiB, (W) 1024KiB-1024KiB, ioengine=libaio, iodepth=16
fio-3.33
Starting 1 process

seq: (groupid=0, jobs=1): err= 0: pid=4711: Tue Nov 24 12:00:00 2026
  read: IOPS=2000, BW=2000MiB/s (2097MB/s)(19.5GiB/10000msec)
    slat (usec): min=10, max=100, avg=20.00, stdev= 5.00
  write: IOPS=1.50k, BW=1500MiB/s (1573MB/s)(14.6GiB/10000msec); 0 zone resets

Run status group 0 (all jobs):
   READ: bw=2000MiB/s (2097MB/s), 2000MiB/s-2000MiB/s (2097MB/s-2097MB/s), io=19.5GiB, run=10000-10000msec
"""  # noqa: E501


def fio_json(**changes):
    way = {"io_bytes": 20_970_000_000, "bw_bytes": 2_097_000_000, "iops": 2000.0, "runtime": 10000}
    job = {"jobname": "seq", "error": 0, "read": way | changes, "write": {"io_bytes": 0}}
    return json.dumps({"fio version": "fio-3.33", "jobs": [job]}, indent=2)


def parse(tool, text):
    return tools.tool(tool).parse(text)


def values(parsed):
    return {(s.metric, s.size_bytes, s.placement): (s.value, s.unit) for s in parsed.samples}


def errors(parsed):
    return {problem.kind for problem in parsed.errors}


def test_a_table_of_osu_is_read():
    found = values(parse("osu", BANDWIDTH))
    assert found["bandwidth", 8, None] == (31.91, "MB/s")
    found = values(parse("osu", ALLREDUCE))
    assert found["latency_avg", 8, None] == (15.34, "us")
    assert found["latency_max", 4, None] == (12.20, "us")
    assert values(parse("osu", BARRIER)) == {("latency_avg", None, None): (8.32, "us")}
    found = values(parse("osu", RATE))
    assert found["message_rate", 2, None] == (20100000.0, "1/s")
    parsed = parse("osu", ALLREDUCE)
    assert (parsed.tool_version, parsed.summary["test"]) == ("7.5", "MPI Allreduce Latency")
    assert not parsed.errors


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (BANDWIDTH.replace("4                      15.52\n", ""), "sweep-gap"),
        (BANDWIDTH.replace("8    ", "4    "), "sweep-gap"),
        (BANDWIDTH + BANDWIDTH, "several-tables"),
        (BANDWIDTH + ALLREDUCE, "several-tables"),
        (BANDWIDTH.replace("(MB/s)", "(MiB/s)"), "truncated"),
        (BANDWIDTH.replace("15.52", "xx"), "truncated"),
        (BANDWIDTH.replace("15.52", "0.00"), "zero-value"),
        (ALLREDUCE.replace("Min Latency", "Mid Latency"), "unknown-column"),
        (ALLREDUCE.replace("10.10", "99.10"), "inconsistent"),
    ],
)
def test_an_incomplete_table_of_osu_is_an_error(text, kind):
    assert kind in errors(parse("osu", text))


def test_an_output_of_hpl_is_read():
    parsed = parse("hpl", HPL)
    assert not parsed.problems
    assert parsed.tool_version == "2.3"
    found = values(parsed)
    assert found["gflops", None, "N116000/NB1024/1x1"] == (1571.4, "GFLOP/s")
    assert found["time", None, "N116000/NB768/1x1"] == (671.0, "s")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (HPL.replace("PASSED", "FAILED", 1), "data-corruption"),
        (HPL.replace("1.5714e+03", "1.5714e+04"), "inconsistent"),
        (HPL.replace("116000  1024", "232000  1024"), "inconsistent"),
        (HPL.replace("End of Tests.", ""), "truncated"),
        (HPL.replace("2 tests completed and passed", "3 tests completed and passed"), "truncated"),
        ("".join(line for line in HPL.splitlines(True) if "Ax-b" not in line), "truncated"),
        (HPL + HPL, "several-tables"),
    ],
)
def test_an_incomplete_output_of_hpl_is_an_error(text, kind):
    assert kind in errors(parse("hpl", text))


def test_fio_is_read_as_a_table_and_as_json():
    table, document = values(parse("fio", FIO)), values(parse("fio", fio_json()))
    assert table["bandwidth_read", None, "seq"] == (2097.0, "MB/s")
    assert table["iops_write", None, "seq"] == (1500.0, "1/s")
    assert document["bandwidth_read", None, "seq"] == table["bandwidth_read", None, "seq"]
    assert not parse("fio", FIO).problems
    assert parse("fio", fio_json()).tool_version == "3.33"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (FIO.replace("(2097MB/s)(19.5", "(2097kB/s)(19.5"), "inconsistent"),
        (FIO.replace("19.5GiB/10000msec", "9.5GiB/10000msec"), "inconsistent"),
        (FIO.replace("err= 0", "err= 5"), "tool-failed"),
        (FIO.partition("Run status")[0], "truncated"),
        (FIO + FIO, "several-tables"),
        (fio_json(bw_bytes=4_194_000_000), "inconsistent"),
        (fio_json(runtime=0), "metric-missing"),
        (fio_json() + fio_json(), "several-tables"),
        (fio_json()[:-40], "truncated"),
    ],
)
def test_an_incomplete_output_of_fio_is_an_error(text, kind):
    assert kind in errors(parse("fio", text))


@pytest.mark.parametrize(("tool", "text"), [("osu", ALLREDUCE), ("hpl", HPL), ("fio", FIO)])
def test_a_cut_is_never_silent_and_gives_no_new_value(tool, text):
    whole = values(parse(tool, text))
    for place in range(1, len(text.rstrip())):
        for part in (text[:place], text[place:]):
            parsed = parse(tool, part)
            if not parsed.problems:
                assert values(parsed) == whole, part[-60:]


@pytest.mark.parametrize(
    ("tool", "text"),
    [("osu", BANDWIDTH), ("osu", BARRIER), ("hpl", HPL), ("fio", FIO), ("fio", fio_json())],
)
def test_the_tool_of_each_output_is_found(tool, text):
    assert find(text, "x").tool == tool

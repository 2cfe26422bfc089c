"""A row that the output of another program interrupts is an error.

None of its values is read, and none is lost silently: two programs on one terminal tear rows at any
byte.
"""

import random
from collections import Counter

import pytest
from testing.gpu_tool_outputs import WHOLE
from testing.read_only_outputs import BUS, COPY, DIAG, MATRIX, NHC, P2P, RAS, RVS, SHMOO, TABLE
from testing.recorded_outputs import recorded

from railgauge import tools
from railgauge.judging.evidence import DOUBTS

LATENCY = """\
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]
 128     1000          1.05           2.08        1.51
 256     1000          1.15           2.18        1.61
---------------------------------------------------------------------------------------
"""
SWEEP = """\
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
         128            32     float     sum      -1     9.01    0.01    0.03       0     9.02    0.01    0.03       0
         256            64     float     sum      -1     9.11    0.03    0.05       0     9.12    0.03    0.05       0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 0.04
"""  # noqa: E501
OSU = """\
# OSU MPI Bandwidth Test v5.6.2
# Size      Bandwidth (MB/s)
128                   812.31
256                  1623.55
"""
STREAMS = """\
Connecting to host 10.0.0.2, port 5201
[  5] local 10.0.0.1 port 40000 connected to 10.0.0.2 port 5201
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec  1.16 GBytes  9.96 Gbits/sec    0   1.00 MBytes
[  5]   1.00-2.00   sec  1.16 GBytes  9.96 Gbits/sec    0   1.00 MBytes
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-2.00   sec  2.32 GBytes  9.96 Gbits/sec    0             sender
[  5]   0.00-2.00   sec  2.32 GBytes  9.96 Gbits/sec                  receiver

iperf Done.
"""
SERVED = """\
============ Serving Benchmark Result ============
Successful requests:                     100
Failed requests:                         0
Benchmark duration (s):                  10.00
Total input tokens:                      1000
Total generated tokens:                  2000
Request throughput (req/s):              10.00
Output token throughput (tok/s):         200.00
---------------Time to First Token----------------
Mean TTFT (ms):                          137.83
P99 TTFT (ms):                           150.21
==================================================
"""
COUNTERS = """\
# Port counters: Lid 3 port 2 (CapMask: 0x1300)
PortSelect:......................2
CounterSelect:...................0x1b01
SymbolErrorCounter:..............1234
LinkDownedCounter:...............0
PortXmitWait:....................0
"""
SCAN = """\
Errors for "leaf1"
   GUID 0xb8599f0300a1b2c3 port 4: [SymbolErrorCounter == 12] [LinkDownedCounter == 3]

## Summary: 4 nodes checked, 1 bad nodes found
##          40 ports checked, 1 ports have errors beyond threshold
"""
CONFIG = """\
TransferBench v1.62.00
Test 1:
 Executor: GPU 00 |   36.885 GB/s |    0.028 ms |      1048576 bytes | 37.857  GB/s (sum)
     Transfer 00  |   37.857 GB/s |    0.028 ms |      1048576 bytes | G0 -> G000:004 -> G1
 Aggregate (CPU)  |   18.741 GB/s |    0.168 ms |      1048576 bytes | Overhead: 0.122 ms
"""
MEMCPY = """\
nvbandwidth Version: v0.8
Running device_to_device_memcpy_read_ce.
memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0       N/A    397.39
 1    397.65       N/A

SUM device_to_device_memcpy_read_ce 795.04

NOTE: The reported results may not reflect the full capabilities of the platform.
"""
MANAGER = "sminfo: sm lid 1 sm guid 0x2c9030, activity count 9 priority 0 state 3 SMINFO_MASTER\n"
TEXTS = [
    ("perftest", LATENCY), ("ccl-tests", SWEEP), ("osu", OSU), ("iperf3", STREAMS),
    ("vllm-bench", SERVED), ("perfquery", COUNTERS), ("ibqueryerrors", SCAN), ("sminfo", MANAGER),
    ("transferbench", CONFIG), ("nvbandwidth", MEMCPY), ("dcgmi-diag", DIAG), ("azure-nhc", NHC),
    ("ras-status", RAS), ("superbench-copy", SHMOO), ("superbench-copy", BUS),
    ("superbench-copy", COPY), ("rvs", RVS), ("rocm-bandwidth-test", TABLE),
    ("rocm-bandwidth-test", MATRIX), ("p2p-bandwidth-latency", P2P),
    *((tool, text) for tool, texts in WHOLE.items() for text in texts),
]  # fmt: skip
OTHERS = (
    *("\n", " \n", "x\n", "a: 5\n", "[1]\n", "| x | y |\n", "systemd[1]: Started Session 12.\n"),
    *("hello world 12 3.5\n", "\n[12345.6] NVRM: Xid 79\n", "node03: Connection closed\n"),
    *("~x", ": ", "node03: Connection closed"),
)
# A name may be any text: another text inside it cannot be detected.
WITH_NAMES = {"azure-nhc", "ibqueryerrors", "rvs", "gpu-burn", "gpu-fryer"}
# Each line of a kernel's log is one by itself.
LOGS = {"dmesg"}
MOST_CHARACTERS = 300_000  # of all tries on a text together
# The name of a unit that is torn leaves a result of that check without a figure.
FIGURES = {"check_nccl_allreduce", "check_ib_bw_gdr"}


def values(parsed):
    return Counter(
        (s.metric, s.size_bytes, s.placement, s.unit, s.value)
        for s in parsed.samples
        if s.metric not in FIGURES
    )


def doubts(parsed):
    """The warnings that no verdict ignores."""
    return {one.kind for one in parsed.problems} & set(DOUBTS)


def torn(text, most, tool):
    chance = random.Random(text)
    others = [one for one in OTHERS if "\n" in one or tool not in WITH_NAMES]
    places = range(1, len(text))
    for at in places if len(places) <= most else sorted(chance.sample(places, most)):
        other = chance.choice(others)
        yield at, other, text[:at] + other + text[at:]


def lost(tool, text, most):
    """The first place at which another text takes values away, or changes them, in silence."""
    parse = tools.tool(tool).parse
    whole = parse(text)
    expected_doubts = doubts(whole)
    if whole.errors or tool in LOGS or text.lstrip()[:1] in ("{", "["):
        pytest.skip("no complete table")
    expected = values(whole)
    for at, other, changed in torn(text, most, tool):
        found = parse(changed)
        if not found.errors and values(found) != expected and not doubts(found) - expected_doubts:
            return text[max(0, at - 60) : at], other, text[at : at + 60]
    return None


@pytest.mark.parametrize(("tool", "text"), TEXTS)
def test_a_torn_row_is_an_error(tool, text):
    assert lost(tool, text, 3000) is None


@pytest.mark.parametrize(("tool", "path"), recorded())
def test_a_torn_row_of_a_recorded_output_is_an_error(tool, path):
    text = path.read_text(encoding="utf-8", errors="replace")
    assert lost(tool, text, max(10, min(200, MOST_CHARACTERS // len(text)))) is None


def test_the_rest_of_a_torn_size_is_not_read_as_a_size():
    """A row of 256 B was one of 6 B."""
    for tool, text in (("perftest", LATENCY), ("ccl-tests", SWEEP)):
        parsed = tools.tool(tool).parse(text.replace("256 ", "25x\n6 "))
        assert parsed.errors, tool

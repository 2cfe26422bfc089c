"""Two outputs in one text are refused: no reader counts them together or takes one of them."""

import re

import pytest
from testing.gpu_tool_outputs import result
from testing.read_only_outputs import BUS, COPY, NHC, RAS, RVS, SHMOO
from testing.recorded_outputs import recorded

from railgauge import tools
from railgauge.core.problems import ProblemKind
from railgauge.judging.evidence import DOUBTS

FIGURES = "SUCCESS:  nhc:  Health check passed:  "
RDMA = """\
                    RDMA_Write BW Test
 Dual-port       : OFF          Device         : mlx5_0
---------------------------------------------------------------------------------------
 local address: LID 0x01 QPN 0x0a5{n} PSN 0x3c9e82 RKey 0x080359 VAddr 0x007f9fc479c000
 remote address: LID 0x02 QPN 0x0b5{n} PSN 0xbd024b RKey 0x080258 VAddr 0x007fe62504b000
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      5000             94.72              94.71              0.180640
---------------------------------------------------------------------------------------
"""
OTHER_SIDE = RDMA.replace("local", "?").replace("remote", "local").replace("?", "remote")
SCAN = """\
Errors for "leaf1"
   GUID 0xb8599f0300a1b2c3 port 4: [SymbolErrorCounter == 12] [LinkDownedCounter == 3]

## Summary: 4 nodes checked, 1 bad nodes found
##          40 ports checked, 1 ports have errors beyond threshold
"""
PORT = """\
# Port counters: Lid 3 port 2 (CapMask: 0x1300)
PortSelect:......................2
SymbolErrorCounter:..............1234
PortXmitWait:....................0
"""
MANAGER = (
    "sminfo: sm lid 1 sm guid 0x2c9030{n}, activity count 9 priority 0 state 3 SMINFO_MASTER\n"
)
SUBNET = """\
#
# Topology file: generated on Wed Aug  6 16:11:23 2025
#
vendid=0x2c9
devid=0xd2f2
sysimgguid=0xb83fd20300a0b{n}0
switchguid=0xb83fd20300a0b{n}0(b83fd20300a0b{n}0)
Switch  2 "S-b83fd20300a0b{n}0"         # "leaf{n}" enhanced port 0 lid 2 lmc 0
[1]     "H-{n}"[1]({n})         # "node{n} mlx5_0" lid 4 4xHDR

vendid=0x2c9
caguid=0x{n}
Ca      1 "H-{n}"         # "node{n} mlx5_0"
[1]({n})        "S-b83fd20300a0b{n}0"[1]                # lid 4 lmc 0 "leaf{n}" lid 2 4xHDR
"""
MATRIX = """\
        GPU0    GPU1    CPU Affinity
GPU0     X      NV18    0-55
GPU1    NV18     X      0-55
"""
LONE = "        GPU0    CPU Affinity    NUMA Affinity\nGPU0     X      0-55    0\n"
LINKS = "GPU 0: NVIDIA H100 (UUID: GPU-0)\n         Link 0: 26.562 GB/s\n"
CARDS = '{"card0": {"Card series": "MI300X"}}\n'
AMD = """\
[
    {
        "gpu": 0,
        "asic": {
            "market_name": "MI300X"
        }
    }
]
"""
XGMI = """\
LINK METRIC TABLE:
       bdf          bit_rate max_bandwidth link_type 05:00.0
GPU0   05:00.0      32 Gb/s  512 Gb/s      XGMI
"""
BRIDGE = "17:00.0 PCI bridge: Broadcom / LSI PEX890xx\n\tACSCtl: SrcValid+ ReqRedir-\n"

ONE = [
    ("azure-nhc", NHC), ("ras-status", RAS), ("superbench-copy", SHMOO), ("superbench-copy", BUS),
    ("superbench-copy", COPY), ("rvs", RVS), ("perftest", RDMA.format(n=1)),
    ("ibqueryerrors", SCAN), ("perfquery", PORT), ("sminfo", MANAGER.format(n=1)),
    ("ibnetdiscover", SUBNET.format(n=1)), ("nvidia-smi", MATRIX), ("nvidia-smi", LONE),
    ("nvidia-smi", LINKS),
    ("rocm-smi", CARDS), ("amd-smi", AMD), ("amd-smi", XGMI), ("lspci", BRIDGE),
]  # fmt: skip
_LOCAL = re.compile(r"local address: .*PSN 0x[0-9a-f]+\b")


def kinds(tool, text):
    return {problem.kind for problem in tools.tool(tool).parse(text).errors}


@pytest.mark.parametrize(("tool", "text"), ONE)
def test_one_output_is_accepted_as_one(tool, text):
    assert not kinds(tool, text)


@pytest.mark.parametrize(("tool", "text"), ONE)
def test_two_outputs_are_refused(tool, text):
    assert ProblemKind.SEVERAL_TABLES in kinds(tool, text + text)


@pytest.mark.parametrize(("tool", "text"), [("sminfo", MANAGER), ("ibnetdiscover", SUBNET)])
def test_the_outputs_of_two_subnets_are_refused(tool, text):
    assert ProblemKind.SEVERAL_TABLES in kinds(tool, text.format(n=1) + text.format(n=2))


@pytest.mark.parametrize(("tool", "path"), recorded())
def test_a_recorded_output_given_twice_is_refused(tool, path):
    text = path.read_text(encoding="utf-8", errors="replace").rstrip("\n") + "\n"
    if kinds(tool, text):
        pytest.skip("the recorded output is no complete one")
    parsed = tools.tool(tool).parse(text + text)
    if tool == "perftest" and not _LOCAL.search(text):
        pytest.skip("two tables without addresses are those of both sides")
    assert parsed.errors or any(one.kind in DOUBTS for one in parsed.problems)


# --- health checks ---


def test_a_check_that_names_each_gpu_is_one_run():
    lines = [f"{FIGURES}check_nvlink_status: GPU {gpu} has all nvlinks\n" for gpu in range(8)]
    assert not kinds("azure-nhc", "".join(lines) + f"{FIGURES}check_gpu_count: found 8\n")


@pytest.mark.parametrize(
    "second",
    [
        NHC.replace("482", "481"),
        NHC.splitlines(keepends=True)[0],
        "ERROR:  nhc:  Health check failed:  check_nccl_allreduce: failed. FaultCode: NHC2007\n",
    ],
)
def test_a_second_run_of_the_checks_that_differs_or_ends_early_is_refused(second):
    assert ProblemKind.SEVERAL_TABLES in kinds("azure-nhc", NHC + second)


def test_two_runs_that_both_ended_at_their_first_check_are_refused():
    failed = "ERROR:  nhc:  Health check failed:  check_gpu_count: Expected 8 and found 7\n"
    assert not kinds("azure-nhc", failed)
    assert ProblemKind.SEVERAL_TABLES in kinds("azure-nhc", failed + failed)


def test_failures_that_outnumber_the_checks_that_passed_are_not_taken_for_a_prefix():
    failed = "ERROR:  nhc:  Health check failed:  check_{}: failed\n"
    parsed = tools.tool("azure-nhc").parse(NHC + failed.format("a") + failed.format("b"))
    counts = {sample.metric: sample.value for sample in parsed.samples}
    assert (counts["checks_passed"], counts["checks_failed"]) == (1, 3)


# --- perftest, whose two sides may be on one terminal ---


def test_both_sides_of_one_run_are_one_output():
    assert not kinds("perftest", RDMA.format(n=1) + OTHER_SIDE.format(n=1))


def test_two_runs_of_one_side_are_refused():
    assert ProblemKind.SEVERAL_TABLES in kinds("perftest", RDMA.format(n=1) + RDMA.format(n=2))


def test_three_tables_are_more_than_both_sides():
    table = RDMA.format(n=1).partition("VAddr 0x007fe62504b000\n")[2]
    assert ProblemKind.SEVERAL_TABLES in kinds("perftest", table * 3)


# --- RVS ---


def test_an_action_that_is_announced_twice_is_refused():
    assert ProblemKind.SEVERAL_TABLES in kinds("rvs", RVS + result("Action name :action_1"))

"""``railgauge judge`` asks what a run asks, with the run's code; a name overrides no output."""

import json
import math

import pytest
from testing.core_values import ROOT, TRANSCRIPTS, needs_transcripts

from railgauge.config import thresholds

KIB, GIB = 2**10, 2**30
SWEEP = [KIB << step for step in range(21)]
HEADING = (
    "#       size         count    type   redop    root     time   algbw   busbw  #wrong     time"
    "   algbw   busbw  #wrong\n"
    "#        (B)    (elements)                             (us)  (GB/s)  (GB/s)             (us)"
    "  (GB/s)  (GB/s)\n"
)
SLOTS = ("0x08", "0x09", "0x0e", "0x11", "0x32", "0x38", "0x3b", "0x3c")
RULE = "-" * 80 + "\n"


def table(sizes, ranks=8, busbw=100.0, hosts=("mx01",), wrong=0):
    """The output of all_reduce: headings, ranks, one row for each size, and the average."""
    listed = [(rank, hosts[rank * len(hosts) // ranks]) for rank in range(ranks)]
    return (
        "# Collective test starting: all_reduce_perf\n"
        f"# nThread 1 nGpus 1 minBytes {sizes[0]} maxBytes {sizes[-1]} step: 2(factor) warmup "
        "iters: 5 iters: 10 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n"
        + "".join(
            f"#  Rank  {rank} Pid {9 + rank} on {host} device  {rank % 8} "
            f"[{SLOTS[rank % 8]}] MetaX C500\n"
            for rank, host in listed
        )
        + rows(sizes, ranks, busbw, wrong)
        + f"# Out of bounds values : {wrong} {'FAILED' if wrong else 'OK'}\n"
        f"# Avg bus bandwidth    : {busbw:.6g}\n#\n"
    )


def rows(sizes, ranks=8, busbw=100.0, wrong=0):
    algbw = busbw * ranks / (2 * (ranks - 1))
    kind, width = ("bfloat16", 2) if ranks <= 8 else ("float", 4)
    sides = [f"{size / algbw / 1e3:.2f} {algbw:.2f} {busbw:.2f} {wrong}" for size in sizes]
    return HEADING + "".join(
        f" {size} {size // width} {kind} sum -1 {side} {side}\n"
        for size, side in zip(sizes, sides, strict=True)
    )


def perftest(extra=""):
    return (
        f"{extra}{RULE}                    RDMA_Write BW Test\n"
        " Dual-port       : OFF          Device         : mlx5_0\n"
        f" Number of qps   : 1            Transport type : IB\n{RULE}"
        " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
        f" 8388608    5000             392.26             392.25             0.005845\n{RULE}"
    )


GPU = "Using maca Device with ID: 3, Name: MetaX C500, PCI Bus ID: 0x8, metax Arch: xcore1000\n"


@pytest.fixture
def judge(railgauge, log):
    """``judge(text, *options)`` returns the exit code and the JSON (or error) that was printed."""

    def run(text, *more, tool="ccl-tests", platform="metax-c500"):
        words = ("judge", "--root", ROOT, "--platform", platform, "--tool", tool, "--json", *more)
        code, out, err = railgauge(*words, log(text))
        return code, json.loads(out) if out else err

    return run


# --- a name chooses, and overrules nothing ---


def test_four_ranks_are_no_node_of_eight_under_any_name(judge):
    text = table(SWEEP, ranks=4, busbw=130.0)
    code, printed = judge(text, "--measurement", "node_all_reduce")
    assert code == 2
    assert "not of node_all_reduce: it says ranks on a node 4, not 8" in printed


def test_rows_of_four_ranks_alone_are_no_node_of_eight(judge):
    code, printed = judge(rows(SWEEP, ranks=4, busbw=130.0), "--measurement", "node_all_reduce")
    assert code == 2
    assert "ranks 4, not as many as whole nodes of 8 have" in printed


@pytest.mark.parametrize("ranks", [12, 9, 15])
def test_a_node_and_a_half_is_no_node(judge, ranks):
    code, printed = judge(rows(SWEEP, ranks=ranks), "--measurement", "node_all_reduce")
    assert code == 2
    assert f"ranks {ranks}, not as many" in printed


@pytest.mark.parametrize(
    ("name", "hosts", "ranks", "says"),
    [
        ("pair_all_reduce", ["a"], 8, "ran on a node, not pair"),
        ("node_all_reduce", ["a", "b"], 16, "ran on a pair, not node"),
        ("node_all_reduce", ["a", "b"], 8, "ranks on a node 4, not 8"),
        ("group_all_reduce", ["a", "b"], 16, "ran on a pair, not group"),
        ("pair_all_reduce_one_gpu", ["a", "b"], 16, "ranks on a node 8, not 1"),
    ],
)
def test_the_output_of_other_nodes_is_refused(judge, name, hosts, ranks, says):
    text = table(SWEEP, ranks=ranks, hosts=tuple(hosts))
    code, printed = judge(text, "--measurement", name)
    assert code == 2
    assert says in printed


def mpi_bench(hosts):
    size, busbw = 2**20, 0.02
    time_us = size / busbw / 1e3 * 2 * (len(hosts) - 1) / len(hosts)
    ranks = "".join(f"mpi-bench rank {rank} {host}\n" for rank, host in enumerate(hosts))
    return (
        "mpi-bench version 0.1.0\n"
        f"mpi-bench run collective=all_reduce ranks={len(hosts)} type=float "
        f"iterations=5 warmup=1 cycles=1\n{ranks}"
        f"mpi-bench row size={size} cycle=0 time_us={time_us:.3f} "
        f"algbw={size / time_us / 1e3:.6f} busbw={busbw:.6f} wrong=0\n"
        "mpi-bench end rows=1 wrong=0\n"
    )


@pytest.mark.parametrize(("hosts", "fits"), [("ab", "pair"), ("abc", "group")])
def test_ranks_of_mpi_bench_are_compared_with_the_measurement_too(judge, hosts, fits):
    """The output identifies one measurement, and no name on the command line changes it."""
    of_tcp = {"tool": "mpi-bench", "platform": "tcp-lab"}
    _, printed = judge(mpi_bench(hosts), **of_tcp)
    assert printed["measurement"] == f"{fits}_all_reduce"
    other = {"pair": "group", "group": "pair"}[fits]
    code, printed = judge(mpi_bench(hosts), "--measurement", f"{other}_all_reduce", **of_tcp)
    assert code == 2
    assert f"ran on a {fits}, not {other}" in printed


@pytest.mark.parametrize(
    ("text", "name", "says"),
    [
        (perftest(GPU), "host_write_bandwidth", "payload in gpu, not host"),
        (perftest(), "gpu_write_bandwidth", "payload in host, not gpu"),
        (perftest().replace("RDMA_Write", "RDMA_Read"), "host_write_bandwidth", "ib_read_bw"),
        (perftest().replace("qps   : 1", "qps   : 4"), "host_write_bandwidth", "queue pairs 4"),
        (
            perftest().replace("RDMA_Write BW", "RDMA_Write Bidirectional BW"),
            "host_write_bandwidth",
            "both ways True, not False",
        ),
        (
            perftest().replace("mlx5_0", "mlx5_9"),
            "host_write_bandwidth",
            "device mlx5_9, not one of mlx5_0, mlx5_1",
        ),
        (
            perftest(GPU.replace("ID: 3", "ID: 8")),
            "gpu_write_bandwidth",
            "GPU 8, not one of 0, 1, 2, 3, 4, 5, 6, 7",
        ),
    ],
)
def test_the_log_of_gpu_memory_is_refused_for_host_memory(judge, text, name, says):
    code, printed = judge(text, "--measurement", name, tool="perftest")
    assert code == 2
    assert says in printed


def test_a_name_of_another_tool_s_measurement_is_refused(judge):
    code, printed = judge(perftest(), "--measurement", "node_all_reduce", tool="perftest")
    assert code == 2
    assert "has no measurement node_all_reduce of perftest" in printed


# --- what a run refuses, judge refuses ---


def test_a_node_with_a_rank_too_few_is_refused_as_in_a_run(judge):
    """Three nodes, where one of the 24 GPUs takes no part."""
    text = table(SWEEP, ranks=24, hosts=("a", "b", "c"))
    last = next(line for line in text.splitlines(True) if "Rank  23 " in line)
    code, printed = judge(text.replace(last, "").replace(rows(SWEEP, 24), rows(SWEEP, 23)))
    assert (code, printed["measurement"], printed["judgements"]) == (10, "group_all_reduce", [])
    assert "asked for 24 GPUs" in printed["errors"][0]
    assert "23 GPUs (8 on a, 8 on b, 7 on c)" in printed["errors"][0]


def test_wrong_results_reject_as_in_a_run(judge):
    code, printed = judge(table(SWEEP, wrong=3))
    assert (code, printed["verdict"]) == (1, "rejected")
    assert [one["metric"] for one in printed["judgements"]] == ["wrong"]


def test_a_torn_last_line_is_no_whole_output(judge):
    text = perftest()
    torn = text[: text.index("0.005845") + len("0.0058")]
    code, printed = judge(torn, tool="perftest")
    assert code == 10
    assert printed["judgements"] == []


def test_checks_that_an_output_cannot_show_are_named(judge):
    _, printed = judge(perftest(), tool="perftest")
    assert [what.partition(":")[0] for what in printed["not_judged"]] == ["traffic"]
    hosts = ("a", "b")
    _, printed = judge(table(SWEEP, ranks=16, hosts=hosts), "--measurement", "pair_all_reduce")
    assert [what.partition(":")[0] for what in printed["not_judged"]] == ["traffic", "transport"]


def test_a_transport_that_the_log_names_is_judged(judge):
    log = "".join(
        f"a:{rank}:{rank} [0] MCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0\n"
        for rank in range(2)
    )
    text = log + table(SWEEP, ranks=16, hosts=("a", "b"))
    code, printed = judge(text, "--measurement", "pair_all_reduce")
    assert code == 1
    (bad,) = [one for one in printed["judgements"] if one["outcome"] == "failed"]
    assert bad["metric"] == "transport"


def test_a_scan_of_a_subnet_is_judged_by_a_hostfile_alone(judge):
    code, printed = judge("sminfo: sm lid 1\n", "--measurement", "fabric_manager", tool="sminfo")
    assert code == 2
    assert "run the ladder with that hostfile" in printed


# --- an average is one of certain sizes ---


def test_the_average_of_one_size_is_not_asked_against_the_floor_of_a_sweep(judge):
    """65.04 GB/s at 1 GiB alone, against a floor of 26.8 over 21 sizes: any run would pass."""
    code, printed = judge(table([GIB], busbw=100.0))
    assert code == 0
    assert [one["metric"] for one in printed["judgements"]] == ["busbw"]
    assert printed["not_judged"] == ["avg_busbw: its limit was made for other message sizes"]


def test_where_it_is_asked_an_average_over_other_sizes_is_an_error(judge):
    code, printed = judge(table([GIB], busbw=100.0), "--level", "nightly")
    assert code == 10
    assert "avg_busbw" not in {one["metric"] for one in printed["judgements"]}
    assert any(
        "avg_busbw is printed over 1 size (1GiB), but its limit is for 21: 1KiB to 1GiB" in error
        for error in printed["errors"]
    )


@needs_transcripts
@pytest.mark.parametrize("scope", ["1node-8gpu-healthy", "2node-16gpu-healthy"])
def test_the_average_over_its_own_sweep_is_judged(judge, scope):
    code, printed = judge((TRANSCRIPTS / f"metax-mccl-allreduce-{scope}.txt").read_text())
    (average,) = [one for one in printed["judgements"] if one["metric"] == "avg_busbw"]
    assert (code, average["outcome"]) == (0, "passed")


@pytest.mark.parametrize("name", thresholds.available(ROOT / "thresholds"))
def test_every_average_of_the_platform_files_has_its_sizes_and_smoke_asks_none(name):
    platform = thresholds.load(name, ROOT / "thresholds")
    for measurement in platform.measurements.values():
        for limit in measurement.limits:
            if limit.metric != "avg_busbw":
                continue
            assert limit.over.sizes == measurement.extents["nightly"].sizes
            assert measurement.asserted("run", swept=measurement.extents["smoke"].sizes) == ()
            assert math.log2(limit.over.last / limit.over.first).is_integer()

"""Every problem of an output has its own kind and is never hidden by another."""

import json

import pytest

from railgauge.tools.ccl_tests import parse
from railgauge.tools.ccl_tests.facts import RankDevice

HEAD = """\
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 8388608 maxBytes 16777216 step: 2(factor) warmup iters: 5 iters: 20 \
agg iters: 1 validation: 1 graph: 1
#
# Using devices
"""
RANKS = "".join(
    f"#  Rank {rank:2d} Group  0 Pid  47{rank} on node{rank // 4} device  {rank % 4} [0x0f] GPU\n"
    for rank in range(8)
)
DEVICES = tuple(
    RankDevice(rank, f"node{rank // 4}", rank % 4, "0x0f", "GPU", 470 + rank) for rank in range(8)
)
HEADING = """\
#                                                  out-of-place                in-place
#   size    count   type  redop root   time  algbw  busbw #wrong   time  algbw  busbw #wrong
#    (B) (elements)                    (us) (GB/s) (GB/s)          (us) (GB/s) (GB/s)
"""
ROWS = (
    " 8388608  2097152  float  sum  -1  83.74  100.17  175.30  0  86.66   96.80  169.40  0\n"
    "16777216  4194304  float  sum  -1  149.1  112.52  196.92  0  156.3  107.34  187.84  0\n"
)
FOOT = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 182.365 \n"
WHOLE = HEAD + RANKS + HEADING + ROWS + FOOT


def kinds(text, severity="error"):
    return [problem.kind for problem in parse(text).problems if problem.severity == severity]


ALONE = HEAD + RANKS.splitlines(keepends=True)[0] + HEADING + ROWS + FOOT


@pytest.mark.parametrize("count", [2, 16])
def test_ranks_that_do_not_know_of_each_other_are_a_build_without_mpi(count):
    """Open MPI starts a program without MPI as well: each process measures its own GPU alone."""
    (found,) = (p for p in parse(ALONE * count).errors if p.kind == "built-without-mpi")
    assert found.message == f"{count} runs of rank 0 alone: each process ran by itself"
    assert "MPI=1" in found.kind.remedy
    assert "several-tables" not in kinds(ALONE * count)
    assert kinds(ALONE * count)[0] == "built-without-mpi"


def test_two_runs_of_several_ranks_are_two_runs():
    assert "built-without-mpi" not in kinds(WHOLE + WHOLE)
    assert "built-without-mpi" not in kinds(ALONE + WHOLE)


def test_the_name_of_a_build_with_mpi_is_that_of_its_collective():
    text = WHOLE.replace("starting: all_reduce_perf", "starting: all_reduce_perf_mpi")
    assert parse(text).summary["collective"] == "all_reduce"
    missing = "bash: line 1: /opt/all_reduce_perf_mpi: No such file or directory"
    assert "tool-missing" in kinds(missing)


def test_the_whole_output_has_no_problem():
    parsed = parse(WHOLE)
    assert parsed.problems == ()
    assert len(parsed.samples) == 16
    assert parsed.summary == {
        "rows": 2, "collective": "all_reduce", "minimum_bytes": 8388608,
        "maximum_bytes": 16777216, "warmup": 5, "iterations": 20, "threads": 1,
        "gpus_per_process": 1,
        "graph": True, "validation": True, "avg_busbw": 182.365, "out_of_bounds": 0,
        "dtypes": ("float",), "redops": ("sum",), "rows_checkable": 2, "rows_checked": 2,
        "aggregated": 1, "reduces": True, "rooted": False, "checked_in_place": True,
        "devices": DEVICES, "nranks": 8, "nnodes": 2, "hosts": ("node0", "node1"),
        "gpus": {"node0": 4, "node1": 4},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("175.30  0", "175.30  3", "data-corruption"),
        ("175.30  0", "175.30  1e+06", "data-corruption"),
        ("values : 0 OK", "values : 4 FAILED", "out-of-bounds"),
        ("182.365 ", "182.365 FAILED", "below-tool-limit"),
        ("182.365", "183.4", "average-mismatch"),
        ("100.17  175.30", "175.30  100.17", "inconsistent"),
        ("83.74  100.17", "83.74  110.17", "inconsistent"),
        ("196.92", "209.92", "inconsistent"),
        ("100.17", "nan", "not-a-number"),
        ("algbw  busbw #wrong   time", "algbw  busbw  #odd #wrong   time", "unknown-column"),
        ("(us) (GB/s) (GB/s)          (us)", "(us) (GX/s) (GB/s)          (us)", "unit-unknown"),
        ("#\n# Using", "# Reducing maxBytes to 12582912 due to memory limitation\n# Using",
         "size-skipped"),
        (ROWS.splitlines(keepends=True)[1], "", "sweep-gap"),
        (ROWS, "", "truncated"),
        (ROWS + FOOT, "", "truncated"),
        (FOOT, "", "truncated"),
        (FOOT, FOOT + WHOLE, "several-tables"),
        (FOOT, FOOT + ROWS, "several-tables"),
        ("# Using", "#  Rank  0 Group  0 Pid 1 on node0 device 0 [0x0f] GPU\n# Using",
         "several-tables"),
        (RANKS, RANKS.splitlines(keepends=True)[0], "too-few-ranks"),
        (RANKS, "".join(RANKS.splitlines(keepends=True)[:4]), "inconsistent"),
        ("-1  149.1", "-1 node0: Test CUDA failure common.cu:1 'bad'\n 149.1", "gpu-failed"),
        ("-1  149.1", "-1\n 149.1", "truncated"),
    ],
)  # fmt: skip
def test_damage_to_a_sound_output_is_named(old, new, kind):
    assert old in WHOLE
    assert kind in kinds(WHOLE.replace(old, new, 1))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "no-output"),
        (" \n\n", "no-output"),
        ("hello\n", "no-table"),
        (HEAD + RANKS, "truncated"),
        ("bash: all_reduce_perf: command not found", "tool-missing"),
        ("bash: line 1: mpirun: command not found", "tool-missing"),
        ("slurmstepd: error: execve(): /opt/all_reduce_perf: No such file or directory",
         "tool-missing"),
        ("all_reduce_perf: error while loading shared libraries: libnccl.so.2: cannot open",
         "tool-missing"),
        ("ORTE was unable to reliably start one or more daemons.", "launcher-daemon"),
        ("Host key verification failed.", "host-key"),
        ("There are not enough slots available in the system to satisfy the 16\nslots",
         "not-enough-slots"),
        ("srun: error: Unable to create step for job 7: More processors requested than permitted",
         "not-enough-slots"),
        ("mpirun noticed that process rank 3 with PID 0 on node n2 exited on signal 9 (Killed).",
         "rank-died"),
        ("= BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES", "rank-died"),
        ("srun: error: node02: task 9: Killed", "rank-died"),
        ("slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2025-01-01T00:00:00 DUE TO TIME LIMIT"
         " ***", "job-time-limit"),
        ("slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2025-01-01T00:00:00 ***",
         "job-cancelled"),
        ("slurmstepd: error: Detected 1 oom-kill event(s) in StepId=7.0.", "out-of-memory"),
        ("n1: Test CUDA failure common.cu:1 'out of memory'", "out-of-memory"),
        ("all_reduce_perf: Test timeout (60s) expired", "job-time-limit"),
        ("mpirun has detected an attempt to run as root.", "run-as-root"),
        ("n1: Test NCCL failure common.cu:1 'unhandled system error / '", "collective-failed"),
        ("NCCL version mismatch between ranks", "version-mismatch"),
        ("ssh: Could not resolve hostname n9: Name or service not known", "name-not-resolved"),
        (
            "[proxy:0:1@n2] HYDU_sock_connect (utils/sock/sock.c:138): unable to get host address"
            " for n1 (1)",
            "name-not-resolved",
        ),
        ("srun: error: something that nobody has seen", "tool-failed"),
    ],
)  # fmt: skip
def test_failure_is_named_first(text, kind):
    assert kinds(text)[0] == kind
    assert parse(text).samples == ()


def test_rows_left_out_by_hand_are_warnings():
    text = WHOLE.replace(ROWS.splitlines(keepends=True)[0], "  ...\n")
    assert kinds(text) == []
    assert kinds(text, "warning") == ["rows-elided", "sweep-gap", "average-mismatch"]


def test_cycles_are_iterations_of_one_distribution():
    parsed = parse(HEAD + RANKS + HEADING + ROWS * 3 + FOOT)
    assert parsed.errors == ()
    assert [s.iteration for s in parsed.samples if s.metric == "busbw" and s.size_bytes == 8388608
            and s.placement == "in_place"] == [0, 1, 2]  # fmt: skip


def test_the_printed_order_of_the_sides_counts():
    swapped = "#                     in-place                out-of-place\n"
    text = WHOLE.replace(HEADING.splitlines(keepends=True)[0], swapped)
    first = next(s for s in parse(text).samples if s.metric == "busbw")
    assert (first.value, first.placement) == (175.30, "in_place")


@pytest.mark.parametrize(
    ("at", "log"),
    [
        ("-1  149.1", "-1{host}:4711:4799 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM\n 149.1"),
        ("-1  149.1", "-1{host}:4711:4799 [0] NCCL INFO a\nnode1:1:2 [1] NCCL INFO b\n 149.1"),
        ("196.92  0  156.3", "196.92  0{host}:4711:4799 [0] NCCL INFO via SHM\n  156.3"),
    ],
)
@pytest.mark.parametrize("host", ["node0", "10-7-96-17"])
def test_a_row_interrupted_by_the_log_is_put_together(at, log, host):
    parsed = parse(WHOLE.replace(at, log.format(host=host), 1))
    assert parsed.errors == ()
    assert parsed.samples == parse(WHOLE).samples


def test_cpu_time_is_not_the_time_of_the_collective():
    text = WHOLE.replace("  time ", "  cputime ").replace("83.74", "3.74")
    parsed = parse(text)
    assert parsed.errors == ()
    metrics = {s.metric for s in parsed.samples}
    assert metrics == {"cputime_us", "algbw", "busbw", "wrong"}


def test_columns_of_iterations_and_timestamps_are_read():
    heading = (
        "#  size count type redop root"
        + " time algbw busbw #wrong #bitdiff i_min i_max i_p99 i_cv%" * 2
        + " timestamp\n#   (B) (elements)"
        + " (us) (GB/s) (GB/s) (us) (us) (us) (%)" * 2
        + " %Y-%m-%d %H:%M:%S\n"
    )
    row = (
        " 8388608 2097152 float sum -1"
        " 83.74 100.17 175.30 0 0 80.10 90.20 90.10 1.25"
        " 86.66 96.80 169.40 0 2 80.10 90.20 90.10 1.25  2025-01-01 10:00:00\n"
    )
    parsed = parse(heading + row + "# Bitwise mismatches : 2 FAILED\n")
    assert [s.value for s in parsed.samples if s.metric == "busbw"] == [175.30, 169.40]
    assert [p.kind for p in parsed.errors] == ["bitwise-mismatch"]
    times = {s.metric: s.value for s in parsed.samples if s.metric.startswith("iteration")}
    assert times == {
        "iteration_min_us": 80.10, "iteration_max_us": 90.20, "iteration_p99_us": 90.10,
    }  # fmt: skip
    swapped = heading + row.replace("80.10 90.20", "90.20 80.10")
    assert "inconsistent" in {p.kind for p in parse(swapped).errors}


def test_old_errors_marked_by_an_asterisk_are_corruption():
    heading = "# size count type redop time algbw busbw error time algbw busbw error\n"
    row = "8388608 2097152 float sum 523.1 16.04 16.04 1e+00* 552.5 15.18 15.18 0e+00\n"
    assert kinds(heading + row) == ["data-corruption"]
    assert "wrong" not in {s.metric for s in parse(heading + row).samples}


LOG = "node0:4711:4799 [0] {library} INFO {text}\n"


@pytest.mark.parametrize(
    ("lines", "transports"),
    [
        (["Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA"], ("GDRDMA", "IB")),
        (["Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0(1)/GDRDMA/Shared"], ("GDRDMA", "IB")),
        (["Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/3"], ("IB",)),
        (["Using network IB", "Channel 00 : 0[0] -> 8[0] [send] via NET/Socket/0"], ("Socket",)),
        (["NET/IB : No device found.", "Using network Socket"], ("Socket",)),
        (["Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read", "Channel 01/0 : 1[1] -> 2[2] via SHM"],
         ("P2P", "SHM")),
        (["Connected NVLS tree"], ("NVLS",)),
        (["24 coll channels, 0 nvls channels, 32 p2p channels"], None),
        (["NVLS multicast support is available on dev 0"], None),
        (["Channel 00/0 : 0[0] -> 8[0] [send] via NET/GPUDirectTCPX_v7/0"], ("TCPX",)),
        (["Channel 00/0 : 0[0] -> 8[0] [send] via NET/FasTrak/0"], ("TCPX",)),
        (["Using network GPUDirectTCPX_v7"], ("TCPX",)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("library", ["NCCL", "MCCL"])
def test_transports_are_read_from_the_log(lines, transports, library):
    log = "".join(LOG.format(library=library, text=line) for line in lines)
    parsed = parse(HEAD + RANKS + log + HEADING + ROWS + FOOT)
    assert parsed.summary.get("transports") == transports
    assert parsed.errors == ()


def test_channels_without_gpudirect_among_others_show():
    log = "".join(
        LOG.format(library="NCCL", text=f"Channel 0{n}/0 : 0[0] -> 8[0] [send] via NET/IB/{n}{end}")
        for n, end in enumerate(["/GDRDMA", "/GDRDMA", ""])
    )
    assert parse(log + WHOLE).summary["channel_paths"] == {"NET/IB/GDRDMA": 2, "NET/IB": 1}


def side(took, algbw, busbw, wrong=0):
    return {"time": took, "alg_bw": algbw, "bus_bw": busbw, "nwrong": wrong}


def document(**changes):
    result = {"size": 8388608, "count": 2097152, "type": "float", "redop": "sum", "root": "-1",
              "out_of_place": side(83.74, 100.174445, 175.305279),
              "in_place": side(86.66, 96.799077, 169.398385),
              "actual_iterations": 20, "experiment_name": ""}  # fmt: skip
    return {
        "version": 1, "start_time": "2025-11-01 10:00:00", "nccl_version": 22807,
        "args": ["/opt/all_reduce_perf", "-J", "x.json"], "env": ["SECRET=hunter2"],
        "config": {"nthreads": 1, "ngpus": 1, "minimum_bytes": 8388608, "maximum_bytes": 8388608,
                   "step_factor": 2, "warmup_iters": 5, "iterations": 20, "validation": 1,
                   "graph": 0, "blocking_collectives": "false"},
        "devices": [{"rank": r, "group": 0, "pid": 1, "hostname": "node0", "device": r,
                     "device_hex": "0x0f", "device_info": "GPU"} for r in range(8)],
        "results": [result],
        "out_of_bounds": {"count": 0, "okay": "true"},
        "average_bus_bandwidth": {"bandwidth": 172.351832, "okay": "unchecked"},
        "errors": [], "end_time": "2025-11-01 10:00:10", **changes,
    }  # fmt: skip


def test_the_json_file_is_read_like_the_table():
    parsed = parse(json.dumps(document()))
    assert parsed.problems == ()
    assert [(s.metric, s.value, s.placement) for s in parsed.samples[:4]] == [
        ("time_us", 83.74, "out_of_place"), ("algbw", 100.174445, "out_of_place"),
        ("busbw", 175.305279, "out_of_place"), ("wrong", 0.0, "out_of_place"),
    ]  # fmt: skip
    summary = parsed.summary
    assert (summary["collective"], summary["library_version"], summary["nranks"]) == (
        "all_reduce", "2.28.7", 8,
    )  # fmt: skip
    assert summary["avg_busbw"] == 172.351832


def test_nothing_of_the_environment_is_kept():
    assert "hunter2" not in repr(parse(json.dumps(document())))


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"results": []}, "truncated"),
        ({"results": None}, "no-table"),
        ({"results": [{}]}, "unparsable"),
        ({"results": [{**document()["results"][0], "in_place": side(86.66, 96.8, 169.4, 7)}]},
         "data-corruption"),
        ({"results": [{**document()["results"][0], "in_place": side("nan", 96.8, 169.4)}]},
         "not-a-number"),
        ({"results": [{**document()["results"][0], "in_place": side(86.66, 169.4, 96.8)}]},
         "inconsistent"),
        ({"out_of_bounds": {"count": 3, "okay": "false"}}, "out-of-bounds"),
        ({"average_bus_bandwidth": {"bandwidth": 99.0, "okay": "unchecked"}}, "average-mismatch"),
        ({"average_bus_bandwidth": {"bandwidth": 172.351832, "okay": "false"}},
         "below-tool-limit"),
        ({"errors": ["Test CUDA failure"]}, "tool-failed"),
        ({"devices": document()["devices"][:1]}, "too-few-ranks"),
    ],
)  # fmt: skip
def test_wrong_json_is_an_error(changes, kind):
    assert kind in kinds(json.dumps(document(**changes)))


def test_a_table_in_place_only_without_checks_is_read():
    result = {**document()["results"][0], "out_of_place": None}
    result["in_place"]["nwrong"] = None
    parsed = parse(json.dumps(document(results=[result], average_bus_bandwidth={})))
    assert [s.metric for s in parsed.samples] == ["time_us", "algbw", "busbw"]
    assert parsed.errors == ()


def test_json_cut_anywhere_gives_nothing():
    text = json.dumps(document())
    for end in range(0, len(text), 7):
        assert parse(text[:end]).errors
        assert parse(text[:end]).samples == ()


@pytest.mark.parametrize("ranks", [24, 40, 48])
def test_a_message_rounded_down_counts_as_the_requested_size(ranks):
    """nccl-tests rounds each rank's part down to 16 bytes, which 2^n nodes never show."""
    asked = 2**30
    printed = asked // (16 * ranks) * 16 * ranks
    assert printed < asked
    busbw = printed / 4e6 * (ranks - 1) / ranks
    half = f"4000.0 {printed / 4e6:.2f} {busbw:.2f}"
    devices = "".join(
        f"#  Rank {n:2} Group  0 Pid {n} on n{n // 8} device {n % 8} [0000:{n:02x}:00] X\n"
        for n in range(ranks)
    )
    text = (
        f"# nThread 1 nGpus 1 minBytes {asked} maxBytes {asked} step: 2(factor) warmup iters: 1 "
        f"iters: 20 agg iters: 1 validation: 1 graph: 0\n{devices}"
        "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
        f"{printed} 1 float none -1 {half} 0 {half} 0\n"
        f"# Out of bounds values : 0 OK\n# Avg bus bandwidth : {busbw:g}\n"
    )
    parsed = parse(text)
    assert parsed.errors == ()
    assert {sample.size_bytes for sample in parsed.samples} == {asked}
    # A difference that rounding does not explain is another size.
    other = parse(text.replace(f"minBytes {asked} maxBytes {asked}", "minBytes 4096 maxBytes 2G"))
    assert {sample.size_bytes for sample in other.samples} == {printed}

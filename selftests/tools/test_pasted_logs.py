"""Logs as people paste them: values are read, and a failed run gives the tool's own error."""

import json

import pytest
from testing.gpu_tool_outputs import BURN, RVS_GST, hipblaslt_row, rvs_closing
from testing.parsed_outputs import errors, read, values, warnings
from testing.places import SHARED
from testing.read_only_outputs import TABLE

from railgauge.cli import main

CASES = SHARED / "cases"


# --- the cases beside this project ---


def case(name):
    path = CASES / name
    if not path.is_file():
        pytest.skip("the cases are not beside this project (../shared/cases)")
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("tool", "name", "right"),
    [
        ("nvidia-smi", "w1-nvlink-e.txt",
         {("replay_errors", "gpu0/link0"): 0, ("recovery_errors", "gpu0/link0"): 0,
          ("crc_errors", "gpu0/link0"): 0}),
        ("nvidia-smi", "w1b-nvlink-R.txt", {("gpus", None): 1}),
        ("mx-smi", "w2-mx-smi-2.2.8.txt", {("gpus", None): 1, ("power_cap", "gpu0"): 350}),
        ("lspci", "w3-lspci-short.txt", {("devices", None): 2}),
        ("nvidia-smi", "d1-topo-mlx5-columns.txt", {("gpus", None): 2}),
        ("amd-smi", "d2-xgmi-status-down.txt",
         {("links_down", "gpu0"): 1, ("links_up", "gpu0"): 0}),
    ],
)  # fmt: skip
def test_each_pasted_log_is_read_right(tool, name, right):
    found = values(read(tool, case(name)))
    assert right.items() <= found.items()
    assert not {("links_up", None), ("redirecting", None)} & found.keys()


def test_states_and_problems_of_pasted_logs_are_read():
    (gpu,) = read("mx-smi", case("w2-mx-smi-2.2.8.txt")).summary["gpus"]
    assert (gpu["name"], gpu["persistence"], gpu["state"]) == ("MetaX C500", "On", "Unavailable")
    assert errors(read("mx-smi", case("w2-mx-smi-2.2.8.txt"))) == {"gpu-failed"}
    assert warnings(read("lspci", case("w3-lspci-short.txt"))) == {"tool-warning"}
    assert "inconsistent" in errors(read("perftest", case("w4-lat-min-above-max.txt")))
    summary = read("nvidia-smi", case("d1-topo-mlx5-columns.txt")).summary
    assert (summary["distances"]["gpu0"]["mlx5_0"], summary["numa_nodes"]["gpu1"]) == ("PIX", 1)


# --- what stands in, above and below an output ---


def test_a_call_that_succeeded_is_no_failure_of_gpu_burn():
    text = BURN.replace("Burning for", "cuInit returned 0 (no error)\nBurning for", 1)
    assert read("gpu-burn", text) == read("gpu-burn", BURN)
    failed = BURN.replace("Burning for", "cuInit returned 100 (no device)\nBurning for", 1)
    assert "tool-failed" in errors(read("gpu-burn", failed))


def test_what_a_child_of_gpu_burn_prints_again_is_no_second_run():
    again = "Killing processes.. Burning for 30 seconds.\n"
    text = BURN.replace("Killing processes with SIGTERM (soft kill)\n", again)
    assert values(read("gpu-burn", text)) == values(read("gpu-burn", BURN))
    assert not errors(read("gpu-burn", text))
    assert "several-tables" in errors(read("gpu-burn", BURN + BURN))


@pytest.mark.parametrize("seconds", ["2.0", "0.5", "60"])
def test_the_line_of_watch_is_no_part_of_an_output(seconds):
    query = "index, name, memory.total [MiB]\n0, NVIDIA H200, 143771 MiB\n"
    above = f"Every {seconds}s: nvidia-smi --query-gpu=index --format=csv   n1: Fri Dec 12\n\n"
    assert read("nvidia-smi", above + query) == read("nvidia-smi", query)
    assert read("rocm-bandwidth-test", above + TABLE) == read("rocm-bandwidth-test", TABLE)


def test_the_first_release_of_rocm_bandwidth_test_is_read():
    old = TABLE.replace("Version: 2.6.0", "Version: 2.0.1").replace("Unidir", "Bdir", 1)
    old = old.replace("25.038", "25.037999").replace("25.110", "25.109999")
    found = values(read("rocm-bandwidth-test", old.replace("0.190", "0.189629")))
    assert found["bidirectional_avg_bw", "device0>device4"] == 25.037999
    assert "not-a-number" in errors(read("rocm-bandwidth-test", old.replace("25.037999", "25.03")))


def test_both_rows_below_one_heading_of_hipblaslt_bench_are_read():
    head, names, row, _ = hipblaslt_row(1800.0).split("\n")
    second = hipblaslt_row(1810.0).split("\n")[2]
    parsed = read("hipblaslt-bench", "\n".join([head, names, row, second, ""]))
    assert [one.value for one in parsed.samples] == [610840.0, 607465.0]
    assert not errors(parsed)
    twice = "\n".join([head, names, row, head, names, second, ""])
    assert errors(read("hipblaslt-bench", twice)) == {"several-tables"}
    torn = "\n".join([head, names, row, second[:-9], ""])
    assert errors(read("hipblaslt-bench", torn)) & {"inconsistent", "not-a-number", "unparsable"}


def test_a_summary_of_rvs_alone_is_read_with_a_warning():
    closing = rvs_closing(("gpup_1", "GPUP"), ("gst_1", "GST"))
    parsed = read("rvs", closing)
    assert values(parsed)["tests_pass", None] == 2
    assert (errors(parsed), warnings(parsed)) == (set(), {"no-opening-line"})
    failed = read("rvs", closing.replace("PASS", "FAIL", 1))
    assert values(failed)["tests_fail", None] == 1
    assert "test-failed" in warnings(failed)
    assert ("tests_pass", None) not in values(read("rvs", RVS_GST))


SCAN = """\
Errors for "node01 mlx5_0"
   GUID 0x1111 port 1: [SymbolErrorCounter == 12]
Errors for 0x2222 "MF0;leaf1:MQM8700/U1"
   GUID 0x2222 port ALL: [LinkDownedCounter == 2]
   GUID 0x2222 port 3: [LinkDownedCounter == 2]

## Summary: 4 nodes checked, 2 bad nodes found
##          40 ports checked, 2 ports have errors beyond threshold
"""


@pytest.mark.parametrize("above", ["[root@n1 ~]# ibqueryerrors\n", "Errors for today:\n", "[x]\n"])
@pytest.mark.parametrize("indent", [("", "   "), ("    ", "    "), ("   ", "")])
@pytest.mark.parametrize("word", ["", "fabric1 "])
def test_text_around_a_scan_takes_no_counter_away(above, indent, word):
    head, port = indent
    text = SCAN.replace("   GUID", f"{port}GUID").replace("Errors", f"{head}{word}Errors")
    assert read("ibqueryerrors", above + text) == read("ibqueryerrors", SCAN)


def test_a_counter_behind_much_text_is_read():
    port = "# Port counters: Lid 3 port 2 (CapMask: 0x1300)\nPortSelect:......................2\n"
    port += "SymbolErrorCounter:..............1234\nPortXmitWait:....................0\n"
    text = "a line of a site's report\n" * 400 + port
    assert values(read("perfquery", text)) == values(read("perfquery", port))


def test_a_table_of_iperf3_without_its_last_line_gives_a_warning():
    text = (
        "[ ID] Interval           Transfer     Bitrate         Retr\n"
        "[  5]   0.00-2.00   sec  2.33 GBytes  10.0 Gbits/sec    2             sender\n"
        "[  5]   0.00-2.01   sec  2.33 GBytes  9.95 Gbits/sec                  receiver\n"
    )
    parsed = read("iperf3", text)
    assert values(parsed)["bw_received", None] == 9.95
    assert (errors(parsed), warnings(parsed)) == (set(), {"no-closing-line", "no-opening-line"})
    assert "truncated" in errors(read("iperf3", text[: text.index("[  5]   0.00-2.01")]))


# --- a run that failed ---

HEADER = """\
                    RDMA_Write BW Test
 Dual-port       : OFF          Device         : mlx5_0
 Number of qps   : 1            Transport type : IB
"""
FAILED = [
    ("perftest", f"{HEADER} Couldn't allocate MR\n", "memory-registration", "Couldn't allocate MR"),
    ("ccl-tests", "# nThread 1 nGpus 8 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 1 iters:"
     " 1 agg iters: 1 validation: 1 graph: 0\nn1: Test CUDA failure common.cu:1 'out of memory'\n",
     "out-of-memory", "out of memory"),
    ("nvbandwidth", '{"nvbandwidth" : {"error" : "[CUDA_ERROR_X] not yet initialized"}}\n',
     "tool-failed", "not yet initialized"),
    ("perftest", "bash: ib_write_bw: command not found\n", "tool-missing", "command not found"),
]  # fmt: skip


@pytest.fixture
def printed(tmp_path, capsys):
    """Runs a command on a text in a file; its exit code, and all that it printed."""

    def run(text, *words):
        (tmp_path / "a.log").write_text(text, encoding="utf-8")
        code = main([*words, str(tmp_path / "a.log")])
        output = capsys.readouterr()
        return code, output.out + output.err

    return run


@pytest.mark.parametrize(("tool", "text", "kind", "words"), FAILED)
def test_parse_auto_names_the_tool_and_its_error(tool, text, kind, words, printed):
    _, output = printed(text, "parse", "auto")
    assert tool in output
    assert kind in output
    assert words in output


@pytest.mark.parametrize(("tool", "text", "kind", "words"), FAILED)
def test_judge_reports_the_tool_s_own_error_first(tool, text, kind, words, printed):
    platform = "h200" if tool != "perftest" else "metax-c500"
    code, output = printed(text, "judge", "--platform", platform, "--tool", tool)
    assert code != 0
    assert words in output
    behind = output[output.index(words) :]
    assert kind in output
    assert "measurement" in behind or "error" in output  # and then why it cannot be judged


def test_judge_does_not_take_datagrams_for_tcp(printed):
    start = {"test_start": {"protocol": "UDP", "num_streams": 1}}
    total = {"seconds": 1.0, "bytes": 125_000_000, "bits_per_second": 1e9}
    end = {"streams": [{}], "sum_sent": total, "sum_received": total}
    text = json.dumps({"start": start, "intervals": [], "end": end})
    code, output = printed(text, "judge", "--platform", "tcp-lab", "--tool", "iperf3")
    assert code not in (0, 1)
    assert "protocol UDP, not TCP" in output

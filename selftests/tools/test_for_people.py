"""All values that a person can read are read, and lines that only look alike are refused."""

import json
import subprocess

import pytest
from testing import programs
from testing.free_ports import free_port
from testing.parsed_outputs import errors, read, values
from testing.waiting import wait_until

from railgauge.tools.text import clean

# --- iperf3's table ---

TWO = """\
Connecting to host 10.0.0.2, port 5201
[  5] local 10.0.0.1 port 49010 connected to 10.0.0.2 port 5201
[  7] local 10.0.0.1 port 49026 connected to 10.0.0.2 port 5201
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec  1.16 GBytes  10.0 Gbits/sec    0    767 KBytes
[  7]   0.00-1.00   sec  1.16 GBytes  10.0 Gbits/sec    0    767 KBytes
[SUM]   0.00-1.00   sec  2.33 GBytes  20.0 Gbits/sec    0
- - - - - - - - - - - - - - - - - - - - - - - - -
[  5]   1.00-2.00   sec  1.16 GBytes  10.0 Gbits/sec    2    895 KBytes
[  7]   1.00-2.00   sec  1.16 GBytes  10.0 Gbits/sec    1    895 KBytes
[SUM]   1.00-2.00   sec  2.33 GBytes  20.0 Gbits/sec    3
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-2.00   sec  2.33 GBytes  10.0 Gbits/sec    2             sender
[  5]   0.00-2.01   sec  2.33 GBytes  9.95 Gbits/sec                  receiver
[  7]   0.00-2.00   sec  2.33 GBytes  10.0 Gbits/sec    1             sender
[  7]   0.00-2.01   sec  2.33 GBytes  9.95 Gbits/sec                  receiver
[SUM]   0.00-2.00   sec  4.66 GBytes  20.0 Gbits/sec    3             sender
[SUM]   0.00-2.01   sec  4.66 GBytes  19.9 Gbits/sec                  receiver

iperf Done.
"""


def test_the_table_of_a_client_is_read():
    parsed = read("iperf3", TWO)
    assert not parsed.problems
    found = [(s.metric, s.unit, s.value) for s in parsed.samples]
    assert found == [
        ("bw_sent", "Gb/s", 20.0),
        ("retransmits", "count", 3),
        ("bw_received", "Gb/s", 19.9),
        ("bw_interval", "Gb/s", 20.0),
        ("bw_interval", "Gb/s", 20.0),
    ]
    summary = parsed.summary
    assert (summary["streams"], summary["reverse"], summary["both_ways"], summary["seconds"]) == (
        2, False, False, 2.0,
    )  # fmt: skip
    assert "duration_s" not in summary


@pytest.mark.parametrize(
    ("attack", "kind"),
    [
        (lambda t: t.replace("20.0 Gbits", "20.0 Mbits"), "inconsistent"),
        (lambda t: t.replace("Gbits/sec", "GBytes/sec"), "inconsistent"),
        (lambda t: t.replace("4.66 GBytes  20.0", "20.0 GBytes  4.66"), "inconsistent"),
        (lambda t: t.replace("4.66 GBytes  20.0", "9.31 GBytes  40.0"), "inconsistent"),
        (lambda t: t.replace("[SUM]   0.00-2.00", "[  9]   0.00-2.00"), "inconsistent"),
        (lambda t: t.replace("[  7]   0.00-2.00", "[  5]   0.00-2.00"), "inconsistent"),
        (lambda t: t.replace(t.splitlines()[16] + "\n", ""), "inconsistent"),
        (lambda t: t.replace(t.splitlines()[18] + "\n", ""), "inconsistent"),
        (lambda t: t.replace(t.splitlines()[6] + "\n", ""), "sweep-gap"),
        (lambda t: t.replace(t.splitlines()[10] + "\n", ""), "sweep-gap"),
        (lambda t: t[: t.index("[ ID]", 200)], "truncated"),
        (lambda t: t + t, "several-tables"),
        (lambda t: t.replace("Retr\n", "Jitter    Lost/Total Datagrams\n"), "unparsable"),
    ],
)
def test_a_table_that_contradicts_itself_gives_no_value(attack, kind):
    parsed = read("iperf3", attack(TWO))
    assert kind in errors(parsed)
    assert parsed.samples == ()


def test_no_cut_of_a_table_loses_values_silently():
    whole = read("iperf3", TWO)
    for place in range(1, len(TWO) - 1):
        for part in (TWO[:place], TWO[place:]):
            found = read("iperf3", part)
            assert found.problems or found.samples == whole.samples


@pytest.fixture
def client():
    """Runs a real client with a server of its own on the loopback."""
    iperf3 = programs.asked("iperf3")

    def run(*arguments):
        port = free_port()
        with subprocess.Popen(
            [iperf3, "-s", "-1", "-p", str(port), "--forceflush"],
            stdout=subprocess.PIPE, text=True,
        ) as server:  # fmt: skip
            wait_until(
                lambda: "listening" in (server.stdout.readline() if server.stdout else ""),
                20, "iperf3 to listen",
            )  # fmt: skip
            argv = [iperf3, "-c", "127.0.0.1", "-p", str(port), "-t", "1", *arguments]
            done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)
            server.communicate(timeout=60)
        return done.stdout

    return run


@pytest.mark.parametrize(
    "arguments",
    ["", "-P 3", "-R", "--bidir", "-V -f m", "-f K", "-P 2 -O 1"],
)
def test_table_and_json_of_a_real_run_agree(client, arguments):
    """The rate is limited, so that both runs have the same figures within a few percent."""
    asked = ["-b", "80M", *arguments.split()]
    table, document = read("iperf3", client(*asked)), read("iperf3", client("-J", *asked))
    assert (table.errors, document.errors) == ((), ())
    of_table, of_document = values(table), values(document)
    # Only the kernel of this end counts retransmissions.
    assert of_table.keys() <= of_document.keys()
    for key, value in of_table.items():
        if key[0].startswith("bw_"):
            assert value == pytest.approx(of_document[key], rel=0.4), key
    for key in ("streams", "reverse", "both_ways"):  # 3.12 does not print ``bidir``
        assert table.summary[key] == document.summary.get(key, table.summary[key])
    if "-V" in arguments:
        assert table.tool_version == document.tool_version
        for key in ("protocol", "write_bytes", "omitted_s", "duration_s"):
            assert table.summary[key] == document.summary[key]


# --- counts, headings, notes, prompts ---

CCL = """\
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
 1073741824      2.68e+8     float     sum      -1    42040    25.54   25.54       0    42040    25.54   25.54       0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 25.54
"""  # noqa: E501


def test_a_rounded_number_of_elements_is_none_of_the_figures():
    parsed = read("ccl-tests", CCL)
    assert not parsed.errors
    assert parsed.samples[0].size_bytes == 2**30
    rounded_size = CCL.replace(" 1073741824 ", " 1.07e+9 ")
    assert read("ccl-tests", rounded_size).samples == ()


SERVED = """\
============ Serving Benchmark Result ============
Successful requests:                     100
Failed requests:                         0
Benchmark duration (s):                  10.00
Total generated tokens:                  2000{note}
Request throughput (req/s):              10.00{note}
Output token throughput (tok/s):         200.00{note}
==================================================
"""


@pytest.mark.parametrize(
    "note",
    ["", "  # best so far", "   <- the slow one", " (was 180 before)", " // n=3", "  * 3 runs"],
)
def test_notes_behind_a_value_are_no_part_of_it(note):
    parsed = read("vllm-bench", SERVED.format(note=note))
    assert not parsed.errors
    assert values(parsed) == values(read("vllm-bench", SERVED.format(note="")))


@pytest.mark.parametrize("note", [" ms", "k", " k", " (ms)", " 300.00", ",5", " - 300", "%", " /2"])
def test_another_unit_or_number_behind_a_value_is_none(note):
    parsed = read("vllm-bench", SERVED.format(note=note))
    assert "not-a-number" in errors(parsed)
    assert ("output_throughput", None) not in values(parsed)


def test_counts_rounded_by_a_spreadsheet_are_read():
    text = SERVED.format(note="").replace("2000", "2e+3")
    assert values(read("vllm-bench", text))["generated_tokens", None] == 2000
    assert errors(read("vllm-bench", text.replace("2e+3", "2.5e+0")))
    assert errors(read("vllm-bench", text.replace("2e+3", "2e+4")))


def test_the_offline_benchmark_is_read_and_is_not_the_served_one():
    text = SERVED.format(note="").replace("Serving", "Offline Throughput")
    parsed = read("vllm-bench", text)
    assert not parsed.errors
    assert parsed.summary["benchmark"] == "offline"
    assert "benchmark" not in read("vllm-bench", SERVED.format(note="")).summary


HEADED = """\
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]{rate}
 65536      5000             392.30             392.10 \t\t     0.747871
 131072     5000             392.40             392.20 \t\t     0.374031
---------------------------------------------------------------------------------------
"""


def test_a_heading_that_lost_the_name_of_the_message_rate():
    whole = read("perftest", HEADED.format(rate="   MsgRate[Mpps]"))
    assert read("perftest", HEADED.format(rate="")).samples == whole.samples
    wrong = HEADED.format(rate="").replace("0.747871", "0.847871")
    assert "inconsistent" in errors(read("perftest", wrong))
    short = HEADED.format(rate="").replace("0.747871", "0.74787")
    assert "unparsable" in errors(read("perftest", short))
    mibps = HEADED.format(rate="").replace("Gb/sec", "MiB/sec")
    assert {s.unit for s in read("perftest", mibps).samples} == {"Gb/s", "Mpps"}


PEERS = """\
P2P Connectivity Matrix
     D\\D     0     1
     0       1     1
     1       1     1
Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\\D     0      1
     0 2494.51 364.13
     1 375.18 2533.95
"""


@pytest.mark.parametrize("prompt", ["[root@node1 ~]# ", "user@node1:~/x$ ", "$ ", "(env) a@b:/c# "])
def test_a_prompt_behind_a_table_is_no_row_that_was_cut_off(prompt):
    assert clean(PEERS + prompt) == PEERS
    assert read("p2p-bandwidth-latency", PEERS + prompt) == read("p2p-bandwidth-latency", PEERS)


@pytest.mark.parametrize("rest", ["# Avg", "[root@node1 ~]# ib_write_bw", "#", " 12", "a$b"])
def test_lines_that_are_no_prompt_stay(rest):
    assert clean(f"line\n{rest}") == f"line\n{rest}"


def test_a_complete_last_line_needs_no_line_end():
    tool = "p2p-bandwidth-latency"
    assert read(tool, PEERS[:-1]) == read(tool, PEERS)
    for lost in range(2, 12):
        assert "truncated" in errors(read(tool, PEERS[:-lost])), PEERS[-20:-lost]


def test_json_of_iperf3_is_read_as_before():
    document = {"start": {"test_start": {"num_streams": 1}}, "end": {}}
    assert "metric-missing" not in errors(read("iperf3", json.dumps(document)))

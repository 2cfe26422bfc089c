"""Outputs of real users that were once dropped or misread: each form, and attacks on it."""

import json

import pytest
from testing.parsed_outputs import errors, read, values, warnings

from railgauge.tools.text import clean

MULTINODE = """\
nvbandwidth Version: v0.8
Built from Git version: v0.8

Running multinode_device_to_device_memcpy_read_ce.
memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)
           0         1         2
 0       N/A    397.39    397.44
 1    397.65       N/A    397.35
 2    397.65    397.35       N/A

SUM multinode_device_to_device_memcpy_read_ce 2384.83

NOTE: The reported results may not reflect the full capabilities of the platform.
"""
NAME = "multinode_device_to_device_memcpy_read_ce"


def test_the_heading_of_a_multinode_matrix_names_gpus():
    parsed = read("nvbandwidth", MULTINODE)
    assert not parsed.problems
    found = values(parsed)
    assert found[NAME, "gpu0>gpu1"] == 397.39
    assert found[f"{NAME}_cells", "all"] == 6
    assert not any("cpu" in (placement or "") for _, placement in found)


def test_a_multinode_matrix_that_is_not_square_is_no_matrix_of_pairs():
    cut = MULTINODE.replace(" 2    397.65    397.35       N/A\n", "").replace("2384.83", "1589.83")
    assert "truncated" in errors(read("nvbandwidth", cut))


def test_host_tests_still_name_cpus():
    text = MULTINODE.replace("GPU(row)", "CPU(row)").replace(
        "multinode_device_to_device_memcpy_read_ce", "host_to_device_memcpy_ce"
    )
    assert ("host_to_device_memcpy_ce", "cpu0>gpu1") in values(read("nvbandwidth", text))


def bidirectional(*, matrices=3):
    one, two = [["N/A", "100"], ["110", "N/A"]], [["N/A", "90"], ["95", "N/A"]]
    total = [["N/A", "190"], ["205", "N/A"]]
    case = {
        "name": "multinode_device_to_device_bidirectional_memcpy_read_ce",
        "status": "Passed",
        "bandwidth_description": "memcpy CE GPU(row) <-> GPU(column) Total bandwidth (GB/s)",
        "bandwidth_matrix": [*one, *two, *total][: 2 * matrices],
        "sum": 395,
    }
    return json.dumps({"nvbandwidth": {"version": "v0.8", "testcases": [case]}})


def test_the_three_matrices_of_bidirectional_json_are_kept_apart():
    name = "multinode_device_to_device_bidirectional_memcpy_read_ce"
    parsed = read("nvbandwidth", bidirectional())
    assert not parsed.errors
    found = values(parsed)
    assert found[f"{name}_read1", "gpu0>gpu1"] == 100
    assert found[f"{name}_read2", "gpu0>gpu1"] == 90
    assert found[name, "gpu0>gpu1"] == 190
    assert "truncated" in errors(read("nvbandwidth", bidirectional(matrices=2)))


def test_a_byte_order_mark_loses_nothing():
    assert read("nvbandwidth", "\ufeff" + MULTINODE) == read("nvbandwidth", MULTINODE)


@pytest.mark.parametrize(
    ("cut", "kind"),
    [(("nvbandwidth Version", "nv"), "no-opening-line"), (("\nNOTE:", "\n"), "no-closing-line"),
     (("SUM ", "S "), "no-closing-line")],
)  # fmt: skip
def test_possibly_missing_test_cases_give_a_warning(cut, kind):
    assert kind in warnings(read("nvbandwidth", MULTINODE.replace(*cut)))


LINKS = """\
CA: node0003 mlx5_0:
      0x0000000000300031      6    1[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>       3    1[  ] "leaf02" ( )
Switch: 0x0000000000100001 leaf02:
           3    1[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>       6    1[  ] "node0003 mlx5_0" ( )
           3    2[  ] ==(                Down/ Polling)==>             [  ] "" ( )
"""  # noqa: E501
LONG = """\
0x0000000000300031 "               node0003 mlx5_0"      6    1[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>  0x0000000000100001      3    1[  ] "leaf02" ( )
0x0000000000100001 "                        leaf02"      3    1[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>  0x0000000000300031      6    1[  ] "node0003 mlx5_0" ( )
0x0000000000100001 "                        leaf02"      3    2[  ] ==(                Down/ Polling)==>             [  ] "" ( )
"""  # noqa: E501


def test_iblinkinfo_is_read_with_and_without_l():
    plain, long = read("iblinkinfo", LINKS), read("iblinkinfo", LONG)
    assert plain == long
    counts = {"ports_up": 2, "ports_down": 1, "ports_degraded": 0}
    assert values(plain) == {(name, None): count for name, count in counts.items()}
    assert not plain.problems
    assert [port.guid for port in plain.summary["ports"]] == [0x300031, 0x100001, 0x100001]


@pytest.mark.parametrize("text", [LINKS, LONG])
@pytest.mark.parametrize("note", ["(Could be 12X )", "( Could be 10.0 Gbps)"])
def test_a_port_that_could_be_faster_is_degraded(text, note):
    parsed = read("iblinkinfo", text.replace("( )", note, 1))
    assert values(parsed)["ports_degraded", None] == 1
    assert warnings(parsed) == {"tool-warning"}


@pytest.mark.parametrize("text", [LINKS, LONG])
def test_an_incomplete_iblinkinfo_is_reported(text):
    assert errors(read("iblinkinfo", text[:-30])) == {"truncated"}
    assert errors(read("iblinkinfo", text * 2)) == {"several-tables"}
    without_switch = "".join(text.splitlines(keepends=True)[: 2 if text is LINKS else 1])
    assert "no-closing-line" in warnings(read("iblinkinfo", without_switch))


@pytest.mark.parametrize("text", [LINKS, LONG])
@pytest.mark.parametrize(
    ("was", "is_now"), [("53.125", "53,125"), ("==( 4X ", "==(\n 4X "), ("6    1[", "6    x[")]
)
def test_a_port_that_cannot_be_read_is_reported(text, was, is_now):
    """Only the others were counted."""
    assert "unparsable" in errors(read("iblinkinfo", text.replace(was, is_now, 1)))


@pytest.mark.parametrize(
    "escape",
    ["\x1b]0;root@n1: /tmp\x07", "\x1b]2;t\x1b\\", "\x1b(B", "\x1b=", "\x1b[4`", "\x1b[?2004l"],
)
def test_escapes_of_a_terminal_take_no_row_away(escape):
    """A recorded terminal has the title of its window before the first line; that line was lost."""
    lines = CCL.splitlines(keepends=True)
    for at in range(len(lines)):
        text = "".join([*lines[:at], escape, *lines[at:]])
        assert read("ccl-tests", text) == read("ccl-tests", CCL)


def test_a_line_below_no_heading_is_no_port():
    assert "no-table" in errors(read("iblinkinfo", LINKS.splitlines()[3] + "\n"))


DIAG = """\
Successfully ran diagnostic for group.
+---------------------------+------------------------------------------------+
| Diagnostic                | Result                                         |
+===========================+================================================+
|-----  Deployment  --------+------------------------------------------------|
| Denylist                  | Pass                                           |
+-----  Hardware  ----------+------------------------------------------------+
| GPU Memory                | Fail - All                                     |
| Warning                   | GPU 0 could not allocate                       |
|                           | memory.                                        |
| Memory Bandwidth          | Pass - All                                     |
+---------------------------+------------------------------------------------+
"""


def test_the_tail_of_a_diagnostic_is_no_diagnostic():
    """The failure may be above it."""
    for start in range(DIAG.index("| Diag") + 1, DIAG.index("| Memory Bandwidth") + 1):
        assert "truncated" in errors(read("dcgmi-diag", DIAG[start:])), DIAG[start:][:60]
    whole = read("dcgmi-diag", DIAG)
    assert not whole.errors
    assert values(whole)["tests_fail", None] == 1


def test_two_diagnostics_are_not_counted_together():
    assert "several-tables" in errors(read("dcgmi-diag", DIAG * 2))
    result = {"results": [{"gpu_ids": "0", "status": "Pass"}]}
    tests = [{"category": "Hardware", "tests": [{"name": "GPU Memory", **result}]}]
    document = json.dumps({"DCGM GPU Diagnostic": {"test_categories": tests}})
    assert not read("dcgmi-diag", document).errors
    assert "several-tables" in errors(read("dcgmi-diag", document * 2))


CONFIG = """\
TransferBench v1.62.00
## Copy 1Mb from GPU0 to GPU1 with 4 CUs, and 2Mb from GPU1 to GPU0 with 8 CUs
Test 1:
 Executor: GPU 00 |   36.885 GB/s |    0.028 ms |      1048576 bytes | 37.857  GB/s (sum)
     Transfer 00  |   37.857 GB/s |    0.028 ms |      1048576 bytes | G0 -> G000:004 -> G1
 Executor: GPU 01 |   45.471 GB/s |    0.046 ms |      2097152 bytes | 46.304  GB/s (sum)
     Transfer 01  |   46.304 GB/s |    0.045 ms |      2097152 bytes | G1 -> G001:008 -> G0
 Aggregate (CPU)  |   18.741 GB/s |    0.168 ms |      3145728 bytes | Overhead: 0.122 ms
Test 2:
 Executor: DMA 00 |   59.334 GB/s |    4.524 ms |    268435456 bytes | 60.973  GB/s (sum)
     Transfer 00  |   60.973 GB/s |    4.403 ms |    268435456 bytes | G0 -> D000:001 -> G1
 Aggregate (CPU)  |   58.541 GB/s |    4.585 ms |    268435456 bytes | Overhead: 0.061 ms
"""


@pytest.mark.parametrize("before", ["", "    ", "\t", "> ", "   > "])
def test_the_output_of_a_configuration_file_is_read_indented_and_quoted(before):
    text = "".join(f"{before}{line}\n" for line in CONFIG.splitlines())
    found = read("transferbench", text)
    assert values(found) == values(read("transferbench", CONFIG))
    assert found.errors == ()
    assert "no-closing-line" in warnings(found)
    assert not any(placement.startswith("test0") for _, placement in values(found))


def test_tests_of_a_configuration_file_that_are_missing_or_twice():
    lines = CONFIG.splitlines(keepends=True)
    assert "truncated" in errors(read("transferbench", "".join(lines[3:])))
    assert "truncated" in errors(read("transferbench", "".join(lines[8:])))
    assert "truncated" in errors(read("transferbench", "".join(lines[:-1])))
    assert "truncated" in errors(read("transferbench", CONFIG.replace(lines[6], "")))
    assert "several-tables" in errors(read("transferbench", CONFIG + CONFIG))


CCL = """\
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
    1048576        262144     float     sum      -1    420.4    2.49    2.49       0    420.4    2.49    2.49       0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 2.49 GB/s
"""  # noqa: E501


@pytest.mark.parametrize("unit", ["", " ", "GB/s", " GB/s"])
def test_an_average_with_its_unit_is_the_average(unit):
    parsed = read("ccl-tests", CCL.replace(" GB/s", unit))
    assert parsed.summary["avg_busbw"] == 2.49
    assert not parsed.errors


@pytest.mark.parametrize("words", ["2490 MB/s", "2.49 Gb/s", "2.49 GiB/s", "XX", "2.49 GB/s 3"])
def test_an_average_in_another_unit_is_an_error(words):
    parsed = read("ccl-tests", CCL.replace("2.49 GB/s", words))
    assert parsed.summary.get("avg_busbw") is None
    assert "unparsable" in errors(parsed)


SERVED = """\
============ Serving Benchmark Result ============
Successful requests:                     100
Failed requests:                         0
Benchmark duration (s):                  10.00
Total input tokens:                      1000
Total generated tokens:                  2000
Request throughput (req/s):              10.00
Output token throughput (tok/s):         200.00
Peak concurrent requests:                12.00
==================================================
"""


@pytest.mark.parametrize(
    "label", ["Successful requests", "Failed requests", "Total input tokens", "Peak concurrent"]
)
def test_a_number_of_things_has_no_fraction(label):
    assert not read("vllm-bench", SERVED).errors
    broken = "".join(
        f"{line.split(':')[0]}:      45092.77\n" if line.startswith(label) else line
        for line in SERVED.splitlines(keepends=True)
    )
    parsed = read("vllm-bench", broken)
    assert "not-a-number" in errors(parsed)
    assert 45092.77 not in values(parsed).values()


@pytest.mark.parametrize("digit", ["\u0661", "\u096a", "\uff11", "\U0001d7cf"])
def test_digits_of_other_scripts_are_no_numbers(digit):
    for tool, text in [("vllm-bench", SERVED), ("nvbandwidth", MULTINODE), ("ccl-tests", CCL)]:
        parsed = read(tool, text.replace("100", f"{digit}00").replace("2.49", f"{digit}.49")
                      .replace("397.39", f"{digit}97.39"))  # fmt: skip
        assert parsed.errors, tool
    assert digit not in clean(digit)


def test_a_matrix_whose_heading_was_cut_off_is_no_latency():
    text = (
        "P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n   D\\D     0      1\n"
        "     0 2494.51 364.13\n     1 375.18 2533.95\n"
    )
    parsed = read("p2p-bandwidth-latency", text)
    assert errors(parsed) == {"no-heading"}
    assert parsed.samples == ()

"""Tools that are parsed and never run: recorded, broken, truncated and noisy outputs."""

import re
import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from testing.places import ROOT
from testing.read_only_outputs import BUS, COPY, DIAG, MATRIX, NHC, P2P, RAS, RVS, SHMOO, TABLE
from testing.tool_setting import kinds, recorded, setting, values

from railgauge import tools
from railgauge.cli import main
from railgauge.config import thresholds
from railgauge.core.errors import BadInput
from railgauge.judging.evidence import DOUBTS
from railgauge.planning import plan

READ_ONLY = sorted(set(tools.NAMES) - set(tools.PLANNABLE))
GPU_BW = "corpus/gpu-bw"

WHOLE = [
    ("rocm-bandwidth-test", TABLE), ("rocm-bandwidth-test", MATRIX), ("p2p-bandwidth-latency", P2P),
    ("superbench-copy", SHMOO), ("superbench-copy", BUS), ("superbench-copy", COPY), ("rvs", RVS),
    ("ras-status", RAS), ("dcgmi-diag", DIAG), ("azure-nhc", NHC),
]  # fmt: skip
# These outputs have no end marker: cut after a complete line, they look complete.
WITHOUT_END = (TABLE, COPY, RVS, NHC, P2P)


def parse(name, text):
    return tools.tool(name).parse(text)


def found(name, text):
    return {(s.metric, s.size_bytes, s.placement, s.value) for s in parse(name, text).samples}


# --- recorded outputs ---


def test_devices_without_bandwidth_give_a_warning():
    parsed = parse("rocm-bandwidth-test", recorded(GPU_BW, "003"))
    devices = parsed.summary["devices"]
    assert [device["Device Type"] for device in devices] == ["CPU"] * 2 + ["GPU"] * 8
    assert devices[2]["Device BDF"] == "XX:0.0"
    assert (parsed.tool_version, parsed.samples) == ("2.6.0", ())
    assert kinds(parsed, "warning") == ["no-bandwidth"]


def test_a_table_by_size_is_read():
    parsed = parse("rocm-bandwidth-test", recorded(GPU_BW, "004"))
    assert (parsed.errors, kinds(parsed, "warning")) == ((), ["no-closing-line"])
    assert len(parsed.samples) == 4 * 20
    read = found("rocm-bandwidth-test", recorded(GPU_BW, "004"))
    assert ("avg_bw", 2**20, "device0>device4", 25.038) in read
    assert ("peak_bw", 2**20, "device0>device4", 25.110) in read
    assert ("avg_bw", 2**29, "device0>device4", 28.675) in read


def test_a_matrix_of_devices_is_read():
    read = values(parse("rocm-bandwidth-test", recorded(GPU_BW, "005")))
    assert read["bidirectional_peak_bw", "device0>device2"] == 47.703
    assert read["bidirectional_peak_bw", "device0>device9"] == 36.773
    assert read["bidirectional_peak_bw_cells", "all"] == 10 * 9 - 2


def test_placeholders_are_no_figures():
    parsed = parse("rvs", recorded(GPU_BW, "006"))
    assert (parsed.samples, kinds(parsed)) == ((), ["not-a-number"])
    assert list(parsed.summary["peers"].values()) == [True]


def test_peer_to_peer_matrices_are_read():
    one = values(parse("p2p-bandwidth-latency", recorded(GPU_BW, "008")))
    assert one["unidirectional_p2p_enabled", "gpu0>gpu1"] == 364.13
    assert one["unidirectional_p2p_enabled_cells", "all"] == 56
    parsed = parse("p2p-bandwidth-latency", recorded(GPU_BW, "012"))
    four = values(parsed)
    assert four["unidirectional_p2p_enabled", "gpu0>gpu1"] == 38.20
    assert four["unidirectional_p2p_disabled", "gpu0>gpu1"] == 38.24
    assert four["bidirectional_p2p_enabled", "gpu1>gpu0"] == 42.78
    assert (parsed.errors, kinds(parsed, "warning")) == ((), ["no-peer-access", "no-closing-line"])


def test_copies_as_superbench_runs_them_are_read():
    read = found("superbench-copy", recorded(GPU_BW, "009"))
    assert {("d2h_pinned_bw", 1000, None, 0.4), ("d2h_pinned_bw", 9000, None, 3.3)} <= read
    read = found("superbench-copy", recorded(GPU_BW, "010"))
    assert ("h2d_pinned_bw_median", 1024, None, 0.0414) in read
    assert ("h2d_pinned_bw_max", 1024, None, 0.0434) in read
    assert ("h2d_pinned_time_median", 2**29, None, 21.6897) in read
    parsed = parse("superbench-copy", recorded(GPU_BW, "011"))
    assert (len(parsed.samples), kinds(parsed, "warning")) == (57, ["no-closing-line"])
    assert values(parsed)["copy_by_sm_under_numa0", "cpu>gpu0"] == 26.2409


def test_the_status_of_jobs_is_read():
    healthy = parse("ras-status", recorded("corpus/rccl", "012"))
    assert (healthy.problems, healthy.tool_version) == ((), "2.28.3")
    assert values(healthy)["ranks", "group0"] == 8
    assert healthy.summary["groups"][0]["status"] == "RUNNING"
    degraded = parse("ras-status", recorded("corpus/rccl", "013"))
    assert values(degraded)["missing_ranks", "group0"] == 1
    assert kinds(degraded) == ["incomplete"]
    assert degraded.summary["missing"] == [
        {"rank": 3, "gpu": 3, "process": 3534512, "node": "nodeA"}
    ]
    lost = parse("ras-status", recorded("corpus/rccl", "014"))
    assert (lost.samples, kinds(lost)) == ((), ["connection-lost"])
    assert lost.errors[0].message == "read socket: Connection reset by peer"


def test_diagnostics_are_read():
    parsed = parse("dcgmi-diag", recorded("corpus/dcgmi", "006"))
    assert (values(parsed)["tests_fail", None], parsed.errors) == (1, ())
    assert kinds(parsed, "warning") == ["test-failed"]
    assert kinds(parse("dcgmi-diag", recorded("corpus/dcgmi", "001"))) == ["truncated"]
    warned = parse("dcgmi-diag", recorded("corpus/dcgmi", "004"))
    assert kinds(warned, "warning") == ["test-failed", "test-warned"]
    checks = values(parse("azure-nhc", recorded("transcripts", "h200-azure-nhc")))
    assert (checks["checks_passed", None], checks["checks_failed", None]) == (7, 0)
    assert checks["check_nccl_allreduce", None] == 482.559
    assert checks["check_ib_bw_gdr", None] == 392.0


# --- broken outputs ---


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("rocm-bandwidth-test", TABLE.replace("25.038", "35.038"), "inconsistent"),
        ("rocm-bandwidth-test", TABLE.replace("25.038", "nan"), "not-a-number"),
        ("rocm-bandwidth-test", TABLE.replace("25.038", ""), "unparsable"),
        ("rocm-bandwidth-test", TABLE.replace("Avg BW(GB/s)", "Avg BW(GiB/s)"), "unknown-column"),
        ("rocm-bandwidth-test", TABLE.partition("1 KB")[0], "truncated"),
        ("rocm-bandwidth-test", MATRIX.replace("GB/s", "MB/s"), "unit-unknown"),
        ("rocm-bandwidth-test", MATRIX.replace("101.458", "0.000"), "zero-value"),
        ("rocm-bandwidth-test", MATRIX.replace("101.458", "-"), "not-a-number"),
        ("rocm-bandwidth-test", MATRIX + "\n" + MATRIX, "several-tables"),
        ("rocm-bandwidth-test", "bash: rocm-bandwidth-test: command not found", "tool-missing"),
        ("p2p-bandwidth-latency", P2P.replace("(us)", "(ms)"), "unit-unknown"),
        ("p2p-bandwidth-latency", P2P.replace("364.13", "0.00"), "zero-value"),
        ("p2p-bandwidth-latency", P2P.replace("364.13", "nan"), "not-a-number"),
        ("p2p-bandwidth-latency", P2P + P2P, "several-tables"),
        ("p2p-bandwidth-latency", P2P.replace("Unidirectional", "Odd"), "no-heading"),
        ("p2p-bandwidth-latency", P2P + "Cuda failure x.cu:7: 'out of memory'\n", "tool-failed"),
        ("superbench-copy", SHMOO.replace("PASS", "FAIL"), "tool-failed"),
        ("superbench-copy", SHMOO.replace("13.1", "0.0"), "zero-value"),
        ("superbench-copy", SHMOO.replace("13.1 GB/s", "13.1 MB/s"), "unit-unknown"),
        ("superbench-copy", SHMOO.replace("Result = PASS\n", ""), "truncated"),
        ("superbench-copy", BUS.replace("24.7523", "N/A"), "not-a-number"),
        ("superbench-copy", BUS.replace("0.1586 ", ""), "unparsable"),
        ("superbench-copy", COPY + SHMOO, "several-tables"),
        ("superbench-copy", COPY.replace("279.287", "inf"), "not-a-number"),
        ("rvs", RVS.replace("56.250 GBps", "56.250 MBps"), "unit-unknown"),
        ("rvs", RVS.replace("56.250", "0.000"), "zero-value"),
        ("ras-status", RAS.replace("16   RUNNING", "15   RUNNING"), "incomplete"),
        ("ras-status", RAS.replace("RUNNING", "ABORT"), "communicator-status"),
        ("ras-status", RAS.replace("      OK", "  MISMATCH"), "communicator-errors"),
        ("ras-status", "localhost:28028: Connection refused\n", "connection-lost"),
        ("azure-nhc", NHC[:60], "truncated"),
    ],
)  # fmt: skip
def test_each_error_of_an_output_is_named(name, text, kind):
    assert kind in kinds(parse(name, text))


def test_zeros_below_the_resolution_are_no_samples():
    parsed = parse("superbench-copy", BUS)
    assert (parsed.errors, kinds(parsed, "warning")) == ((), ["below-resolution"])
    assert {sample.size_bytes for sample in parsed.samples} == {2**29}


def test_latencies_of_both_clocks_are_read():
    read = values(parse("p2p-bandwidth-latency", P2P))
    assert read["latency_p2p_enabled", "gpu0>gpu1"] == 2.68
    assert read["cpu_latency_p2p_enabled", "gpu0>gpu1"] == 1.93
    assert read["unidirectional_p2p_enabled", "gpu0"] == 2494.51


def test_figures_underway_are_no_samples():
    assert values(parse("rvs", RVS)) == {("p2p_bw_bidirectional", "gpu4>gpu5"): 56.25}


def test_a_failed_check_is_counted_even_if_its_line_is_torn():
    parsed = parse("azure-nhc", NHC[:-10])
    assert values(parsed)["checks_failed", None] == 1
    assert kinds(parsed) == ["truncated"]


# --- all of them ---


@pytest.mark.parametrize(("name", "text"), WHOLE)
def test_whole_outputs_have_no_error(name, text):
    parsed = parse(name, text)
    assert (parsed.tool, parsed.errors) == (name, ())
    assert parsed.samples


@pytest.mark.parametrize(("name", "text"), WHOLE)
def test_a_cut_output_is_an_error_and_gives_no_new_value(name, text):
    whole = {value for value in found(name, text) if not _is_count(value)}
    for end in range(len(text) - 1):
        cut = text[:end]
        assert {value for value in found(name, cut) if not _is_count(value)} <= whole
        is_whole = cut.rstrip() == text.rstrip()
        if not is_whole and not (
            text in WITHOUT_END and (cut.endswith("\n") or not cut.rpartition("\n")[2].strip())
        ):
            read = parse(name, cut)
            assert read.errors or any(p.kind in DOUBTS for p in read.problems), cut[-60:]


def _is_count(value):
    return re.match(r"tests_|checks_|.*_cells", value[0])


@pytest.mark.parametrize("name", READ_ONLY)
def test_an_empty_text_is_no_output(name):
    for text in ("", "\n \n"):
        assert kinds(parse(name, text)) == ["no-output"]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(READ_ONLY), st.text(max_size=300))
def test_noise_gives_no_value(name, text):
    parsed = parse(name, text)
    assert (parsed.samples, bool(parsed.errors)) == ((), True)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(WHOLE), st.binary(max_size=30), st.data())
def test_damage_never_fails(output, damage, data):
    name, text = output
    raw = text.encode()
    at = data.draw(st.integers(0, len(raw)))
    parse(name, (raw[:at] + damage + raw[at + len(damage) :]).decode("utf-8", "replace"))


@st.composite
def matrices(draw):
    """Any matrix in hundredths, and the values of its links."""
    count = draw(st.integers(2, 9))
    cells = draw(
        st.lists(
            st.lists(st.integers(1, 999_999), min_size=count, max_size=count),
            min_size=count,
            max_size=count,
        )
    )
    return [[cell / 100 for cell in row] for row in cells]


@settings(max_examples=60, deadline=None)
@given(matrices())
def test_any_matrix_is_read_back(rows):
    heading = "Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n   D\\D"
    lines = [heading + "".join(f"{i:7d}" for i in range(len(rows)))]
    lines += [f"{i:6d}" + "".join(f" {c:6.2f}" for c in row) for i, row in enumerate(rows)]
    read = values(parse("p2p-bandwidth-latency", "\n".join(lines) + "\n"))
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            place = f"gpu{i}" if i == j else f"gpu{i}>gpu{j}"
            assert read["bidirectional_p2p_enabled", place] == value


@pytest.mark.parametrize(
    "piece",
    ["x", " ", "\n", "D/D ", "D\\D 0 1\n", "0 1\n", "=", "= ", "1 KB ", "[", "1 ",
     "0 KB 1.0 1.0 1.0 1.0\n",
     "[RESULT] [1] ", "gpu0_to_", "Errors\n======\n", "    0  1  2  8 16 16 RUNNING OK\n"],
)  # fmt: skip
def test_a_quarter_of_a_megabyte_of_anything_is_read_in_time(piece):
    """At this limit, time quadratic in the input would be 200 s for a megabyte."""
    noise = piece * (250_000 // len(piece))
    started = time.process_time()
    for name, text in WHOLE:
        parse(name, text + noise)
    assert time.process_time() - started < 12.5


@pytest.mark.parametrize("name", READ_ONLY)
def test_a_tool_that_is_only_read_cannot_be_planned(name):
    with pytest.raises(BadInput, match="can only be read, not run") as caught:
        tools.tool(name).commands(setting(), 1)
    assert "perftest" in caught.value.remedy
    assert tools.tool(name).payload_bytes(parse(name, "")) == 0.0


@pytest.mark.parametrize(
    ("name", "says"), [("ras-status", "can only be read"), ("abacus", "is unknown")]
)
def test_a_platform_file_that_would_run_one_is_refused_before_anything_runs(name, says):
    platform = thresholds.load("metax-c500", ROOT / "thresholds")
    first, *others = platform.measurements.values()
    changed = {first.name: replace(first, tool=name)} | {m.name: m for m in others}
    with pytest.raises(BadInput, match=f"{first.name}: tool '{name}' {says}") as caught:
        plan.level(replace(platform, measurements=changed), setting().cluster, "smoke")
    assert caught.value.where == platform.path
    plan.level(platform, setting().cluster, "smoke")


def test_the_help_lists_all_tools(capsys):
    with pytest.raises(SystemExit):
        main(["parse", "--help"])
    listed = " ".join(capsys.readouterr().out.split()).replace("- ", "-")
    assert all(name in listed for name in tools.NAMES)

"""nvbandwidth: recorded text and JSON, broken output, noise, and the command."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from testing.tool_setting import kinds, recorded, setting, values

from railgauge.core.errors import BadInput
from railgauge.tools.nvbandwidth import commands, parse

CORPUS = "corpus/gpu-bw"
QUARTER_MEGABYTE = 250_000
CORRUPTION = " Invalid value when checking the pattern at 0x735f80000000\n"
HOST = "host_to_device_memcpy_ce"
READ = "device_to_device_memcpy_read_ce"


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("001", {(f"{HOST}_sum", "all"): 1985.60, ("device_to_host_memcpy_ce_sum", "all"): 607.26}),
        ("013", {(f"{HOST}_sum", "all"): 359.05, ("device_to_host_memcpy_ce_sum", "all"): 377.15}),
        ("015", {(f"{HOST}_sum", "all"): 442.52, ("device_to_host_memcpy_ce_sum", "all"): 441.05}),
        (
            "027",
            {
                (HOST, "gpu0"): 55.4196,
                (f"{HOST}_sum", "all"): 443.77379465000007,
                (READ, "gpu0>gpu1"): 393.907,
                (f"{READ}_cells", "all"): 56,
                ("device_to_device_bidirectional_memcpy_read_ce_read1", "gpu0>gpu1"): 389.266,
                ("host_device_latency_sm", "gpu0"): 1217.95,
            },
        ),
        (
            "029",
            {
                (HOST, "gpu0"): 55.5444,
                (f"{HOST}_sum", "all"): 444.83469612400006,
                (READ, "gpu0>gpu1"): 54.0462,
                (f"{READ}_cells", "all"): 8,
            },
        ),
        (
            "031",
            {
                (HOST, "gpu0"): 26.6868,
                (f"{HOST}_sum", "all"): 53.375511724000006,
                (READ, "gpu0>gpu1"): 270.192,
            },
        ),
        ("032", {(HOST, "gpu0"): 24.022, (f"{HOST}_sum", "all"): 24.022010347000002}),
        ("033", {(HOST, "gpu0"): 26.9971, (f"{HOST}_sum", "all"): 53.992401415000003}),
    ],
)
def test_values_of_recorded_outputs_are_those_of_the_index(number, expected):
    parsed = parse(recorded(CORPUS, number))
    assert kinds(parsed) == []
    assert expected.items() <= values(parsed).items()


@pytest.mark.parametrize(
    ("number", "passed", "waived"),
    [("027", 35, 0), ("029", 35, 0), ("031", 32, 0), ("032", 18, 17), ("033", 18, 17)],
)
def test_passed_test_cases_are_counted(number, passed, waived):
    parsed = parse(recorded(CORPUS, number))
    assert (parsed.summary["passed"], parsed.summary["waived"]) == (passed, waived)
    assert ("waived" in kinds(parsed, "warning")) == bool(waived)


def test_latencies_are_nanoseconds_and_bandwidths_gigabytes():
    units = {s.metric: s.unit for s in parse(recorded(CORPUS, "027")).samples}
    assert units["device_to_device_latency_sm"] == units["host_device_latency_sm_sum"] == "ns"
    assert units[READ] == "GB/s"


@pytest.mark.parametrize(
    ("number", "kind", "words"),
    [
        ("034", "tool-failed", "CUDA_ERROR_SYSTEM_NOT_READY"),
        ("036", "testcase-failed", "status 'Running'"),
    ],
)
def test_failed_runs_give_no_value(number, kind, words):
    parsed = parse(recorded(CORPUS, number))
    assert parsed.samples == ()
    assert any(p.kind == kind and words in p.message for p in parsed.errors)


@pytest.mark.parametrize(
    "number",
    ["003", "004", "005", "006", "008", "009", "010", "011", "012", "021", "022", "024", "026"],
)
def test_output_of_other_tools_is_refused(number):
    parsed = parse(recorded(CORPUS, number))
    assert (kinds(parsed), parsed.samples) == (["no-table"], ())


TEXT = """\
nvbandwidth Version: v0.8
Built from Git version: v0.8

Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0     55.60     55.59

SUM host_to_device_memcpy_ce 111.19
COEFFICIENT_OF_VARIATION host_to_device_memcpy_ce 0.00

Running device_to_device_bidirectional_memcpy_read_ce.
memcpy CE GPU(row) <-> GPU(column) Read1 bandwidth (GB/s)
           0         1
 0       N/A    390.00
 1    391.00       N/A

SUM device_to_device_bidirectional_memcpy_read_ce_read1 781.00

memcpy CE GPU(row) <-> GPU(column) Total bandwidth (GB/s)
           0         1
 0      0.00    780.00
 1    782.00      0.00

SUM device_to_device_bidirectional_memcpy_read_ce_total 1562.00

Waived:
NOTE: The reported results may not reflect the full capabilities of the platform.
"""
BOTH = "device_to_device_bidirectional_memcpy_read_ce"


def test_parts_of_a_bidirectional_case_are_read():
    parsed = parse(TEXT)
    assert (kinds(parsed), parsed.tool_version) == ([], "0.8")
    assert values(parsed) == {
        (HOST, "gpu0"): 55.60,
        (HOST, "gpu1"): 55.59,
        (f"{HOST}_cells", "all"): 2,
        (f"{HOST}_sum", "all"): 111.19,
        (f"{BOTH}_read1", "gpu0>gpu1"): 390.0,
        (f"{BOTH}_read1", "gpu1>gpu0"): 391.0,
        (f"{BOTH}_read1_cells", "all"): 2,
        (f"{BOTH}_read1_sum", "all"): 781.0,
        (BOTH, "gpu0>gpu1"): 780.0,
        (BOTH, "gpu1>gpu0"): 782.0,
        (f"{BOTH}_cells", "all"): 2,
        (f"{BOTH}_sum", "all"): 1562.0,
    }


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        (" 1    391.00       N/A\n", "", "truncated"),
        ("    391.00", "          ", "truncated"),
        ("391.00", "<GPU1>", "not-a-number"),
        ("391.00", "nan", "not-a-number"),
        ("55.60", "0.00", "zero-value"),
        ("memcpy_ce 111.19", "memcpy_ce 112.19", "inconsistent"),
        ("SUM host_to_device_memcpy_ce 111", "SUM host_to_device_memcpy_sm 111", "unparsable"),
        ("(GB/s)", "(furlongs)", "unit-unknown"),
        ("Running host", f"{CORRUPTION}Running host", "data-corruption"),
        ("Waived:", "Running device_local_copy.\n", "truncated"),
        ("Waived:", TEXT, "several-tables"),
        ("Waived:", "[CUDA_ERROR_OUT_OF_MEMORY] out of memory in x", "tool-failed"),
        ("Waived:", "ERROR: Testcase x not found!", "tool-failed"),
        (TEXT, "", "no-output"),
        (TEXT, "nvbandwidth Version: v0.8\n", "truncated"),
        (TEXT, "bash: nvbandwidth: command not found", "tool-missing"),
        (TEXT, "words", "no-table"),
    ],
)  # fmt: skip
def test_broken_text_is_an_error(old, new, kind):
    assert old in TEXT
    assert kind in kinds(parse(TEXT.replace(old, new, 1)))


def test_a_pair_without_peer_access_gives_a_warning_and_is_counted():
    parsed = parse(TEXT.replace("391.00", "N/A").replace("781.00", "390.00"))
    assert "missing-cell" in kinds(parsed, "warning")
    assert values(parsed)[f"{BOTH}_read1_cells", "all"] == 1


def test_text_that_is_cut_anywhere_gives_no_new_value():
    whole = values(parse(TEXT)).items()
    for end in range(len(TEXT)):
        assert values(parse(TEXT[:end])).items() <= whole


def document(**changes):
    case = {
        "name": HOST,
        "status": "Passed",
        "bandwidth_description": "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)",
        "bandwidth_matrix": [["55.6", "55.5"]],
        "sum": 111.10000001,
        **changes,
    }
    return json.dumps({"nvbandwidth": {"version": "v0.8", "testcases": [case]}})


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (document(status="Running"), "testcase-failed"),
        (document(status="Error", error="boom"), "tool-failed"),
        (document(status="Not Found"), "testcase-failed"),
        (document(bandwidth_matrix=None), "truncated"),
        (document(bandwidth_matrix=[["55.6", "<GPU1>"]]), "not-a-number"),
        (document(bandwidth_matrix=[["55.6", "nan"]]), "not-a-number"),
        (document(bandwidth_matrix=[["55.6", 10**400]]), "not-a-number"),
        (document(bandwidth_matrix=[["55.6"], ["55.5", "1"]]), "truncated"),
        (document(bandwidth_matrix=7), "truncated"),
        (document(bandwidth_description=None), "unit-unknown"),
        (document(sum=112), "inconsistent"),
        (document(name=READ, bandwidth_description="GPU(row) -> GPU(column) (ns)"), "truncated"),
        (CORRUPTION + document(), "data-corruption"),
        (document() + document(), "several-tables"),
        (document()[:-9], "truncated"),
        ("{ nonsense }", "unparsable"),
        ("{}", "no-table"),
        ('{"nvbandwidth": {"version": "v0.8"}}', "no-table"),
        ('{"a":' * 100_000, "truncated"),
    ],
)  # fmt: skip
def test_broken_json_is_an_error(text, kind):
    assert kind in kinds(parse(text))


def test_sound_json_is_read():
    parsed = parse(document())
    assert (parsed.problems, parsed.tool_version) == ((), "0.8")
    assert values(parsed)[HOST, "gpu1"] == 55.5


def test_json_that_is_cut_anywhere_gives_no_value():
    text = document()
    for end in range(len(text)):
        parsed = parse(text[:end])
        assert (parsed.samples, bool(parsed.errors)) == ((), True)


@st.composite
def matrices(draw):
    count = draw(st.integers(2, 8))
    cells = {
        (i, j): draw(st.integers(1, 999_999)) for i in range(count) for j in range(count) if i != j
    }
    lines = [f"Running {READ}.", "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)"]
    lines.append("".join(f"{i:>10}" for i in range(count)))
    for i in range(count):
        shown = (f"{cells[i, j] / 100:.2f}" if i != j else "N/A" for j in range(count))
        lines.append(f"{i:>2}" + "".join(f"{cell:>10}" for cell in shown))
    lines += ["", f"SUM {READ} {sum(cells.values()) / 100:.2f}", ""]
    return "\n".join(lines), {
        (READ, f"gpu{i}>gpu{j}"): value / 100 for (i, j), value in cells.items()
    }


@settings(max_examples=80, deadline=None)
@given(matrices())
def test_what_was_printed_is_read(matrix):
    text, expected = matrix
    parsed = parse(text)
    assert set(kinds(parsed, "warning")) == {"no-opening-line", "no-closing-line"}
    assert {key: value for key, value in values(parsed).items() if key[0] == READ} == expected


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=400))
def test_noise_gives_no_value(text):
    parsed = parse(text)
    assert (parsed.samples, bool(parsed.errors)) == ((), True)


@pytest.mark.parametrize(
    "piece",
    ["x", " ", "\n", "0 ", "0 1.00\n", "Running a.\n", "SUM a 1.00\n", "Waived:\n", "{", '{"a":',
     "a (column) (GB/s)\n", "ERROR: ", "           0\n", "1.00 "],
)  # fmt: skip
def test_a_quarter_of_a_megabyte_of_anything_is_read_in_time(piece):
    """At this limit, time quadratic in the input would be 80 s for a megabyte."""
    noise = piece * (QUARTER_MEGABYTE // len(piece))
    started = time.process_time()
    parse(TEXT[: TEXT.index(" 0     55")] + noise)
    parse(noise)
    assert time.process_time() - started < 5.0


def argv(**options):
    (command,) = commands(setting("nvbandwidth", options=options, sizes=(2**20,)), 1)
    return list(command.argv)


def test_the_command_has_the_selected_test_cases():
    assert argv() == ["nvbandwidth", "-j"]
    assert argv(json=False, testcases=[HOST, READ]) == ["nvbandwidth", "-t", HOST, READ]
    assert argv(buffer_mib=512, samples=3) == ["nvbandwidth", "-b", "512", "-i", "3", "-j"]


@pytest.mark.parametrize(
    "options",
    [{"testcases": "all"}, {"testcases": ["-x"]}, {"json": 1}, {"buffer_mib": 0}, {"buffer": 1}],
)
def test_cases_that_cannot_be_run_are_refused(options):
    with pytest.raises(BadInput):
        argv(**options)

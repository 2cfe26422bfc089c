"""TransferBench: recorded outputs, problems of broken ones, and the command."""

import pytest
from testing.tool_setting import kinds, recorded, setting, values

from railgauge.core.errors import BadInput
from railgauge.tools.transferbench import commands, parse

LINKS_8 = 56
CORPUS = "corpus/gpu-bw"


def test_the_transcript_of_the_seed_is_read():
    parsed = parse(recorded("transcripts", "mi300x-transferbench-a2a"))
    found = values(parsed)
    assert parsed.problems == ()
    assert parsed.tool_version == "1.60.00"
    assert {s.size_bytes for s in parsed.samples} == {64 * 2**20}
    assert {s.unit for s in parsed.samples} == {"GB/s", "count"}
    assert sum(metric == "link_bw" for metric, _ in found) == LINKS_8
    assert found["links", "all"] == LINKS_8
    assert found["link_bw", "gpu0>gpu7"] == 45.210
    assert found["link_bw", "gpu7>gpu0"] == found["slowest_link", "all"] == 45.095
    assert found["gpu_sum", "gpu6"] == 325.979
    assert found["gpu_actual", "gpu7"] == 315.664
    assert found["derived_aggregate", "gpu7"] == pytest.approx(7 * 45.095)
    assert found["average_bw", "all"] == 46.552
    assert found["aggregate_bw", "all"] == 2606.891
    assert found["cpu_aggregate_bw", "all"] == 1937.924


def test_slowest_links_of_the_seed_lie_between_45_and_48():
    found = values(parse(recorded("transcripts", "mi300x-transferbench-a2a")))
    links = [value for (metric, _), value in found.items() if metric == "link_bw"]
    assert 45 <= min(links) <= max(links) <= 48


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (
            "021",
            {
                ("link_bw", "gpu0>gpu3"): 53.114,
                ("average_bw", "all"): 51.417,
                ("aggregate_bw", "all"): 2879.354,
                ("gpu_actual", "gpu0"): 354.785,
            },
        ),
        (
            "022",
            {
                ("link_bw", "gpu7>gpu1"): 46.66,
                ("link_bw_bidirectional", "gpu3>gpu6"): 79.33,
                ("slowest_link", "all"): 46.66,
                ("slowest_link_bidirectional", "all"): 79.33,
                ("average_bw", "gpu>gpu"): 57.32,
                ("average_bw_bidirectional", "gpu>gpu"): 54.32,
                ("host_link_bw", "gpu0>cpu1"): 55.54,
                ("local_bw", "gpu0"): 2132.28,
            },
        ),
        (
            "023",
            {
                ("test_cpu_bw", "test1"): 55.015,
                ("executor_bw", "test4/gpu0"): 1487.329,
                ("transfer_bw", "test3/transfer1"): 46.304,
            },
        ),
        (
            "026",
            {
                ("link_bw", "gpu3>gpu1"): 28.583,
                ("average_bw", "all"): 35.776,
                ("aggregate_bw", "all"): 2003.440,
                ("cpu_aggregate_bw", "all"): 1411.163,
            },
        ),
    ],
)
def test_values_of_recorded_outputs_are_those_of_the_index(number, expected):
    parsed = parse(recorded(CORPUS, number))
    assert kinds(parsed) == []
    assert expected.items() <= values(parsed).items()


def test_executor_bandwidth_in_the_column_actual_gives_a_warning():
    assert "other-actual" in kinds(parse(recorded(CORPUS, "026")), "warning")


def test_an_output_with_a_hip_error_gives_no_value():
    parsed = parse(recorded(CORPUS, "024"))
    assert (kinds(parsed), parsed.samples) == (["hip-error"], ())
    assert "invalid resource handle" in parsed.errors[0].message


def test_averages_without_a_matrix_are_an_error():
    parsed = parse(recorded(CORPUS, "025"))
    assert kinds(parsed) == ["no-table"]
    assert parsed.summary["warnings"] == 8
    assert values(parsed) == {
        ("average_bw", "all"): 60.952,
        ("aggregate_bw", "all"): 3413.290,
        ("cpu_aggregate_bw", "all"): 1338.252,
    }


@pytest.mark.parametrize(
    "number",
    ["001", "003", "004", "005", "006", "008", "009", "010", "011", "012", "013", "015", "027"],
)
def test_output_of_other_tools_is_refused(number):
    parsed = parse(recorded(CORPUS, number))
    assert (kinds(parsed), parsed.samples) == (["no-table"], ())


def test_pairs_cut_anywhere_are_an_error_and_give_no_new_value():
    text = recorded(CORPUS, "022").rstrip()
    whole = values(parse(text)).items()
    first_half = text.index("Bidirectional")
    for end in range(0, len(text), 37):
        cut = parse(text[:end])
        assert values(cut).items() <= whole
        # The tool may have been asked for the first half only.
        assert cut.errors or end in range(first_half - 3, first_half + 25)


MATRIX = """\
TransferBench v1.62.00
Summary: [1024 bytes per Transfer] [GFX:8] [1 Read(s) 1 Write(s)]
==========================================================
SRC\\DST  GPU 00     GPU 01     GPU 02        STotal      Actual
GPU 00      N/A     40.000     50.000        90.000      80.000
GPU 01   41.000        N/A     45.500        86.500      82.000
GPU 02   30.000     42.000        N/A        72.000      60.000

RTotal   71.000     82.000     95.500       248.500      60.000      82.000

Average   bandwidth (GPU Timed):   41.417 GB/s
Aggregate bandwidth (GPU Timed):  248.500 GB/s
Aggregate bandwidth (CPU Timed):  200.000 GB/s
"""


def test_a_sound_matrix_is_read():
    parsed = parse(MATRIX)
    assert parsed.problems == ()
    assert values(parsed)["derived_aggregate", "gpu2"] == 60.0


def test_a_matrix_cut_anywhere_is_an_error_and_gives_no_new_value():
    # The last decimal is not 0, so a number that loses it is another number.
    text = MATRIX.replace(
        "40.000     50.000        90.000      80.000", "40.001 50.003 90.004 80.002"
    )
    text = text.replace("82.000     95.500       248.500", "82.001 95.503 248.504")
    text = text.replace("  248.500", "  248.504")
    assert parse(text).problems == ()
    whole = values(parse(text)).items()
    for end in range(len(text) - 1):
        cut = parse(text[:end])
        assert values(cut).items() <= whole
        assert cut.errors


def test_borders_and_commas_separate_cells_like_blanks():
    lines = MATRIX.replace("SRC\\DST ", "│ SRC\\DST │").replace("STotal", "│ STotal").split("\n")
    bordered = "\n".join(
        f"│ {line} │" if line.startswith(("GPU", "RT")) else line for line in lines
    )
    with_commas = MATRIX.replace("  GPU 0", " ,GPU 0").replace("     ", "    ,")
    assert values(parse(bordered)) == values(parse(with_commas)) == values(parse(MATRIX))


def test_a_matrix_without_actual_and_with_two_decimals_is_read():
    text = MATRIX
    for old in ("      Actual", "      80.000", "      82.000\n", "      60.000\n"):
        text = text.replace(old, "\n" if old.endswith("\n") else "", 1)
    for line in text.split("\n"):
        if line.startswith(("GPU", "RT")):
            cells = [
                cell[:-1] if cell.endswith("0") and "." in cell else cell for cell in line.split()
            ]
            text = text.replace(line, " ".join(cells))
    text = text.replace(" 82.00\n\nAverage", "\n\nAverage").replace(" 60.00\n", "\n")
    parsed = parse(text)
    assert kinds(parsed) == []
    assert values(parsed)["link_bw", "gpu1>gpu2"] == 45.5


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("     42.000", "        N/A", "missing-link"),
        ("     42.000", "           ", "truncated"),
        ("     42.000", "     <GPU1>", "not-a-number"),
        ("     42.000", "        nan", "not-a-number"),
        ("     42.000", "      0.000", "zero-value"),
        ("     42.000", "     43.000", "inconsistent"),
        ("  72.000", "  73.000", "inconsistent"),
        ("41.417", "41.517", "inconsistent"),
        (":  248.500", ":  249.500", "inconsistent"),
        ("     82.000     95.500", "     82.000     95.600", "inconsistent"),
        ("GPU 02   30.000", "GPU 01   30.000", "truncated"),
        ("Average   bandwidth (GPU Timed):   41.417 GB/s\n", "", "truncated"),
        ("Average", "[ERROR] Transfer 3 mismatch at index 7\nAverage", "data-corruption"),
        ("Average", "[ERROR] out of memory\nAverage", "tool-failed"),
        ("TransferBench v1.62.00\n", MATRIX, "several-tables"),
        (MATRIX, "", "no-output"),
        (MATRIX, "bash: TransferBench: command not found\n", "tool-missing"),
        (MATRIX, "bash: line 1: ./TransferBench: No such file or directory\n", "tool-missing"),
        (MATRIX, "GPU-GFX All-To-All benchmark:\n", "truncated"),
        (MATRIX, "some words\n", "no-table"),
    ],
)
def test_broken_output_is_an_error(old, new, kind):
    assert old in MATRIX
    assert kind in kinds(parse(MATRIX.replace(old, new, 1)))


def test_an_actual_that_is_not_the_derived_one_is_a_warning():
    parsed = parse(MATRIX.replace("82.000\nGPU 02", "81.000\nGPU 02"))
    assert kinds(parsed, "warning") == ["other-actual"]
    assert kinds(parsed) == []


def test_the_command_is_that_of_the_document():
    (command,) = commands(
        setting("transferbench", sizes=(64 * 2**20,), environment={"HIDE_ENV": "1"}), 1
    )
    assert command.argv == ("TransferBench", "a2a", "64M", "8")
    assert command.environment == {"NUM_SUB_EXEC": "8", "HIDE_ENV": "1"}
    assert (command.node, command.time_limit_s, command.listens_on) == ("n1", 90.0, None)


@pytest.mark.parametrize(
    ("size", "spelling"), [(2**30, "1G"), (3 * 2**20, "3M"), (2**10, "1K"), (1004, "1004")]
)
def test_a_size_of_pairs_becomes_an_argument(size, spelling):
    (command,) = commands(setting("transferbench", sizes=(size,), options={"preset": "p2p"}), 1)
    assert command.argv == ("TransferBench", "p2p", spelling)


@pytest.mark.parametrize("given", ["/opt/rocm/bin", "/opt/rocm/bin/TransferBench"])
def test_the_program_is_where_the_hostfile_says(given):
    (command,) = commands(setting("transferbench", sizes=(4,), tools={"transferbench": given}), 1)
    assert command.argv[0] == "/opt/rocm/bin/TransferBench"


@pytest.mark.parametrize(
    ("sizes", "options", "words"),
    [
        ((4,), {"preset": "a2b"}, "a2a, p2p"),
        ((4,), {"presets": "a2a"}, "takes executor, memory, preset, subexecutors, unroll"),
        ((4,), {"subexecutors": 0}, "1 or more"),
        ((4,), {"subexecutors": True}, "1 or more"),
        ((6,), {}, "multiple of 4"),
        ((), {}, "multiple of 4"),
        ((4, 8), {}, "one size"),
    ],
)
def test_cases_that_cannot_be_run_are_refused(sizes, options, words):
    with pytest.raises(BadInput, match=words):
        commands(setting("transferbench", sizes=sizes, options=options), 1)

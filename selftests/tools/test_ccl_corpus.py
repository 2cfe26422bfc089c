"""Every recorded output of a collective test, compared with its entry in the index."""

import pytest
from testing.places import SHARED

from railgauge.tools.ccl_tests import parse

CORPUS = SHARED / "corpus"
TRANSCRIPTS = SHARED / "transcripts"

# Size and both bus bandwidths, from the index, then the printed average.
BOTH = {
    "nccl/001": (8589934592, 235.26, 235.03, 68.4048),
    "nccl/002": (8589934592, 223.39, 230.07, 58.2651),
    "nccl/003": (8589934592, 231.52, 231.25, 60.168),
    "nccl/004": (8589934592, 232.81, 234.70, 64.8653),
    "nccl/005": (8589934592, 228.38, 228.83, 65.018),
    "nccl/006": (8589934592, 224.31, 226.16, 58.6481),
    "nccl/008": (8589934592, 386.56, 385.56, 373.187),
    "nccl/009": (8589934592, 834.57, 846.82, 745.53),
    "nccl/011": (17179869184, 405.74, 404.77, 297.808),
    "nccl/012": (2147483648, 78.33, 78.33, None),
    "nccl/013": (17179869184, 487.09, 487.26, None),
    "nccl/014": (2147483648, 437.79, 437.89, 52.9753),
    "nccl/016": (17179869184, 369.86, 369.42, 84.0569),
    "nccl/017": (2147483648, 696.06, 702.91, 137.179),
    "nccl/020": (8589934592, 188.54, 188.59, 146.948),
    "nccl/022": (17179869184, 936.93, 936.54, 487.265),
    "nccl/024": (8589934592, 189.60, 189.50, None),
    "nccl/025": (8589934592, 338.82, 337.35, 70.742),
    "nccl/027": (8589934592, 3.15, 3.09, 1.38997),
    "nccl/028": (1073741824, 231.72, 231.70, 210.99),
    "nccl/029": (1073741824, 182.80, 181.39, 150.209),
    "nccl/035": (8589934592, 328.85, 335.67, 120.248),
    "nccl/037": (536870912, 70.90, 71.35, 30.9622),
    "nccl/038": (2147483648, 444.31, 444.41, 79.9352),
    "nccl/039": (1073741824, 3.11, 3.12, 1.15327),
    "nccl/042": (2147483648, 468.60, 468.62, 114.556),
    "nccl/043": (17179869184, 471.22, 470.75, 464.075),
    "nccl/046": (4294967296, 191.05, 191.56, 113.289),
    "nccl/047": (4294967296, 43.26, 43.31, 43.2879),
    "nccl/048": (134217728, 122.57, 123.11, 19.7866),
    "nccl/049": (134217728, 5.43, 5.41, 1.58767),
    "nccl/059": (42949672960, 361.02, 363.40, None),
    "nccl/060": (2147483648, 0.0, 0.0, 0.0),
    "nccl/061": (2147483648, 6.88, 6.89, 3.37715),
    "nccl/064": (1073741824, 36.67, 45.14, 12.5463),
    "nccl/066": (8589934592, 260.03, 259.25, 59.3638),
    "rccl/001": (17179869184, 358.37, 358.24, None),
    "rccl/003": (17179869184, 357.46, 357.41, 92.3318),
    "rccl/004": (17179869184, 350.84, 350.50, None),
    "rccl/008": (1048576, 25.78, 25.72, None),
    "rccl/009": (17179869184, 361.13, 361.83, 133.643),
    "rccl/011": (134217728, 20.84, 24.21, 19.3738),
    "mccl/001": (1073741824, 64.39, 64.39, 29.5284),
    "mccl/002": (1073741824, 64.56, 64.56, 28.414),
}
# The first error, and words of its message.
ERRORS = {
    "nccl/022": ("inconsistent", "busbw / algbw"),
    "nccl/032": ("tool-failed", "Test failure common.cu:1127"),
    "nccl/033": ("tool-failed", "Test failure common.cu:1126"),
    "nccl/054": ("gpu-failed", "system not yet initialized"),
    "nccl/055": ("gpu-failed", "an illegal memory access was encountered"),
    "nccl/056": ("gpu-failed", "an illegal memory access was encountered"),
    "nccl/057": ("gpu-memory-errors", "uncorrectable ECC error encountered"),
    "nccl/060": ("too-few-ranks", "single rank"),
    "nccl/065": ("truncated", "closing lines without a table"),
    "nccl/067": ("invalid-argument", "invalid size specified for 'minbytes'"),
    "nccl/068": ("gpu-missing", "Invalid number of GPUs: 297"),
    "nccl/069": ("not-enough-slots", "requested more processes than the ppr"),
    "rccl/004": ("several-tables", "several runs"),
    "rccl/006": ("collective-failed", "unhandled cuda error"),
    # One row of the fifteen that its own argument line announces, and no closing line.
    "rccl/008": ("truncated", "no closing lines"),
    "rccl/012": ("no-table", ""),
    "rccl/013": ("no-table", ""),
    "rccl/014": ("connection-lost", "Connection reset by peer"),
}
OTHERS = {"nccom/001"}
RUNS = {
    "nccl/024": {"collective": "all_reduce", "nranks": 16, "library_version": "2.29.3+cuda13.1"},
    "nccl/009": {"nranks": 72},
    "nccl/011": {"nranks": 1440},
    "nccl/039": {"transports": ("OFI",), "network": "AWS Libfabric", "channels": 2, "nnodes": 2},
    "nccl/042": {"transports": ("NVLS",), "channels": 24},
    "nccl/025": {"nranks": 16, "nnodes": 2, "iterations": 20, "graph": False},
    "nccl/061": {"nranks": 2, "nnodes": 1, "gpus_per_process": 2},
    "nccl/048": {"nranks": 8, "nnodes": 2, "collective": "all_reduce"},
    "rccl/003": {"library": "RCCL", "library_version": "2.22.3-HEAD:7d8d67c", "nnodes": 2},
    "mccl/002": {"library": "MCCL", "library_version": "3.8.1", "collective": "all_gather"},
}
VERSIONS = {"nccl/017": "2.17.6", "nccl/024": "2.17.9", "nccl/068": "2.19.7",
            "rccl/001": "develop:a52452e", "rccl/003": "develop:448c4c7"}  # fmt: skip


def read(path):
    if not path.exists():
        pytest.skip(f"recorded output {path.name} is not beside this repository")
    return parse(path.read_bytes().decode("utf-8", "replace"))


def corpus(name):
    folder, number = name.split("/")
    paths = sorted((CORPUS / folder).glob(f"{number}-*"))
    if not paths:
        pytest.skip("the recorded outputs are not beside this repository")
    return read(paths[0])


def values(parsed, metric, size, placement):
    return [
        sample.value
        for sample in parsed.samples
        if (sample.metric, sample.size_bytes, sample.placement) == (metric, size, placement)
    ]


@pytest.mark.parametrize("name", sorted(BOTH))
def test_values_of_recorded_outputs_are_those_of_the_index(name):
    size, outer, inner, average = BOTH[name]
    parsed = corpus(name)
    assert outer in values(parsed, "busbw", size, "out_of_place")
    assert inner in values(parsed, "busbw", size, "in_place")
    assert parsed.summary.get("avg_busbw") == average
    assert {s.unit for s in parsed.samples if s.metric == "busbw"} == {"GB/s"}


@pytest.mark.parametrize("name", sorted(set(BOTH) - set(ERRORS)))
def test_sound_output_has_no_error(name):
    assert corpus(name).errors == ()


@pytest.mark.parametrize("name", sorted(ERRORS))
def test_an_error_in_a_recorded_output_is_named(name):
    kind, words = ERRORS[name]
    first = corpus(name).errors[0]
    assert first.kind == kind
    assert words in first.message


@pytest.mark.parametrize("name", sorted(set(ERRORS) - set(BOTH) - {"nccl/032", "nccl/033"}))
def test_an_output_with_an_error_gives_no_value(name):
    assert corpus(name).samples == ()


@pytest.mark.parametrize("name", sorted(RUNS))
def test_the_summary_names_the_run(name):
    summary = corpus(name).summary
    assert {key: summary.get(key) for key in RUNS[name]} == RUNS[name]


@pytest.mark.parametrize("name", sorted(VERSIONS))
def test_the_version_of_the_tool_is_read(name):
    assert corpus(name).tool_version == VERSIONS[name]


def test_no_file_of_the_corpus_is_forgotten():
    if not CORPUS.exists():
        pytest.skip("the recorded outputs are not beside this repository")
    found = {
        f"{folder}/{path.name.partition('-')[0]}"
        for folder in ("nccl", "rccl", "mccl", "nccom")
        for path in (CORPUS / folder).iterdir()
    }
    assert found == set(BOTH) | set(ERRORS) | OTHERS


def test_wrong_results_are_data_corruption():
    parsed = corpus("nccl/032")
    kinds = {problem.kind for problem in parsed.errors}
    assert {"data-corruption", "out-of-bounds", "too-few-ranks"} <= kinds
    assert values(parsed, "wrong", 33554432, "out_of_place") == [1.0]
    assert parsed.summary["out_of_bounds"] == 2


def test_an_average_below_the_tools_own_limit_is_an_error():
    assert "below-tool-limit" in {problem.kind for problem in corpus("nccl/033").errors}


def test_closing_lines_without_a_table_give_the_average_and_no_rows():
    parsed = corpus("nccl/065")
    assert (parsed.summary["avg_busbw"], parsed.summary["rows"]) == (22.2173, 0)


def test_a_table_of_several_types_keeps_them_all():
    parsed = corpus("nccl/059")
    assert 463.68 in values(parsed, "busbw", 10737418240, "out_of_place")
    assert parsed.summary["dtypes"] == ("float", "double", "bfloat16", "f8e4m3", "f8e5m2")


def test_joined_runs_keep_each_figure():
    assert 319.08 in values(corpus("rccl/004"), "busbw", 17179869184, "out_of_place")


def test_in_place_of_alltoall_is_not_checked():
    parsed = corpus("rccl/009")
    assert values(parsed, "wrong", 17179869184, "out_of_place") == [0.0]
    assert values(parsed, "wrong", 17179869184, "in_place") == []


def test_neuron_prints_one_side_in_binary_units():
    parsed = corpus("nccom/001")
    last = [s for s in parsed.samples if s.metric == "busbw"][-1]
    assert (last.size_bytes, last.value, last.unit, last.unit_means, last.placement) == (
        524288, 2.80, "GB/s", "GiB/s", None,
    )  # fmt: skip
    assert {s.unit_means for s in parsed.samples if s.metric == "algbw"} == {"GiB/s"}
    assert parsed.summary["avg_busbw"] == 0.2346
    assert parsed.errors == ()


@pytest.mark.parametrize(
    ("name", "rows", "largest", "average", "nranks"),
    [
        ("metax-mccl-allreduce-1node-8gpu-healthy.txt", 21, 65.08, 29.7818, 8),
        ("metax-mccl-allreduce-2node-16gpu-healthy.txt", 21, 73.24, 24.3851, 16),
        ("metax-mccl-allreduce-2node-16gpu-no-gdr.txt", 21, 7.96, 4.57073, 16),
        ("metax-mccl-allreduce-2node-2gpu-no-gdr.txt", 21, 12.50, 6.97858, 2),
        ("mi300x-rccl-allreduce-8gpu-graph.txt", 32, 319.22, 120.69, 8),
        ("mi300x-rccl-allreduce-8gpu.txt", 32, 318.98, 116.669, 8),
    ],
)
def test_transcripts_of_the_seeds_are_read(name, rows, largest, average, nranks):
    parsed = read(TRANSCRIPTS / name)
    bandwidths = [s for s in parsed.samples if (s.metric, s.placement) == ("busbw", "out_of_place")]
    assert (len(bandwidths), bandwidths[-1].value) == (rows, largest)
    assert len(parsed.samples) == rows * 8
    assert parsed.summary["avg_busbw"] == average
    assert parsed.summary["nranks"] == nranks
    assert sum(parsed.summary["gpus"].values()) == nranks
    assert parsed.problems == ()


@pytest.mark.parametrize(
    ("name", "out_of_place", "in_place"),
    [
        ("baseline", [390.09, 390.33, 389.95, 388.58, 390.13],
         [389.31, 390.36, 389.52, 390.88, 389.68]),
        ("eud", [250.87, 58.71, 32.77, 63.37, 387.9, 94.14, 203.03],
         [37.56, 80.2, 350.17, 37.51, 389.27, 92.12, 248.59]),
        ("tuned", [392.59, 391.99, 392.2, 392.56], [390.84, 390.98, 390.85, 390.96]),
        ("untuned", [337.05, 337.14, 159.57], [334.32, 280.42, 226.27]),
    ],
)  # fmt: skip
def test_excerpts_of_the_seeds_are_iterations_with_warnings(name, out_of_place, in_place):
    parsed = read(TRANSCRIPTS / f"h200-nccl-allreduce-8g-{name}.txt")
    assert values(parsed, "busbw", 8589934592, "out_of_place") == out_of_place
    assert values(parsed, "busbw", 8589934592, "in_place") == in_place
    iterations = [s.iteration for s in parsed.samples if s.metric == "time_us"][::2]
    assert iterations == list(range(len(out_of_place)))
    assert parsed.errors == ()
    assert "rows-elided" in {problem.kind for problem in parsed.problems}

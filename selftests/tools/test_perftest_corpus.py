"""Every recorded output of perftest, compared with its entry in the index."""

import pytest
from testing.places import SHARED

from railgauge.tools.perftest import parse

CORPUS = SHARED / "corpus" / "perftest"
TRANSCRIPTS = SHARED / "transcripts"

# Number of the file, then (metric, size, value, unit) from the index.
VALUES = {
    "001": [
        ("bw_average", 8388608, 24056.72, "MB/s"),
        ("msg_rate", 8388608, 0.003007, "Mpps"),
    ],
    "004": [
        ("bw_average", 2, 0.045291, "Gb/s"),
        ("bw_peak", 8388608, 197.48, "Gb/s"),
        ("bw_average", 8388608, 197.48, "Gb/s"),
        ("msg_rate", 8388608, 0.002943, "Mpps"),
    ],
    "006": [("bw_average", 65536, 92.57, "Gb/s")],
    "008": [("bw_average", 65536, 98.01, "Gb/s")],
    "011": [
        ("bw_average", 65536, 92.38, "Gb/s"),
        ("bw_average", 8388608, 92.39, "Gb/s"),
    ],
    "012": [("bw_average", 65536, 381.41, "Gb/s")],
    "013": [
        ("bw_average", 65536, 140.88, "Gb/s"),
        ("bw_average", 8388608, 140.40, "Gb/s"),
    ],
    "016": [
        ("lat_avg", 2, 1.60, "us"),
        ("lat_avg", 16384, 3.77, "us"),
        ("lat_p99", 16384, 3.92, "us"),
    ],
    "017": [("bw_peak", 16384, 0.0, "MiB/s"), ("bw_average", 16384, 23551.65, "MiB/s")],
    "018": [("bw_peak", 16384, 0.0, "MiB/s"), ("bw_average", 16384, 23547.97, "MiB/s")],
    "019": [
        ("bw_peak", 65536, 4555.12, "MB/s"),
        ("bw_average", 65536, 4554.89, "MB/s"),
        ("msg_rate", 65536, 0.072878, "Mpps"),
    ],
    "020": [("lat_avg", 2, 0.88, "us"), ("lat_stdev", 2, 0.05, "us")],
    "021": [("bw_average", 1048576, 9.23, "Gb/s")],
    "022": [
        ("lat_typical", 2, 16.77, "us"),
        ("lat_avg", 2, 52.07, "us"),
        ("lat_stdev", 2, 114.54, "us"),
    ],
    "023": [("lat_avg", 2, 14.37, "us"), ("lat_p99", 2, 15.85, "us")],
    "031": [
        ("bw_peak", 65536, 46567.34, "MiB/s"),
        ("bw_average", 65536, 46557.03, "MiB/s"),
        ("msg_rate", 65536, 0.744912, "Mpps"),
    ],
    "034": [
        ("bw_peak", 65536, 392.38, "Gb/s"),
        ("bw_average", 65536, 392.34, "Gb/s"),
        ("msg_rate", 65536, 0.748336, "Mpps"),
    ],
    "035": [("bw_average", 8388608, 19044.43, "MiB/s"), ("msg_rate", 8388608, 0.002381, "Mpps")],
    "036": [
        ("bw_average", 65536, 18682.46, "MiB/s"),
        ("bw_peak", 8388608, 19044.44, "MiB/s"),
        ("bw_average", 8388608, 19044.43, "MiB/s"),
    ],
    "037": [("lat_avg", 2, 3.88, "us"), ("tps", 2, 128993.46, "1/s")],
    "038": [
        ("bw_peak", 4096, 0.0, "MB/s"),
        ("bw_average", 4096, 11403.46, "MB/s"),
        ("msg_rate", 4096, 2.919285, "Mpps"),
    ],
    "039": [("bw_average", 65536, 363.47, "Gb/s"), ("msg_rate", 65536, 0.693268, "Mpps")],
    "040": [
        ("bw_peak", 8192, 10987.64, "MiB/s"),
        ("bw_average", 8192, 8909.75, "MiB/s"),
        ("msg_rate", 8192, 1.140448, "Mpps"),
    ],
    "041": [
        ("lat_avg", 2, 22.98, "us"),
        ("lat_max", 2, 1210.34, "us"),
        ("lat_avg", 8192, 19.67, "us"),
        ("lat_p99", 8192, 23.37, "us"),
    ],
    "042": [
        ("bw_peak", 65536, 5293.52, "MiB/s"),
        ("bw_average", 65536, 2229.27, "MiB/s"),
        ("msg_rate", 65536, 0.035668, "Mpps"),
    ],
    "045": [
        ("bw_peak", 1048576, 11133.60, "MB/s"),
        ("bw_average", 1048576, 11129.09, "MB/s"),
        ("msg_rate", 1048576, 0.011123, "Mpps"),
    ],
    "046": [("bw_average", 65536, 94.71, "Gb/s"), ("msg_rate", 65536, 0.180640, "Mpps")],
}
ERRORS = {
    "012": ("completion-error", "status 10 syndrom 0x88"),
    "025": ("peer-gone", "Couldn't read remote address"),
    "027": ("port-down", "Port number 1 state is Down"),
    "028": ("memory-registration", "Couldn't allocate MR"),
    "043": ("completion-error", "status 9 syndrom 0x8a"),
    "044": ("device-not-found", "IB device rxe2 not found"),
}
ITERATIONS = {"008": 20000, "021": 20000, "037": 1289984, "038": 8758300, "039": 4159603}
SWEEPS = {"004": 23, "011": 23, "013": 23, "036": 23, "012": 16, "016": 14, "017": 14, "040": 13}


def read(path):
    if not path.exists():
        pytest.skip(f"recorded output {path.name} is not beside this repository")
    return parse(path.read_bytes().decode("utf-8", "replace"))


def corpus(number):
    paths = sorted(CORPUS.glob(f"{number}-*"))
    if not paths:
        pytest.skip("the recorded outputs are not beside this repository")
    return read(paths[0])


@pytest.mark.parametrize("number", sorted(VALUES))
def test_values_of_recorded_outputs_are_those_of_the_index(number):
    found = {(s.metric, s.size_bytes, s.value, s.unit) for s in corpus(number).samples}
    assert set(VALUES[number]) <= found


@pytest.mark.parametrize("number", sorted(set(VALUES) - set(ERRORS)))
def test_sound_output_has_no_error(number):
    assert corpus(number).errors == ()


@pytest.mark.parametrize("number", sorted(ERRORS))
def test_an_error_in_a_recorded_output_is_named(number):
    parsed = corpus(number)
    kind, words = ERRORS[number]
    assert parsed.errors[0].kind == kind
    assert words in parsed.errors[0].message


@pytest.mark.parametrize("number", sorted(set(ERRORS) - set(VALUES)))
def test_an_output_with_an_error_gives_no_value(number):
    assert corpus(number).samples == ()


@pytest.mark.parametrize("number", sorted(ITERATIONS))
def test_iterations_are_read_by_size(number):
    assert list(corpus(number).summary["iterations"].values()) == [ITERATIONS[number]]


@pytest.mark.parametrize("number", sorted(SWEEPS))
def test_a_recorded_sweep_is_complete(number):
    assert corpus(number).summary["rows"] == SWEEPS[number]


def test_no_file_of_the_corpus_is_forgotten():
    if not CORPUS.exists():
        pytest.skip("the recorded outputs are not beside this repository")
    numbers = {path.name.partition("-")[0] for path in CORPUS.iterdir()}
    assert numbers == set(VALUES) | set(ERRORS)


def test_old_megabytes_are_binary():
    averages = [s for s in corpus("001").samples if s.metric == "bw_average"]
    assert [(s.unit, s.unit_means, s.iteration) for s in averages] == [
        ("MB/s", "MiB/s", 0),
        ("MB/s", "MiB/s", 1),
    ]


def test_repeated_rows_are_iterations():
    values = [(s.iteration, s.value) for s in corpus("006").samples if s.metric == "bw_average"]
    assert values == [(0, 92.57), (1, 92.57), (2, 92.57), (3, 92.56), (4, 92.57)]


def test_interleaved_sides_are_read_in_the_unit_of_the_figures():
    parsed = corpus("046")
    assert [p.kind for p in parsed.problems if p.kind == "unit-mismatch"] == ["unit-mismatch"]
    assert {s.unit for s in parsed.samples if s.metric == "bw_average"} == {"Gb/s"}


@pytest.mark.parametrize(
    ("name", "memory", "gpu", "largest"),
    [
        ("metax-ib_write_bw-host.txt", "host", None, 392.25),
        ("metax-ib_write_bw-gpu0-mlx5_0.txt", "maca", 0, 392.57),
        ("metax-ib_write_bw-gpu4-mlx5_1.txt", "maca", 4, 392.51),
    ],
)
def test_transcripts_of_the_seeds_are_read(name, memory, gpu, largest):
    parsed = read(TRANSCRIPTS / name)
    averages = [s for s in parsed.samples if s.metric == "bw_average"]
    assert (len(averages), averages[-1].size_bytes) == (23, 8388608)
    assert (averages[-1].value, averages[-1].unit) == (largest, "Gb/s")
    assert parsed.problems == ()
    assert (parsed.summary["memory"], parsed.summary.get("gpu")) == (memory, gpu)
    assert parsed.summary["command"] == "ib_write_bw"


def test_a_transcript_that_stops_after_its_first_row_gives_a_warning():
    parsed = read(TRANSCRIPTS / "cx4-ib_send_bw-truncated.txt")
    assert [(s.metric, s.value, s.unit) for s in parsed.samples] == [
        ("bw_peak", 7.79, "MiB/s"),
        ("bw_average", 7.40, "MiB/s"),
        ("msg_rate", 3.879797, "Mpps"),
    ]
    kinds = [(p.kind, p.severity) for p in parsed.problems]
    assert ("no-closing-line", "warning") in kinds
    assert ("relaxed-ordering", "warning") in kinds
    assert ("cpu-frequency", "warning") in kinds
    assert parsed.errors == ()

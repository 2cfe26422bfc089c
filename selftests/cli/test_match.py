"""Find the measurement that an output belongs to, from the output itself."""

import pytest
from testing.core_values import ROOT

from railgauge.cli.match import fits
from railgauge.config import thresholds
from railgauge.core.model import Parsed, Sample

GIB = 2**30


@pytest.fixture(scope="module")
def h200():
    return thresholds.load("h200", ROOT / "thresholds")


@pytest.fixture(scope="module")
def mi300x():
    return thresholds.load("mi300x", ROOT / "thresholds")


def output(algbw=100.0, busbw=187.5, **summary):
    """One row of a collective; all_reduce over 16 ranks has a ratio of 1.875."""
    rows = (
        Sample("algbw", "GB/s", algbw, GIB, placement="in_place"),
        Sample("busbw", "GB/s", busbw, GIB, placement="in_place"),
        Sample("busbw", "GB/s", 1.0, 8, placement="in_place"),
    )
    return Parsed("ccl-tests", None, rows, summary)


def listed(nodes, each=8, **summary):
    """An output that lists its ranks."""
    hosts = {f"n{index}": each for index in range(nodes)}
    return output(nranks=nodes * each, nnodes=nodes, gpus=hosts, **summary)


def found(platform, parsed):
    of_tool = [m for m in platform.measurements.values() if m.tool == parsed.tool]
    return {m.name for m in of_tool if fits(platform, m, parsed)}


@pytest.mark.parametrize(
    ("nodes", "name"),
    [(1, "node_all_reduce"), (2, "pair_all_reduce"), (3, "group_all_reduce"),
     (16, "group_all_reduce")],
)  # fmt: skip
def test_the_number_of_nodes_decides(h200, nodes, name):
    assert found(h200, listed(nodes, collective="all_reduce")) == {name}


@pytest.mark.parametrize("spelled", ["all_reduce", "all_reduce_perf"])
def test_one_gpu_a_node_is_another_measurement(h200, spelled):
    parsed = listed(2, each=1, collective=spelled)
    assert found(h200, parsed) == {"pair_all_reduce_one_gpu"}


@pytest.mark.parametrize("each", [2, 4, 7])
def test_less_than_a_whole_node_is_no_measurement_of_the_platform(h200, each):
    assert found(h200, listed(1, each, collective="all_reduce")) == set()
    assert found(h200, listed(2, each, collective="all_reduce")) == set()


@pytest.mark.parametrize(
    "collective", ["all_gather", "reduce_scatter", "alltoall", "sendrecv", "broadcast", "reduce"]
)
def test_every_collective_is_distinguished_from_the_others(h200, collective):
    assert found(h200, listed(1, collective=collective)) == {f"node_{collective}"}


def test_a_collective_that_the_platform_does_not_measure_fits_nothing(h200):
    assert found(h200, listed(1, collective="hypercube")) == set()


def test_a_graph_is_another_measurement(mi300x):
    assert found(mi300x, listed(1, collective="all_reduce", graph=1)) == {"node_all_reduce_graph"}
    assert found(mi300x, listed(1, collective="all_reduce", graph=0)) == {"node_all_reduce"}
    assert found(mi300x, listed(1, collective="all_reduce")) == {"node_all_reduce"}


# --- excerpts: rows alone ---


@pytest.mark.parametrize(
    ("ranks", "name"),
    [
        (8, "node_all_reduce"),
        (16, "pair_all_reduce"),
        (24, "group_all_reduce"),
        (32, "group_all_reduce"),
        (256, "group_all_reduce"),
    ],
)
def test_the_rows_of_an_all_reduce_say_how_many_ranks_there_were(h200, ranks, name):
    """busbw / algbw is 2(n-1)/n, and both are printed with two decimals."""
    excerpt = output(201.34, round(201.34 * 2 * (ranks - 1) / ranks, 2))
    assert found(h200, excerpt) == {name}


@pytest.mark.parametrize("ranks", [3, 4, 6])
def test_rows_of_fewer_ranks_than_a_node_has_gpus_fit_nothing(h200, ranks):
    assert found(h200, output(200.0, 200.0 * 2 * (ranks - 1) / ranks)) == set()


@pytest.mark.parametrize("ratio", [1.0, 0.875, 0.5])
def test_rows_that_could_be_of_several_collectives_fit_nothing(h200, ratio):
    assert found(h200, output(200.0, 200.0 * ratio)) == set()


@pytest.mark.parametrize("collective", ["all_gather", "reduce_scatter", "alltoall"])
def test_a_missing_number_of_nodes_is_not_guessed(h200, collective):
    every = {f"{scope}_{collective}" for scope in ("node", "pair", "group")}
    assert found(h200, output(200.0, 175.0, collective=collective)) == every


def test_no_rows_are_no_measurement(h200):
    assert found(h200, Parsed("ccl-tests", None, ())) == set()


def test_the_largest_row_decides_because_its_rounding_is_least(h200):
    rounded = (Sample("algbw", "GB/s", 0.01, 8), Sample("busbw", "GB/s", 0.01, 8))
    parsed = output()
    noisy = Parsed("ccl-tests", None, (*rounded, *parsed.samples))
    assert found(h200, noisy) == {"pair_all_reduce"}


# --- other tools ---


@pytest.mark.parametrize(
    ("summary", "name"),
    [
        ({}, "host_write_bandwidth"),
        ({"bidirectional": True}, "host_write_bandwidth_bidirectional"),
        ({"memory": "cuda"}, "gpu_write_bandwidth"),
    ],
)
def test_perftest_reports_its_memory_and_directions(h200, summary, name):
    parsed = Parsed("perftest", None, (), {"command": "ib_write_bw", **summary})
    assert found(h200, parsed) == {name}


def test_an_output_without_a_heading_fits_all_measurements_of_its_tool(h200):
    parsed = Parsed("nvbandwidth", None, ())
    assert found(h200, parsed) == {"gpu_copy_bandwidth", "gpu_host_bandwidth"}

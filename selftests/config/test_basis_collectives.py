"""The limits of collectives and GPU links, computed again from the recorded runs."""

import json
import random
import re
from functools import cache

import pytest
from testing.core_values import ROOT, SHARED, TRANSCRIPTS, needs_transcripts

from railgauge.config import thresholds
from railgauge.config.thresholds.limits import bound_at
from railgauge.tools import tool

LATENCY_BOUND = [2**exponent for exponent in range(10, 20)]
BANDWIDTH_BOUND = [2**exponent for exponent in range(20, 31)]
# A limit is written with three or four digits, and a derived one rounded to the safe side.
DIGITS = 0.006

METAX_NODE = "metax-mccl-allreduce-1node-8gpu-healthy.txt"
METAX_PAIR = "metax-mccl-allreduce-2node-16gpu-healthy.txt"
MI300X_NODE = "mi300x-rccl-allreduce-8gpu.txt"
MI300X_GRAPH = "mi300x-rccl-allreduce-8gpu-graph.txt"

# Platform, measurement, recorded run.
TABLES = (
    ("metax-c500", "node_all_reduce", METAX_NODE),
    ("metax-c500", "pair_all_reduce", METAX_PAIR),
)


@cache
def parsed(name, by="ccl-tests"):
    found = tool(by).parse((TRANSCRIPTS / name).read_text(encoding="utf-8"))
    assert not found.errors
    return found


def values(name, metric, size, by="ccl-tests"):
    """Out of place and in place."""
    return [s.value for s in parsed(name, by).samples if (s.metric, s.size_bytes) == (metric, size)]


@cache
def measurement_of(platform, name):
    return thresholds.load(platform, ROOT / "thresholds").measurements[name]


def limit(platform, name, metric, size=None):
    return thresholds.limit_for(measurement_of(platform, name), metric, None, size)


PLACEMENTS = {"busbw": (0, 1), "busbw/out_of_place": (0,), "busbw/in_place": (1,)}


def bandwidths_of(platform, name):
    """Size and metric (with its placement, if it names one) of every limited bandwidth."""
    return [(size, metric) for metric in PLACEMENTS for size in sizes_of(platform, name, metric)]


def sizes_of(platform, name, metric):
    """The sizes of a full sweep at which the platform limits the metric."""
    measurement = measurement_of(platform, name)
    sizes = measurement.extents["signoff"].sizes
    return [size for size in sizes if metric in measurement.asserted("size", size)]


@needs_transcripts
@pytest.mark.parametrize(("platform", "name", "run"), TABLES)
def test_bandwidths_are_90_percent_of_the_lower_of_both_placements(platform, name, run):
    asserted = bandwidths_of(platform, name)
    assert set(BANDWIDTH_BOUND) <= {size for size, _ in asserted}
    for size, metric in asserted:
        found = limit(platform, name, metric, size)
        both = values(run, "busbw", size)
        assert (len(both), found.unit) == (2, "GB/s")
        wanted = pytest.approx(0.9 * min(both[at] for at in PLACEMENTS[metric]), rel=DIGITS)
        assert bound_at(found.floor, size) == wanted, (size, metric)


@needs_transcripts
@pytest.mark.parametrize("name", ["node_all_reduce", "node_all_reduce_graph"])
def test_floors_of_an_mi300x_follow_from_both_runs_of_the_document(name):
    """From 1 GiB up 310 GB/s, the lower end of its range, less its own noise; below, the lowest."""
    runs = (MI300X_NODE, MI300X_GRAPH)
    sizes = [2**exponent for exponent in range(21, 35) if exponent != 22]
    printed = {size: [v for run in runs for v in values(run, "busbw", size)] for size in sizes}
    noise = {size: 1 - min(four) / max(four) for size, four in printed.items()}
    most = max(noise[size] for size in sizes if size >= 1 << 29)
    for size, four in printed.items():
        if size >= 1 << 30:
            wanted = 310 * (1 - most)
        else:
            wanted = min(four) * (1 - 3 * noise[size] if size >= 1 << 28 else 0.9)
        floor = bound_at(limit("mi300x", name, "busbw", size).floor, size)
        assert floor == pytest.approx(wanted, rel=DIGITS), size
        assert floor <= wanted


@needs_transcripts
@pytest.mark.parametrize("name", ["node_all_reduce", "node_all_reduce_graph"])
def test_in_place_at_4_mib_has_no_limit_since_two_healthy_runs_differ_by_more_than_half(name):
    in_place = [values(run, "busbw", 4 << 20)[1] for run in (MI300X_NODE, MI300X_GRAPH)]
    assert in_place == [56.92, 138.52]
    assert {m for size, m in bandwidths_of("mi300x", name) if size == 4 << 20} == {
        "busbw/out_of_place"
    }


@needs_transcripts
def test_an_out_of_place_run_that_falls_to_the_in_place_hiccup_is_rejected(railgauge, tmp_path):
    """Changes 141.91 to 52.50 GB/s, with the time and the average that belong to it."""
    text = (TRANSCRIPTS / MI300X_NODE).read_text(encoding="utf-8")
    log = tmp_path / "run.txt"
    asked = ("judge", "--root", ROOT, "--platform", "mi300x", "--tool", "ccl-tests", "--json", log)
    log.write_text(text, encoding="utf-8")
    healthy = _outcomes(railgauge(*asked)[1])
    assert "failed" not in healthy.values()
    slow = text.replace("51.72   81.09  141.91", "139.8   30.00   52.50")
    log.write_text(slow.replace(": 116.669", ": 115.272"), encoding="utf-8")
    changed = _outcomes(railgauge(*asked)[1])
    missed = [key for key, outcome in changed.items() if outcome == "failed"]
    assert missed == [("busbw/out_of_place", 4 * 2**20)]


def _outcomes(out):
    judged = json.loads(out)["judgements"]
    return {(one["metric"], one["size_bytes"]): one["outcome"] for one in judged}


@needs_transcripts
@pytest.mark.parametrize(
    ("platform", "name", "run"), [*TABLES, ("mi300x", "node_all_reduce_graph", MI300X_GRAPH)]
)
def test_times_are_125_percent_of_the_slower_of_both_placements(platform, name, run):
    sizes = sizes_of(platform, name, "time_us")
    assert set(LATENCY_BOUND) <= set(sizes)
    for size in sizes:
        found = limit(platform, name, "time_us", size)
        placements = values(run, "time_us", size)
        assert (len(placements), found.unit) == (2, "us")
        wanted = pytest.approx(1.25 * max(placements), rel=DIGITS, abs=0.1)
        assert bound_at(found.ceiling, size) == wanted, size


@pytest.mark.parametrize(("platform", "name", "run"), TABLES)
def test_every_size_of_the_sweep_is_asserted_by_bandwidth_or_by_time(platform, name, run):
    times = sizes_of(platform, name, "time_us")
    bandwidths = sorted({size for size, _ in bandwidths_of(platform, name)})
    assert sorted([*times, *bandwidths]) == list(
        measurement_of(platform, name).extents["signoff"].sizes
    )
    assert max(times) < min(bandwidths)


@needs_transcripts
@pytest.mark.parametrize(("platform", "name", "run"), TABLES)
def test_averages_are_90_percent_of_the_printed_one(platform, name, run):
    found = limit(platform, name, "avg_busbw")
    printed = parsed(run).summary["avg_busbw"]
    assert found.floor == pytest.approx(0.9 * printed, rel=DIGITS)
    assert str(printed) in found.basis.says


@needs_transcripts
def test_values_of_the_broken_paths_of_the_document_are_far_below_the_limits():
    for name, run in (
        ("pair_all_reduce", "metax-mccl-allreduce-2node-16gpu-no-gdr.txt"),
        ("pair_all_reduce_one_gpu", "metax-mccl-allreduce-2node-2gpu-no-gdr.txt"),
    ):
        size = 2**30
        floor = bound_at(limit("metax-c500", name, "busbw", size).floor, size)
        assert floor >= 2 * min(values(run, "busbw", size))


def test_a_group_of_metax_nodes_is_limited_by_what_a_pair_is():
    for size in BANDWIDTH_BOUND:
        pair, group = (
            bound_at(limit("metax-c500", f"{scope}_all_reduce", "busbw", size).floor, size)
            for scope in ("pair", "group")
        )
        assert group == pytest.approx(0.9 * pair, rel=DIGITS)
    for size in LATENCY_BOUND:
        pair, group = (
            bound_at(limit("metax-c500", f"{scope}_all_reduce", "time_us", size).ceiling, size)
            for scope in ("pair", "group")
        )
        assert group == pytest.approx(2 * pair, rel=DIGITS)


# --- h200: from the figures of document 001 ---

GIB8 = 8 * 2**30


@pytest.mark.parametrize(
    ("name", "metric", "figure"),
    [
        ("pair_all_reduce", "busbw", 388.58),
        ("group_all_reduce", "busbw", 388.58),
        ("node_all_reduce", "busbw", 482.559),
    ],
)
def test_h200_collectives_are_95_percent_of_the_slowest_healthy_figure(name, metric, figure):
    found = limit("h200", name, metric, GIB8)
    assert found.unit == "GB/s"
    assert bound_at(found.floor, GIB8) == pytest.approx(0.95 * figure, abs=0.06)
    assert bound_at(found.floor, GIB8) <= 0.95 * figure
    assert str(figure) in found.basis.says


@pytest.mark.parametrize("name", ["host_write_bandwidth", "gpu_write_bandwidth"])
def test_h200_ports_are_95_percent_of_the_health_check(name):
    platform = thresholds.load("h200", ROOT / "thresholds")
    measurement = platform.measurements[name]
    near = next(p for p in platform.pairings(measurement.memory) if p.distance != "far")
    found = thresholds.limit_for(measurement, "bw_average", near, 2**23)
    assert (found.unit, bound_at(found.floor, 2**23)) == ("Gb/s", pytest.approx(0.95 * 392))
    assert "392" in found.basis.says


@pytest.mark.skipif(
    not (SHARED / "seeds").is_dir(), reason="the documents are not beside this checkout"
)
def test_h200_figures_are_in_the_document():
    (path,) = (SHARED / "seeds").glob("001_*.txt")
    text = path.read_text(encoding="utf-8")
    for figure in ("388.58", "482.559 GB/s", "~392 Gbps"):
        assert figure in text
    healthy = re.findall(r"8589934592 .*float +sum +\d+\.?\d* +[\d.]+ +(39\d\.\d+|38\d\.\d+)", text)
    assert min(map(float, healthy)) >= 387


@needs_transcripts
@pytest.mark.parametrize("scope", ["pair", "group"])
def test_the_h200_floor_names_the_four_nodes_of_its_run_and_fits_two(scope):
    """The ratio of both bandwidths gives the number of GPUs: 2(n-1)/n is 1.9375 for 32."""
    run = "h200-nccl-allreduce-8g-baseline.txt"
    rows = zip(values(run, "busbw", GIB8), values(run, "algbw", GIB8), strict=True)
    assert {round(2 / (2 - busbw / algbw)) for busbw, algbw in rows} == {32}
    found = limit("h200", f"{scope}_all_reduce", "busbw", GIB8)
    assert "four nodes with 32 GPUs" in found.basis.says
    platform = thresholds.load("h200", ROOT / "thresholds")
    measurement = platform.measurements[f"{scope}_all_reduce"]
    for nodes in (2, 4, 64):
        best = thresholds.ideal(platform, measurement, None, found, nodes)
        assert best == 400
        assert found.floor == pytest.approx(0.92 * best, rel=0.01)


@needs_transcripts
def test_h200_limits_distinguish_the_documents_runs():
    floor = bound_at(limit("h200", "group_all_reduce", "busbw", GIB8).floor, GIB8)
    for run, healthy in (("baseline", True), ("tuned", True), ("untuned", False), ("eud", False)):
        found = values(f"h200-nccl-allreduce-8g-{run}.txt", "busbw", GIB8)
        assert (min(found) >= floor) is healthy, run


# --- mi300x: from the all-to-all of document 002 ---

A2A = "mi300x-transferbench-a2a.txt"


def printed(metric):
    return [s.value for s in parsed(A2A, "transferbench").samples if s.metric == metric]


def apart_by_direction():
    """The difference between the two directions of each link, as a share of their mean."""
    found = {
        s.placement: s.value for s in parsed(A2A, "transferbench").samples if s.metric == "link_bw"
    }
    pairs = [(found[f"gpu{a}>gpu{b}"], found[f"gpu{b}>gpu{a}"]) for a in range(8) for b in range(a)]
    return [abs(there - back) / ((there + back) / 2) for there, back in pairs]


def resampled(rng, noise):
    """A node's three link metrics if each of the document's links varies by noise."""
    links = [value * (1 + rng.gauss(0, noise)) for value in printed("link_bw")]
    gpus = [7 * min(links[7 * gpu : 7 * gpu + 7]) for gpu in range(8)]
    return {"link_bw": min(links), "gpu_actual": min(gpus), "average_bw": sum(links) / len(links)}


@needs_transcripts
@pytest.mark.parametrize("noise", [0.0022, 0.005])
def test_healthy_mi300x_nodes_that_vary_as_the_document_s_links_do_pass(noise):
    """With a floor of 45.0 GB/s, 63 % of the nodes whose links vary by 0.5 % failed."""
    rng = random.Random(12)
    floors = {
        metric: limit("mi300x", "gpu_link_bandwidth", metric).floor
        for metric in ("link_bw", "gpu_actual", "average_bw")
    }
    for _ in range(1000):
        worst = resampled(rng, noise)
        assert [metric for metric in floors if worst[metric] < floors[metric]] == []


@needs_transcripts
def test_a_mi300x_link_that_a_fault_slows_is_below_the_floor_by_far():
    """The lab's slow link has 60 % of its bandwidth; a tenth less is found on every link."""
    floor = limit("mi300x", "gpu_link_bandwidth", "link_bw").floor
    assert all(0.9 * value < floor for value in printed("link_bw"))


@needs_transcripts
def test_mi300x_links_follow_from_the_recorded_all_to_all():
    links, gpus, (average,) = printed("link_bw"), printed("gpu_actual"), printed("average_bw")
    assert (len(links), len(gpus)) == (56, 8)
    of = "gpu_link_bandwidth"
    apart = max(apart_by_direction())
    wanted = min(links) * (1 - 3 * apart)
    assert wanted - 0.1 < limit("mi300x", of, "link_bw").floor <= wanted
    assert limit("mi300x", of, "gpu_actual").floor == 7 * limit("mi300x", of, "link_bw").floor
    assert limit("mi300x", of, "gpu_actual").floor <= min(gpus)
    assert limit("mi300x", of, "average_bw").floor == pytest.approx(0.98 * average, rel=0.001)

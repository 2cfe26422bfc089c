"""Every number has a basis and follows from it.

The floors are computed again from the recorded tables, or from the values that a basis quotes.
"""

import re

import pytest
from testing.core_values import PLATFORMS, ROOT, SHARED, TRANSCRIPTS, long_form, needs_transcripts

from railgauge.config import thresholds
from railgauge.config.thresholds.limits import bound_at
from railgauge.core.units import parse_size
from railgauge.tools import tool

KINDS = {"derived", "datasheet", "standard", "site"}
TABLES = ("host", "gpu0-mlx5_0", "gpu4-mlx5_1")
SMALL = [2**exponent for exponent in range(1, 16)]
LARGE = [2**exponent for exponent in range(16, 24)]


def documents(name):
    return long_form(name)


def bases(value, path="$"):
    """Every basis of a platform file, with its location."""
    if isinstance(value, dict):
        if "basis" in value:
            yield path, value["basis"]
        for key, inner in value.items():
            yield from bases(inner, f"{path}/{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from bases(inner, f"{path}/{index}")


@pytest.mark.parametrize("name", PLATFORMS)
def test_every_basis_names_a_listed_document_or_its_derivation(name):
    doc = documents(name)
    known = set(doc["documents"]) | KINDS
    found = list(bases(doc))
    assert found
    assert [place for place, basis in found if basis["source"] not in known] == []


@pytest.mark.parametrize("name", PLATFORMS)
def test_every_expectation_limit_and_nic_has_a_basis(name):
    doc = documents(name)
    places = {place for place, _ in bases(doc)}
    wanted = {f"$/expected/{key}" for key in doc["expected"]}
    wanted |= {f"$/hardware/nics/{index}" for index, _ in enumerate(doc["hardware"]["nics"])}
    for key, measurement in doc["measurements"].items():
        wanted |= {
            f"$/measurements/{key}/limits/{i}" for i, _ in enumerate(measurement.get("limits", ()))
        }
        wanted |= {f"$/measurements/{key}/results"} if "results" in measurement else set()
    assert wanted <= places


def test_a_basis_with_an_unlisted_document_would_be_seen():
    doc = documents("metax-c500")
    doc["expected"]["acs"]["basis"]["source"] = "999"
    known = set(doc["documents"]) | KINDS
    assert [p for p, b in bases(doc) if b["source"] not in known] == ["$/expected/acs"]


# --- metax-c500: from the three tables of document 000 ---


@pytest.fixture(scope="module")
def tables():
    """``tables[which][size]``: average Gb/s of the recorded ib_write_bw runs."""
    found = {}
    for which in TABLES:
        text = (TRANSCRIPTS / f"metax-ib_write_bw-{which}.txt").read_text(encoding="utf-8")
        parsed = tool("perftest").parse(text)
        assert not parsed.errors
        found[which] = {s.size_bytes: s.value for s in parsed.samples if s.metric == "bw_average"}
        assert set(found[which]) == {*SMALL, *LARGE}
    return found


def floor(measurement, pairing, size):
    limit = thresholds.limit_for(measurement, "bw_average", pairing, size)
    assert limit.unit == "Gb/s"
    return bound_at(limit.floor, size)


def expected(tables, which, size):
    if size in LARGE:
        return 0.95 * tables[which][size]
    return 0.80 * min(table[size] for table in tables.values())


@needs_transcripts
@pytest.mark.parametrize(
    ("name", "distance", "which"),
    [
        ("host_write_bandwidth", "host", "host"),
        ("gpu_write_bandwidth", "near", "gpu0-mlx5_0"),
        ("gpu_write_bandwidth", "cross_rail", "gpu4-mlx5_1"),
    ],
)
def test_metax_floors_follow_from_the_recorded_tables(tables, name, distance, which):
    platform = thresholds.load("metax-c500", ROOT / "thresholds")
    measurement = platform.measurements[name]
    pairing = next(p for p in platform.paths(measurement) if p.distance == distance)
    for size in (*SMALL, *LARGE):
        # A floor is written with three or four digits.
        wanted = pytest.approx(expected(tables, which, size), rel=0.005)
        assert floor(measurement, pairing, size) == wanted, size


@needs_transcripts
def test_metax_node_paths_have_half_of_the_link_and_below_64_kib_half_of_the_slowest_table(tables):
    """Document 000 measured none of them."""
    platform = thresholds.load("metax-c500", ROOT / "thresholds")
    measurement = platform.measurements["gpu_write_bandwidth"]
    far = next(p for p in platform.paths(measurement) if p.distance == "far")
    for size in SMALL:
        wanted = 0.5 * min(table[size] for table in tables.values())
        assert floor(measurement, far, size) == pytest.approx(wanted, rel=0.005), size
    assert {floor(measurement, far, size) for size in LARGE} == {0.5 * 400}


@needs_transcripts
def test_metax_floors_leave_every_recorded_healthy_table_passing(tables):
    platform = thresholds.load("metax-c500", ROOT / "thresholds")
    for name, distance, which in (
        ("host_write_bandwidth", "host", "host"),
        ("gpu_write_bandwidth", "near", "gpu0-mlx5_0"),
        ("gpu_write_bandwidth", "cross_rail", "gpu4-mlx5_1"),
    ):
        measurement = platform.measurements[name]
        pairing = next(p for p in platform.paths(measurement) if p.distance == distance)
        for size, value in tables[which].items():
            assert value > floor(measurement, pairing, size)


@needs_transcripts
def test_metax_bases_quote_the_tables(tables):
    """Every '... Gb/s at 8 MiB' that a basis quotes is in the table that the basis refers to."""
    quoted = {
        float(figure)
        for _, basis in bases(documents("metax-c500"))
        for figure in re.findall(r"([\d.]+) Gb/s at 8 MiB", basis["says"])
    }
    assert quoted == {table[8388608] for table in tables.values()}


def test_metax_serving_accepts_runs_without_the_fault_of_the_document():
    """Two nodes at a tenth of one node's rate have the fault; at nine tenths they do not."""
    pair = thresholds.load("metax-c500", ROOT / "thresholds").measurements["pair_serving"]
    (scaling,) = [limit for limit in pair.limits if limit.metric == "scaling"]
    assert scaling.floor == 0.5
    # If the load limited the rate, the ratio would be 1 for any nodes.
    assert (pair.options["request_rate"], pair.options["max_concurrency"]) == ("inf", 32)


@needs_transcripts
def test_metax_reasons_do_not_contradict_the_document():
    """2.5 of 000 joins GPUs by MX, 5.1 names metax.ko; newer tables have a persistence mode."""
    matrix = (TRANSCRIPTS / "metax-mx-smi-topo.txt").read_text(encoding="utf-8")
    assert "MetaXLink" in matrix
    reasons = documents("metax-c500")["not_applicable"]
    for name in ("gpu_links", "gpu_link_count", "gpu_link_rate"):
        assert "topo -n (000, 2.5)" in reasons[name], name
    assert "metax.ko" in reasons["kernel_module"]
    assert "NVIDIA" not in reasons["gpu_persistence_mode"]


# --- connectx4-homelab: from the figures of document 004 ---

PLATEAU, SMALLEST, CEILING = 3776.9, 7.40, 3814.7
LATENCY_US = {"lat_avg": (1.15, 1.15), "lat_typical": (1.14, 1.15), "lat_max": (11.41, 2.0)}


@pytest.fixture(scope="module")
def homelab():
    return thresholds.load("connectx4-homelab", ROOT / "thresholds")


@pytest.mark.parametrize("name", ["host_send_bandwidth", "host_send_bandwidth_4qp"])
@pytest.mark.parametrize("size", LARGE)
def test_homelab_send_floors_are_95_percent_of_the_plateau(homelab, name, size):
    pairing = homelab.pairings("host")[0]
    found = floor_of(homelab.measurements[name], pairing, size)
    assert found == pytest.approx(0.95 * PLATEAU, rel=0.001)


def test_the_floor_of_the_smallest_message_follows_from_the_document(homelab):
    measurement, pairing = homelab.measurements["host_send_bandwidth"], homelab.pairings("host")[0]
    assert floor_of(measurement, pairing, 2) == pytest.approx(0.80 * SMALLEST, rel=0.001)


def test_homelab_small_floors_ask_for_less_than_the_printed_message_rate(homelab):
    measurement, pairing = homelab.measurements["host_send_bandwidth"], homelab.pairings("host")[0]
    for size in SMALL:
        at_constant_rate = min(3.88e6 * size / 2**20, PLATEAU)
        assert floor_of(measurement, pairing, size) < at_constant_rate


@pytest.mark.parametrize("name", ["host_write_bandwidth", "host_read_bandwidth"])
def test_homelab_write_and_read_are_90_percent_of_the_ceiling(homelab, name):
    pairing = homelab.pairings("host")[0]
    measurement = homelab.measurements[name]
    limit = thresholds.limit_for(measurement, "bw_average", pairing, 8388608)
    physical = thresholds.physical_ceiling(homelab, measurement, pairing, limit)
    assert physical == pytest.approx(CEILING, abs=0.05)
    assert floor_of(measurement, pairing, 8388608) == pytest.approx(0.9 * CEILING, rel=0.001)


@pytest.mark.parametrize("metric", LATENCY_US)
def test_latencies_of_the_homelab_follow_from_the_document(homelab, metric):
    figure, factor = LATENCY_US[metric]
    measurement = homelab.measurements["host_send_latency"]
    limit = thresholds.limit_for(measurement, metric, homelab.pairings("host")[0], 2)
    assert limit.unit == "us"
    assert limit.ceiling == pytest.approx(figure * factor, rel=0.005)
    assert f"{figure}" in limit.basis.says


def floor_of(measurement, pairing, size):
    limit = thresholds.limit_for(measurement, "bw_average", pairing, size)
    assert limit.unit == "MiB/s"
    return bound_at(limit.floor, size)


@pytest.mark.skipif(
    not (SHARED / "seeds").is_dir(), reason="the documents are not beside this checkout"
)
def test_homelab_figures_are_in_the_document():
    (path,) = (SHARED / "seeds").glob("004_*.txt")
    text = path.read_text(encoding="utf-8")
    for figure in ("3776.9 MiB/s", "7.40", "3.879797", "~1.15", "~1.14", "11.41", "1.06"):
        assert figure in text


@pytest.mark.parametrize("name", PLATFORMS)
def test_the_sizes_of_the_levels_are_those_of_the_tables(name):
    """perftest's sweep ends at 8 MiB; a larger size would have no basis."""
    for measurement in documents(name)["measurements"].values():
        if measurement["tool"] == "perftest":
            for extent in measurement["levels"].values():
                sizes = {parse_size(size) for size in extent["sizes"]}
                assert sizes
                assert sizes <= {*SMALL, *LARGE}


@pytest.mark.parametrize("name", PLATFORMS)
def test_only_a_service_may_be_judged_by_the_site_s_own_wishes(name):
    """Limits on hardware follow from a document, from physics, or from arithmetic on them."""
    doc = documents(name)
    wishes = [place for place, basis in bases(doc) if basis["source"] == "site"]
    rungs = {doc["measurements"][place.split("/")[2]]["rung"] for place in wishes}
    assert rungs <= {5}

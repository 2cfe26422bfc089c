"""A limit that finds no fault is bad input, unless a measurement or a signature supports it."""

import json
import shutil

import pytest
from testing.core_values import ROOT, long_form
from testing.loose_limits import complaints, limits_of

from railgauge.config import thresholds
from railgauge.config.thresholds import loose
from railgauge.planning import plan

PLATFORMS = thresholds.available(ROOT / "thresholds")
HOMELAB = "connectx4-homelab"
SIGNED = {"reason": "shared with storage until May", "who": "A. Engineer"}


def floors_changed(doc, change):
    """Change every floor, also those that are curves; the pointers of those that are compared."""
    found = {}
    for pointer, limit in limits_of(doc).items():
        if (floor := limit.get("floor")) is None or limit["unit"] == "us":
            continue
        points = floor["curve"] if isinstance(floor, dict) else None
        if points:
            limit["floor"] = {"curve": {size: change(value) for size, value in points.items()}}
        else:
            limit["floor"] = change(floor)
        found[pointer] = limit
    return found


@pytest.mark.parametrize("name", PLATFORMS)
def test_the_projects_platform_files_have_no_loose_limit(name):
    platform = thresholds.load(name, ROOT / "thresholds")
    assert list(plan.complaints(platform)) == []
    assert (list(loose.loose(platform)), platform.loose) == ([], ())


# The speed of a service is unknown, and so is how much a fabric slows a pair. The links of a C500
# are not declared: the average of its small messages is compared with the slowest possible link.
UNHELD = {"output_throughput", "scaling", "latency_impact", "bandwidth_impact"}
WEAKLY_HELD = {"/measurements/node_all_reduce/limits/2"}


@pytest.mark.parametrize("name", PLATFORMS)
@pytest.mark.parametrize("change", [lambda f: f / 10, lambda _: 1e-300], ids=["a tenth", "tiny"])
def test_a_floor_at_a_tenth_of_what_it_was_is_named(name, change):
    doc = long_form(name)
    changed = floors_changed(doc, change)
    pointers = {line.partition(":")[0] for line in complaints(doc)}
    held = {p for p, limit in changed.items() if limit["metric"] not in UNHELD}
    assert held - pointers <= (WEAKLY_HELD if name == "metax-c500" else set())
    assert pointers <= held


def test_a_file_of_a_site_lowers_no_inherited_floor(tmp_path):
    folder = tmp_path / "thresholds"
    shutil.copytree(ROOT / "thresholds", folder)
    low_one = {"floor": 28.8, "basis": "site: made up for a test"}
    own = {
        "schema_version": 1, "platform": "mine", "title": "Of a site", "extends": [HOMELAB],
        "measurements": {"host_write_bandwidth": {"limits": [low_one]}},
    }  # fmt: skip
    (folder / "mine.json").write_text(json.dumps(own), encoding="utf-8")
    (line,) = plan.complaints(thresholds.load("mine", folder))
    assert line.startswith("/measurements/host_write_bandwidth/limits/0: floor 28.8 MiB/s")


def test_a_complaint_names_the_place_the_numbers_and_the_remedy():
    doc = long_form(HOMELAB)
    doc["measurements"]["host_write_bandwidth"]["limits"][0]["floor"] = 28.8
    (line,) = complaints(doc)
    assert line == (
        "/measurements/host_write_bandwidth/limits/0: floor 28.8 MiB/s at 64KiB finds no fault: "
        "below 1907 MiB/s (mlx5_0: 3815 MiB/s); correct the number or its unit, name the measured "
        "value in the basis, or declare it with 'loose', a reason and a name "
        "(railgauge docs platform-files)"
    )


def test_floors_in_another_unit_are_named():
    """Gb/s were meant, and MiB/s written: half of the ceiling is 1907 MiB/s."""
    doc = long_form(HOMELAB)
    for limit in limits_of(doc).values():
        if limit["unit"] == "MiB/s":
            limit["floor"] = 28.8
    assert len(complaints(doc)) == 8


@pytest.mark.parametrize("size", ["2B", "4KiB", "64KiB", "1MiB", "8MiB"])
def test_one_absurd_point_of_a_curve_is_named(size):
    doc = long_form("metax-c500")
    for limit in doc["measurements"]["host_write_bandwidth"]["limits"]:
        if isinstance(limit["floor"], dict) and size in limit["floor"]["curve"]:
            limit["floor"]["curve"][size] /= 100
    assert any(f"at {size} finds no fault" in line for line in complaints(doc))


def test_a_floor_that_is_absurd_between_two_points_is_named():
    """No level measures at the points: the line between them is low at the sizes of the levels."""
    doc = long_form(HOMELAB)
    limit = doc["measurements"]["host_write_bandwidth"]["limits"][0]
    limit["sizes"] = ["64KiB", "8MiB"]
    limit["floor"] = {
        "curve": {"64KiB": 3433, "512KiB": 3433, "1MiB": 34, "2MiB": 3433, "8MiB": 3433}
    }
    (line,) = complaints(doc)
    assert "floor 34 MiB/s at 1MiB" in line
    limit["floor"]["curve"] = {"64KiB": 3433, "1100000B": 3433, "1200000B": 34, "8MiB": 3433}
    (line,) = complaints(doc)
    assert "floor 34 MiB/s at 1200000B" in line


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"ceiling": 1e12}, "above 10 times the 6.001 us that are derived from the hardware"),
        ({"ceiling": 61}, "above 10 times"),
        ({"dispersion": {"cv_max": 1.0}}, "cv_max 1 finds no fault"),
        ({"dispersion": {"worst_over_median_min": 0.01}}, "worst_over_median_min 0.01 finds no"),
        ({"dispersion": {"groups_apart_max": 0.99}}, "groups_apart_max 0.99 finds no fault"),
    ],
)
def test_a_latency_or_a_spread_that_nothing_misses_is_named(changes, says):
    doc = long_form(HOMELAB)
    doc["measurements"]["host_send_latency"]["limits"][0].update(changes)
    (line,) = complaints(doc)
    assert line.startswith("/measurements/host_send_latency/limits/0: ")
    assert says in line


@pytest.mark.parametrize(("ceiling", "count"), [(500, 0), (1e12, 1)])
def test_the_largest_latency_may_be_that_of_a_busy_host(ceiling, count):
    doc = long_form(HOMELAB)
    longest = doc["measurements"]["host_send_latency"]["limits"][2]
    assert longest["metric"] == "lat_max"
    longest["ceiling"] = ceiling
    assert len(complaints(doc)) == count


def test_a_time_of_a_collective_that_nothing_misses_is_named():
    doc = long_form("metax-c500")
    (limit,) = (
        one
        for one in doc["measurements"]["pair_all_reduce"]["limits"]
        if one["metric"] == "time_us"
    )
    limit["ceiling"]["curve"]["32KiB"] = 1e6
    assert any("ceiling 1e+06 us at 32KiB finds no fault" in line for line in complaints(doc))


@pytest.mark.parametrize("ceiling", [1e12, 1000.0])
def test_a_ceiling_far_above_what_the_hardware_carries_is_named(ceiling):
    doc = long_form("mi300x")
    for limit in doc["measurements"]["node_all_reduce"]["limits"]:
        if limit["metric"] == "busbw":
            limit["ceiling"] = ceiling
    (line,) = complaints(doc)
    assert "finds no wrong measurement: above 2 times 448 GB/s" in line


def test_a_ceiling_of_a_data_sheet_cannot_be_raised_past_its_floor():
    doc = long_form("h200")
    doc["measurements"]["gpu_matrix_bf16"]["limits"][0]["ceiling"] = 1e12
    (line,) = complaints(doc)
    assert line.startswith("/measurements/gpu_matrix_bf16/limits/0: floor 544 TFLOP/s finds no")


@pytest.mark.parametrize(
    ("group", "limit"),
    [
        ("pcie_corrected", {"per_hour": 1e12}),
        ("pcie_corrected", {"per_hour": 1845}),
        ("gpu_ecc_corrected", {"per_hour": 1e12}),
        ("gpu_ecc_uncorrected", {"ceiling": 1}),
        ("port_errors", {"per_hour": 1e12}),
        ("rdma_retransmits", {"ceiling": 10**12}),
        ("port_discards", {"per_hour": 1e12}),
        ("rdma_receiver_not_ready", {"per_hour": 1e12}),
    ],
)
def test_a_growth_above_the_standards_is_named(group, limit):
    doc = long_form("h200")
    doc["not_applicable"].pop(f"growth/{group}", None)
    doc["growth"][group] = {**limit, "basis": {"source": "site", "says": "made up for a test"}}
    (line,) = complaints(doc)
    assert line.startswith(f"/growth/{group}: ")


@pytest.mark.parametrize(
    ("name", "key", "changes"),
    [
        ("fabric_errors", "fabric", {"most": {"LinkDownedCounter": 1e12}}),
        ("fabric_errors_growth", "fabric", {"bit_error_rate": 1e-6}),
        ("host_write_bandwidth", "traffic", {"share": [0, 1.3]}),
        ("host_write_bandwidth", "traffic", {"share": [0.9, 1e12]}),
        ("pair_all_reduce", "traffic", {"spread": 1e6}),
    ],
)
def test_limits_of_counters_that_nothing_misses_are_named(name, key, changes):
    doc = long_form("h200")
    doc["measurements"][name][key].update(changes)
    (line,) = complaints(doc)
    assert line.startswith(f"/measurements/{name}/{key}: ")


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("clock", {"floor": 1}),
        ("clock", {"share": 1e-9}),
        ("temperature", {"ceiling": 1e12}),
        ("power", {"ceiling": 1e12}),
    ],
)
def test_limits_of_a_gpus_sensors_that_nothing_misses_are_named(name, changes):
    doc = long_form("h200")
    doc["telemetry"][name].update(changes)
    (line,) = complaints(doc)
    assert line.startswith(f"/telemetry/{name}: ")
    doc["telemetry"][name]["loose"] = SIGNED
    assert complaints(doc) == []


def test_a_packet_longer_than_any_driver_merges_is_named():
    doc = long_form("h100-tcpx")
    doc["measurements"]["pair_all_reduce"]["traffic"]["devmem_packet"] = 10**9
    (line,) = complaints(doc)
    assert "no packet is longer than 65536" in line


def test_a_part_far_behind_its_peers_is_named():
    doc = long_form(HOMELAB)
    basis = {"source": "site", "says": "made up for a test"}
    doc["peers"] = {"behind_peers_max": 99, "unit": "%", "basis": basis}
    (line,) = complaints(doc)
    assert line.startswith("/peers: a part may be 99% behind its peers")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"data_rate_gbps": 3200}, "data_rate_gbps 3200 is above its rate_gbps of 40"),
        ({"rate_gbps": 3200, "data_rate_gbps": 3200}, "no MT4115 is faster than 100"),
        ({"data_rate_gbps": 3.2}, "is below 80% of its rate_gbps of 40"),
        ({"pcie": {"generation": 6, "width": 16}}, "PCIe generation 6, but MT4115 has 3"),
    ],
)
def test_a_rate_that_no_card_of_the_model_has_is_named(changes, says):
    doc = long_form(HOMELAB)
    doc["hardware"]["nics"][0].update(changes)
    assert any(says in line for line in complaints(doc))


@pytest.mark.parametrize("rate", [4.5, 4500])
def test_a_link_that_no_gpu_of_the_model_has_is_named(rate):
    doc = long_form("h200")
    doc["hardware"]["gpus"]["link"]["gb_per_s"] = rate
    assert any("a link of NVIDIA H200 carries 450 GB/s" in line for line in complaints(doc))


def test_a_link_that_is_left_out_does_not_lower_what_a_known_gpu_reaches():
    doc = long_form("h200")
    floors_changed(doc, lambda floor: floor / 10)
    declared = {line.partition(":")[0] for line in complaints(doc)}
    doc["hardware"]["gpus"].pop("link")
    of_share = {p for p, limit in limits_of(doc).items() if limit.get("of") == "link"}
    assert declared - of_share <= {line.partition(":")[0] for line in complaints(doc)}


def test_retransmitted_tcp_packets_are_compared_with_all_packets(tmp_path):
    doc = long_form("tcp-lab")
    (limit,) = (one for one in limits_of(doc).values() if one["metric"] == "retransmits")
    limit["ceiling"] = 1e12
    (line,) = complaints(doc)
    assert "3.453e+04 packets are sent in all" in line

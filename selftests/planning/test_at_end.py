"""End-of-run checks without a limit are named, or have a reason."""

from dataclasses import replace

import pytest
from testing.core_values import ROOT, cluster

from railgauge.config import thresholds
from railgauge.config.thresholds.counter_groups import GROUPS
from railgauge.planning import at_end, soundness
from railgauge.planning.marks import marked_tests
from railgauge.planning.needs import Candidate, not_limited
from railgauge.planning.plan import level
from railgauge.verdict.decision import not_applicable

LOADED = {
    name: thresholds.load(name, ROOT / "thresholds")
    for name in ("connectx4-homelab", "h100-tcpx", "h200", "metax-c500", "mi300x")
}
H200, METAX, HOMELAB = (LOADED[name] for name in ("h200", "metax-c500", "connectx4-homelab"))
NODES = cluster("n1", "n2", "n3")
TESTS = (Candidate("memlock", "expects"),)


def listed(platform):
    return set(not_limited(platform, level(platform, NODES, "smoke"), TESTS)) - {"memlock"}


def reasons(platform, tests=TESTS):
    return not_applicable(platform, level(platform, NODES, "smoke"), tests)


@pytest.mark.parametrize("platform", LOADED.values(), ids=LOADED)
def test_each_limit_that_is_removed_is_listed(platform):
    assert listed(platform) == set()
    for name in platform.growth:
        others = {k: v for k, v in platform.growth.items() if k != name}
        assert listed(replace(platform, growth=others)) == {f"growth/{name}"}
    assert listed(replace(platform, growth=None)) == {"growth"}


@pytest.mark.parametrize("name", ["h200", "h100-tcpx", "mi300x", "metax-c500"])
def test_each_limit_on_samples_that_is_removed_is_listed(name):
    platform = LOADED[name]
    asked = platform.telemetry
    for one in asked.limited:
        kept = {n: most for n, most in asked.most.items() if n.replace(" ", "_") != one}
        gone = {"throttling": {"never": None}, "clock": {"clock": None}}.get(one, {"most": kept})
        assert f"telemetry/{one}" in listed(replace(platform, telemetry=replace(asked, **gone)))
    assert listed(replace(platform, telemetry=None)) == {"telemetry"}


def test_checks_that_no_tool_shows_have_a_reason_and_are_no_gap_of_the_platform_file():
    silent = replace(METAX, not_applicable={})
    unseen = {"growth/gpu_link_errors", "growth/gpu_pcie_replays", "growth/gpu_remapped_rows"}
    assert not unseen & listed(silent)
    assert {reasons(silent)[name] for name in unseen} == {
        "railgauge knows no tool of metax that shows these counters"
    }
    assert "mx-smi does not show it together" in reasons(silent)["telemetry/memory_temperature"]
    assert "telemetry/clock" in listed(silent)


def test_every_report_lists_errors_of_metaxlink_as_not_measured():
    assert reasons(METAX)["growth/gpu_link_errors"].startswith("NOT MEASURED: mx-smi mxlk")


def test_without_gpus_nothing_is_sampled_and_the_reason_is_reported():
    assert reasons(HOMELAB)["telemetry"] == "the platform declares no GPU"
    assert not any(name.startswith("growth/gpu") for name in reasons(HOMELAB))


def test_a_run_without_a_stored_list_of_its_tests_lists_nothing():
    """A bundle made before such lists were kept gives the same bytes."""
    assert "telemetry" not in reasons(HOMELAB, tests=())
    assert not_limited(replace(H200, growth=None), level(H200, NODES, "smoke"), ()) == ()


def complaints(platform, **reasons):
    both = replace(platform, not_applicable={**platform.not_applicable, **reasons})
    return [line for line in soundness.complaints(both, marked_tests(ROOT)) if "/not_app" in line]


def test_a_reason_needs_a_subject_that_exists_and_is_not_limited():
    assert complaints(H200) == []
    (line,) = complaints(H200, **{"growth/bits": "none"})
    assert line.endswith("no test under tests/ has this subject; remove it")
    for name in ("growth", "growth/port_errors", "telemetry", "telemetry/clock", "kernel_log"):
        (line,) = complaints(H200, **{name: "none"})
        assert line.endswith("is also measured or expected; remove one of the two"), name


def test_every_group_of_counters_has_a_subject():
    assert {f"growth/{name}" for name in GROUPS} < at_end.SUBJECTS

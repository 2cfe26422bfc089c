"""Input that cannot be used: one clear message, exit code 4, and no node is touched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from testing.acceptance import HOMELAB, SMOKE, Project, Run, Runs, Scenario, assert_clean

SSH = "cluster: real\nplatform: {platform}\nnodes: [n01, n02]\n"
UNMARKED = """
def test_of_nothing():
    assert True
"""


def platform(change: Callable[[dict[str, Any]], object]) -> Callable[[Project], None]:
    return lambda project: project.edit_platform("connectx4-homelab", change)


def measurement(name: str, change: Callable[[Any], object]) -> Callable[[Project], None]:
    return platform(lambda document: change(document["measurements"][name]))


def written(name: str, text: str) -> Callable[[Project], None]:
    def change(project: Project) -> None:
        project.write(name, text)

    return change


def scenario(change: Callable[[Project], None], *options: str, file: str = "") -> Scenario:
    hostfile = ("--hostfile", file) if file else HOMELAB
    return Scenario((*hostfile, *SMOKE, *options), change)


def nothing(project: Project) -> None:
    """The mistake is in the options."""


HOST_WRITE = "host_write_bandwidth"
THRESHOLDS = "thresholds/connectx4-homelab.json"
# The bad input, and words that the message must contain.
CASES: dict[str, tuple[Scenario, tuple[str, ...]]] = {
    "unknown-fault": (
        scenario(nothing, "--lab-fault", "gremlins"),
        ("unknown fault 'gremlins'", "slow-node"),
    ),
    "unknown-fault-node": (
        scenario(nothing, "--lab-fault", "governor@mars"),
        ("unknown node 'mars'", "viper, columbia, prometheus"),
    ),
    "unknown-fault-n2": (
        scenario(nothing, "--lab-fault", "gremlins", "-n", "2"),
        ("unknown fault 'gremlins'",),
    ),
    "fault-without-lab": (
        scenario(
            written("real.yaml", SSH.format(platform="connectx4-homelab")),
            "--lab-fault",
            "governor",
            file="real.yaml",
        ),
        ("real.yaml", "--lab-fault", "not ssh"),
    ),
    "hostfile-missing": (
        scenario(nothing, file="nowhere.yaml"),
        ("nowhere.yaml", "cannot be read"),
    ),
    "hostfile-broken": (
        scenario(written("h.yaml", "cluster: x\nnodes: [a, b\n"), file="h.yaml"),
        ("h.yaml:3", "not valid YAML"),
    ),
    "hostfile-key": (
        scenario(
            written("h.yaml", SSH.format(platform="connectx4-homelab") + "nods: x\n"), file="h.yaml"
        ),
        ("h.yaml", "nods"),
    ),
    "platform-unknown": (
        scenario(written("h.yaml", SSH.format(platform="abacus")), file="h.yaml"),
        ("unknown platform 'abacus'", "connectx4-homelab", "h200", "metax-c500"),
    ),
    "thresholds-broken": (
        scenario(written(THRESHOLDS, '{"a": 1,}')),
        (THRESHOLDS, "not valid JSON"),
    ),
    "thresholds-key": (
        scenario(platform(lambda document: document.update(surprise=1))),
        (THRESHOLDS, "unknown key 'surprise'"),
    ),
    "unit-unknown": (
        scenario(measurement(HOST_WRITE, lambda m: m["limits"][0].update(unit="furlong/s"))),
        ("/measurements/host_write_bandwidth/limits/0", "furlong/s"),
    ),
    "unit-of-another-kind": (
        scenario(measurement(HOST_WRITE, lambda m: m["limits"][0].update(unit="us"))),
        ("/measurements/host_write_bandwidth/limits/0", "bw_average", "us"),
    ),
    "limits-removed": (
        scenario(measurement(HOST_WRITE, lambda m: m.update(limits=[]))),
        ("bw_average at 64KiB", "bw_average at 1MiB", "bw_average at 8MiB", "has no limit"),
    ),
    "limit-removed": (
        scenario(measurement("host_send_latency", lambda m: m["limits"].pop(1))),
        ("host_send_latency: lat_typical at 2B", "has no limit"),
    ),
    "limit-removed-n2": (
        scenario(measurement("host_send_latency", lambda m: m["limits"].pop(1)), "-n", "2"),
        ("host_send_latency: lat_typical at 2B", "has no limit"),
    ),
    "limit-twice": (
        scenario(measurement(HOST_WRITE, lambda m: m["limits"].append(m["limits"][0]))),
        ("host_write_bandwidth", "has 2 limits"),
    ),
    "basis-removed": (
        scenario(measurement(HOST_WRITE, lambda m: m["limits"][0].pop("basis"))),
        (THRESHOLDS, "basis"),
    ),
    "unmarked": (
        scenario(written("tests/network/test_new.py", UNMARKED)),
        ("test_new.py::test_of_nothing: needs one mark",),
    ),
    "unmarked-n2": (
        scenario(written("tests/network/test_new.py", UNMARKED), "-n", "2"),
        ("test_new.py::test_of_nothing: needs one mark",),
    ),
}
SCENARIOS = {name: scenario for name, (scenario, _) in CASES.items()}


@pytest.fixture(params=SCENARIOS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def run(runs: Runs, name: str) -> Run:
    return runs[name]


def test_a_clear_message(run: Run, name: str) -> None:
    assert run.code == 4, run.output
    assert_clean(run)
    for word in CASES[name][1]:
        assert word in run.words, run.output
    assert sum("railgauge: " in line for line in run.output.splitlines()) == 1


def test_no_node_is_touched_and_nothing_is_accepted(run: Run) -> None:
    for name in ("verdict.json", "cluster.json", "environment.json", "transcripts"):
        assert not (run.latest / name).exists()
    assert "accepted" not in run.output.lower()
    assert "survey" not in run.output

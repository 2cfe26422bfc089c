"""Faults of the path: the items that check it fail, even if everything else looks healthy."""

from __future__ import annotations

import re

import pytest
from testing.acceptance import BARE_SMOKE, METAX, MI300X, TCPX, Run, Runs, Scenario, assert_sound
from testing.fewer import EXPECTED, measuring
from testing.places import ROOT

BETWEEN = ("tests/preflight/test_host.py", "tests/network", "tests/gpudirect", "tests/collective")
# Of the eight NICs below the collectives, the one that is idle in them.
BETWEEN += ("-k", "test_host or test_pairs or mlx5_3")
TCP = ("tests/preflight/test_host.py", "tests/network", "tests/collective")
PAIRS = "tests/collective/test_pairs.py::"


WITH_RDMA = ("host_write_bandwidth", "gpu_write_bandwidth", "pair_all_reduce")
FEW = {
    MI300X: measuring("mi300x", *WITH_RDMA, expected=(*EXPECTED, "peer_memory")),
    METAX: measuring("metax-c500", *WITH_RDMA, expected=(*EXPECTED, "peer_memory")),
    TCPX: measuring("h100-tcpx", "host_tcp_bandwidth", "pair_all_reduce"),
}


def fault(lab: tuple[str, str], name: str, *places: str) -> Scenario:
    options = (*lab, *BARE_SMOKE, "--lab-nodes", "2", "--no-gates", "--lab-fault", name, *places)
    return Scenario(options, FEW[lab])


MEASURABLE = {
    "mi300x-tcp": fault(MI300X, "tcp-fallback", *BETWEEN),
    "mi300x-idle": fault(MI300X, "nic-idle@mi02:mlx5_3", *BETWEEN),
    "tcpx-tcp": fault(TCPX, "tcp-fallback", *TCP),
    "tcpx-idle": fault(TCPX, "nic-idle@tcpx02:eth3", *TCP),
    "metax-gdr": fault(METAX, "gdr-disabled@mx02"),
}
# On this platform rung 2 cannot be measured either.
NO_REGISTRATION = fault(
    MI300X, "gdr-disabled@mi02", "-k", "peer_memory or gpu_write or (test_pairs and all_reduce)"
)
SCENARIOS = {**MEASURABLE, "mi300x-gdr": NO_REGISTRATION}


def pair_items(run: Run, *names: str) -> set[str]:
    """The items of these tests; there must be some."""
    found = {i for i in run.outcomes if i.startswith(PAIRS) and i[len(PAIRS) :].startswith(names)}
    assert len(found) >= len(names)
    return found


@pytest.fixture(params=MEASURABLE)
def run(request: pytest.FixtureRequest, runs: Runs) -> Run:
    return runs[request.param]


@pytest.mark.parametrize("page", ["README.md", "docs/reports.md"])
def test_the_cause_that_pages_show_is_what_its_run_prints(runs: Runs, page: str) -> None:
    *lines, last = cause_in((ROOT / page).read_text(encoding="utf-8"))
    printed = cause_in(runs["metax-gdr"].stdout)
    assert len(lines) > 4
    assert [line for line in lines if line not in printed] == [], printed
    assert any(line.startswith(last.removesuffix(", ...")) for line in printed)


def cause_in(text: str) -> list[str]:
    """The lines of the first cause, without their labels: pages leave some of them out."""
    (found,) = re.findall(r"^cause 1: .*\n(?:    .*\n)+", text, re.MULTILINE)
    return [re.sub(r"^    (?:[\w ]+:)? *", "", line) for line in found.splitlines()]


def test_rejected(run: Run) -> None:
    assert_sound(run)
    assert run.code == 1
    assert run.verdict["verdict"] == "rejected"
    assert not run.with_outcome("blocked")
    assert not run.with_outcome("error")


def test_the_rungs_below_see_nothing_of_it(run: Run) -> None:
    below = {i for i in run.outcomes if i.startswith(("tests/network/", "tests/gpudirect/"))}
    assert any("traffic" in item_id for item_id in below)
    assert below <= run.with_outcome("passed")


@pytest.mark.parametrize("name", ["mi300x-tcp", "tcpx-tcp"])
def test_sockets_are_another_transport_and_leave_the_nics_idle(runs: Runs, name: str) -> None:
    run = runs[name]
    transport = pair_items(run, "test_all_reduce_transport[")
    traffic = pair_items(run, "test_traffic[pair_all_reduce-")
    assert transport | traffic | pair_items(
        run, "test_collective[pair_all_reduce-"
    ) <= run.with_outcome("failed")
    for item_id in transport:
        assert "the log names Socket" in run.junit[item_id].message
    for item_id in traffic:
        assert "carried 0% of the payload" in run.junit[item_id].message


@pytest.mark.parametrize(
    ("name", "node", "nic", "others"),
    [("mi300x-idle", "mi02", "mlx5_3", "mi01"), ("tcpx-idle", "tcpx02", "eth3", "tcpx01")],
)
def test_an_idle_nic_is_named(runs: Runs, name: str, node: str, nic: str, others: str) -> None:
    run = runs[name]
    (traffic,) = pair_items(run, "test_traffic[pair_all_reduce-")
    assert traffic in run.with_outcome("failed")
    message = run.junit[traffic].message
    assert f"{nic} of {node} carried 0 GB" in message
    assert f"of {others} carried" not in message
    assert pair_items(run, "test_all_reduce_transport[") <= run.with_outcome("passed")


def test_gpu_memory_that_cannot_be_registered_is_an_error_of_rung_2(runs: Runs) -> None:
    run = runs["mi300x-gdr"]
    assert_sound(run)
    assert run.code == 1
    rung_2 = {i for i in run.outcomes if i.startswith("tests/gpudirect/")}
    assert rung_2 == run.with_outcome("error")


@pytest.mark.parametrize(("name", "node"), [("mi300x-gdr", "mi02"), ("metax-gdr", "mx02")])
def test_the_way_through_host_memory_is_no_gpudirect(runs: Runs, name: str, node: str) -> None:
    """The right NICs carry the traffic, so only the log and the bandwidth show the fault."""
    run = runs[name]
    failed = run.with_outcome("failed")
    transport = pair_items(run, "test_all_reduce_transport[")
    assert transport | pair_items(run, "test_collective[pair_all_reduce-") <= failed
    for item_id in transport:
        assert "does not name GDRDMA" in run.junit[item_id].message
    assert pair_items(run, "test_traffic[pair_all_reduce-") <= run.with_outcome("passed")
    assert f"tests/preflight/test_gpus.py::test_peer_memory[{node}]" in failed

"""The machines of document 004: their parts differ, and their adapters sit in slots of 16 lanes."""

from __future__ import annotations

from typing import Any

import pytest
from testing.acceptance import BARE_SMOKE, HOMELAB, Run, Runs, Scenario

# Each machine differs from the other two in something that a homelab need not have alike.
UNLIKE = ("cpu-model@viper", "memory-missing@columbia", "version@prometheus:bios")
FAULTS = [word for fault in UNLIKE for word in ("--lab-fault", fault)]
SCENARIOS = {"unlike": Scenario((*HOMELAB, *BARE_SMOKE, *FAULTS))}


@pytest.fixture
def unlike(runs: Runs) -> Run:
    return runs["unlike"]


def test_machines_that_need_not_be_alike_are_accepted(unlike: Run) -> None:
    assert unlike.code == 0, unlike.stdout
    assert unlike.verdict["verdict"] == "accepted"
    assert not unlike.verdict["causes"]
    for fact in ("cpu_model", "memory_mib", "bios"):
        assert len({facts[fact] for facts in machines(unlike)}) == 2, fact


def test_a_slot_of_more_lanes_than_the_rate_needs_is_no_fault(unlike: Run) -> None:
    assert {facts["nics"][0]["pcie_width"] for facts in machines(unlike)} == {16}
    judged = {name: outcome for name, outcome in unlike.items.items() if "pcie_link" in name}
    assert set(judged.values()) == {"passed"}
    assert len(judged) == 3


def machines(run: Run) -> list[dict[str, Any]]:
    return [node["facts"] for node in run.environment["nodes"].values()]

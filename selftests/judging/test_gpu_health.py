"""A recorded node of eight H200: healthy, and with each fault that preflight judges.

What is changed is what nvidia-smi prints; what is asked is what the ladder asks.
"""

from __future__ import annotations

import pytest
from testing.places import ROOT

from railgauge.config import thresholds
from railgauge.core.errors import FactMissing
from railgauge.core.model import Outcome
from railgauge.facts import NodeFacts
from railgauge.judging.expectation import judge_at
from railgauge.planning import expectations
from railgauge.stacks import Section, stack

RECORDED = ROOT.parent / "shared/corpus/nvidia-smi/019-q-x-xml-h200-8gpu-v13.txt"
H200 = thresholds.load("h200", ROOT / "thresholds")
# The lines of ``nvidia-smi -q`` for one GPU.
OF_Q = (
    "gpu_model", "gpu_memory", "gpu_ecc_errors", "gpu_ecc_mode", "gpu_row_remap",
    "gpu_remap_failure", "gpu_remapped_rows", "gpu_power_limit", "gpu_clock_max",
    "gpu_pcie_generation", "gpu_pcie_width", "gpu_fabric_state", "gpu_mig", "gpu_vbios",
    "gpu_device_id",
)  # fmt: skip


@pytest.fixture(scope="module")
def recorded() -> str:
    if not RECORDED.is_file():
        pytest.skip("the recorded outputs are not beside this project (../shared)")
    return RECORDED.read_text(encoding="utf-8")


def outcomes(printed: str) -> dict[str, str]:
    """Expectation -> outcome for GPU 0; ``not known`` for an error."""
    facts = stack("nvidia").parse({"nvidia-smi-q": Section("nvidia-smi-q", printed)})
    found = {"n1": NodeFacts("n1", gpus=facts.gpus, missing=facts.missing)}
    return {name: _outcome(name, found) for name in OF_Q}


def _outcome(name: str, found: dict[str, NodeFacts]) -> str:
    at = expectations.fact_at(H200, name, "n1", {"gpu": 0})
    try:
        return judge_at(at, H200.expected[name], H200, found).outcome.value
    except FactMissing:
        return "not known"


def test_the_recorded_gpus_are_as_declared(recorded: str) -> None:
    assert set(outcomes(recorded).values()) == {Outcome.PASSED.value}


SICK = {
    "gpu_remap_failure": ("<remapped_row_failure>No", "<remapped_row_failure>Yes"),
    "gpu_row_remap": ("<remapped_row_pending>No", "<remapped_row_pending>Yes"),
    "gpu_remapped_rows": ("<remapped_row_unc>0", "<remapped_row_unc>512"),
    "gpu_power_limit": ("<current_power_limit>700.00 W", "<current_power_limit>350.00 W"),
    "gpu_mig": ("<current_mig>Disabled", "<current_mig>Enabled"),
    "gpu_vbios": ("<vbios_version>96.00.D9.00.02", "<vbios_version>96.00.74.00.1C"),
    "gpu_ecc_mode": ("<current_ecc>Enabled", "<current_ecc>Disabled"),
    "gpu_pcie_generation": ("<current_link_gen>5", "<current_link_gen>4"),
    "gpu_pcie_width": ("<current_link_width>16x", "<current_link_width>8x"),
    "gpu_fabric_state": ("<state>Completed", "<state>In Progress"),
    "gpu_model": ("<product_name>NVIDIA H200", "<product_name>NVIDIA H20"),
    "gpu_device_id": ("<pci_device_id>233510DE", "<pci_device_id>233010DE"),
}


@pytest.mark.parametrize("name", SICK)
def test_one_thing_wrong_fails_its_expectation_and_no_other(recorded: str, name: str) -> None:
    good, bad = SICK[name]
    assert good in recorded
    found = outcomes(recorded.replace(good, bad, 1))
    assert {one for one, outcome in found.items() if outcome == Outcome.FAILED.value} == {name}


@pytest.mark.parametrize("name", sorted({*OF_Q} - {"gpu_model"}))
def test_values_that_the_tool_does_not_print_are_unknown(recorded: str, name: str) -> None:
    """Neither for one GPU nor for all: equal values on all GPUs do not prove health."""
    found = outcomes(_without(recorded, *SILENT[name]))
    assert found[name] == "not known"


SILENT = {
    "gpu_memory": ("fb_memory_usage",),
    "gpu_ecc_errors": ("ecc_errors",),
    "gpu_ecc_mode": ("ecc_mode",),
    "gpu_row_remap": ("remapped_rows", "retired_pages"),
    "gpu_remap_failure": ("remapped_rows",),
    "gpu_remapped_rows": ("remapped_rows",),
    "gpu_power_limit": ("gpu_power_readings",),
    "gpu_clock_max": ("max_clocks",),
    "gpu_pcie_generation": ("pci_gpu_link_info",),
    "gpu_pcie_width": ("pci_gpu_link_info",),
    "gpu_fabric_state": ("fabric",),
    "gpu_mig": ("mig_mode",),
    "gpu_vbios": ("vbios_version",),
    "gpu_device_id": ("pci_device_id",),
}


def _without(printed: str, *elements: str) -> str:
    for name in elements:
        assert f"<{name}>" in printed
        printed = printed.replace(f"<{name}>", f"<not_{name}>").replace(
            f"</{name}>", f"</not_{name}>"
        )
    return printed

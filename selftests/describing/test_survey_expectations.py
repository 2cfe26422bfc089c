"""What a new platform file expects: no faults, and a site's settings if a node has them."""

from dataclasses import replace

import pytest
from testing.surveyed import alike, loaded, made_of, seen

from railgauge.describing.choice import SiteAnswers, chosen
from railgauge.describing.expectations import candidates, kept
from railgauge.stacks import stack

NAMES = ("n1", "n2", "n3")


def expected(facts, answers=None):
    answers = answers or SiteAnswers()
    asked = candidates(chosen(facts, seen(facts), answers), stack("nvidia"), facts, answers)
    names, notes = kept(loaded(made_of(facts, answers), expected=asked), facts)
    return set(names), "\n".join(notes)


def of_nics(facts, **changes):
    return {
        name: replace(one, nics=tuple(replace(nic, **changes) for nic in one.nics))
        for name, one in facts.items()
    }


def of_gpus(facts, **changes):
    return {
        name: replace(one, gpus=tuple(replace(gpu, **changes) for gpu in one.gpus))
        for name, one in facts.items()
    }


def test_a_good_fact_is_expected_without_a_note():
    names, notes = expected(alike(*NAMES))
    assert {"cpu_governor", "port_state", "link_rate", "gpu_count", "gpu_nic_link"} <= names
    assert "NOT AS IT SHOULD BE" not in notes


def test_a_fact_that_no_node_reports_is_noted_and_not_expected():
    names, notes = expected(alike(*NAMES))
    assert "gpu_mig" not in names
    assert "not reported by these nodes, so not expected: " in notes
    assert "gpu_mig" in notes


def test_a_reason_that_can_be_mended_has_a_line_of_its_own():
    facts = alike(*NAMES, bios=None, missing={"bios": "dmidecode: command not found (exit 127)"})
    names, notes = expected(facts)
    assert "bios" not in names
    assert "not readable here, so not expected: bios (" in notes


def test_a_setting_that_no_node_has_is_noted_and_left_to_the_site():
    names, notes = expected(alike(*NAMES, governors=("powersave",)))
    assert "cpu_governor" not in names
    assert "NOT AS IT SHOULD BE cpu_governor on n[1-3]" in notes
    assert "not expected until you add it" in notes


def test_a_setting_that_some_nodes_lack_is_expected_of_all():
    facts = alike(*NAMES) | alike("n2", governors=("powersave",))
    names, notes = expected(facts)
    assert "cpu_governor" in names
    assert "NOT AS IT SHOULD BE cpu_governor on n2" in notes


@pytest.mark.parametrize(
    ("facts", "name"),
    [
        (of_gpus(alike(*NAMES), ecc_uncorrected=3), "gpu_ecc_errors"),
        (of_gpus(alike(*NAMES), remap_pending=True), "gpu_row_remap"),
        (of_gpus(alike(*NAMES), links_up=17), "gpu_links"),
        (of_nics(alike(*NAMES), physical_state="Polling"), "physical_state"),
        (of_nics(alike(*NAMES), sm_lid=0), "subnet_manager"),
        (alike(*NAMES, gpu_processes=("a job",)), "gpu_processes"),
        (alike(*NAMES, machine_id="one"), "machine_id"),
    ],
)
def test_a_fault_of_every_node_is_not_expected(facts, name):
    """The survey is of the nodes that the file will judge: their faults are no standard."""
    names, notes = expected(facts)
    assert name in names
    assert f"NOT AS IT SHOULD BE {name}" in notes
    assert "expected anyway" in notes


def test_versions_that_differ_are_noted_and_expected_to_be_alike():
    names, notes = expected(alike(*NAMES) | alike("n2", kernel="5.15"))
    assert "kernel" in names
    assert "NOT AS IT SHOULD BE kernel on" in notes


def test_an_mtu_of_roce_is_the_one_found():
    facts = of_nics(alike(*NAMES), link_layer="Ethernet", active_mtu_bytes=1024)
    answers = SiteAnswers()
    asked = candidates(chosen(facts, seen(facts), answers), stack("nvidia"), facts, answers)
    assert asked["active_mtu"] == {"equals": 1024, "basis": "survey"}


def test_a_rate_that_the_site_gave_is_not_compared_with_the_nic():
    facts = alike(*NAMES)
    answers = SiteAnswers(rates={f"mlx5_{i}": 100.0 for i in range(8)})
    names, _ = expected(facts, answers)
    assert "link_rate" not in names
    assert "link_rate" in made_of(facts, answers).document["not_applicable"]


def test_one_kernel_has_one_boot_id():
    facts = {name: replace(one, boot_id="one") for name, one in alike(*NAMES).items()}
    names, _ = expected(facts, SiteAnswers(one_kernel=True))
    assert not {"boot_id", "machine_id"} & names

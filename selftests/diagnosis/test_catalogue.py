"""Each cause of the contract is in the catalogue with its meaning, remedy and basis."""

import re

import pytest
from testing.diagnose_scenes import ROOT, platform

from railgauge.cli import main
from railgauge.diagnosis import CATALOGUE, reach
from railgauge.diagnosis.catalogue import SUBJECTS
from railgauge.diagnosis.catalogue.effect import PORT_FACTS, Effect, Harm
from railgauge.diagnosis.facts import doubles, host

CONTRACT = {
    "background-gpu-diagnostics", "collective-tuning-missing", "link-error-rate", "link-down",
    "link-rate-degraded", "gpudirect-rdma-disabled", "peer-memory-module-missing", "slow-gpu-link",
    "numa-balancing-enabled", "acs-enabled", "cpu-governor", "nic-idle", "wrong-transport",
    "slow-node", "gpu-missing", "nic-missing", "pcie-degraded", "gpu-memory-errors",
    "memlock-limited", "subnet-manager-missing", "mtu-mismatch", "firmware-mismatch",
    "node-unreachable", "tool-missing",
}  # fmt: skip
PLATFORMS = sorted(path.stem for path in (ROOT / "thresholds").glob("*.json"))


def test_each_cause_of_the_contract_is_in_the_catalogue():
    assert set(CATALOGUE) >= CONTRACT


def test_each_cause_is_in_the_file_of_one_subject():
    names = [name for kinds in SUBJECTS for name in kinds]
    assert names == list(CATALOGUE)


@pytest.mark.parametrize("name", CATALOGUE)
def test_each_cause_has_a_meaning_a_remedy_and_a_basis(name):
    kind = CATALOGUE[name]
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", name)
    assert kind.means
    assert kind.remedy
    assert re.match(r"(00[0-4]|derived|standard): \S", kind.basis)
    assert not kind.means.endswith(".")
    assert not kind.remedy.endswith(".")


def documents():
    known = set()
    for name in PLATFORMS:
        if name != "schema":
            path = ROOT / "thresholds" / f"{name}.json"
            known |= set(re.findall(r'"(00\d)": ["\[]', path.read_text(encoding="utf-8")))
    return known


def test_bases_name_only_documents_of_the_platform_files():
    printed = {
        number for kind in CATALOGUE.values() for number in re.findall(r"\b00\d\b", kind.basis)
    }
    assert printed <= documents()


def test_leftover_causes_explain_no_measurement():
    for name in ("undiagnosed", "suite-error", "tool-failing"):
        assert (
            not CATALOGUE[name].effect.reach
            | CATALOGUE[name].effect.facts
            | CATALOGUE[name].effect.symptoms
        )


def test_causes_of_settings_fold_and_those_of_parts_do_not():
    folding = {name for name, kind in CATALOGUE.items() if kind.folds}
    assert {"cpu-governor", "memlock-limited", "gpudirect-rdma-disabled"} <= folding
    assert not {name for name in folding if name.startswith(("slow", "link", "nic", "node"))}


def test_each_expectation_of_each_platform_has_a_rule():
    ruled = {
        *host._BY_SUBJECT, *PORT_FACTS, "nic_present", "netdev_present", "gpu_count",
        "kernel_module", "peer_memory", "mm_kobj", "gpu_processes",
        *doubles._CAUSES, *doubles._OF_CPUS,
    }  # fmt: skip
    expected = {n for name in PLATFORMS if name != "schema" for n in platform(name).expected}
    assert expected <= ruled
    assert set(host._BY_SUBJECT.values()) <= set(CATALOGUE)


def test_a_cause_without_declared_effects_explains_nothing():
    assert Effect(Harm.SETTING) == Effect(Harm.SETTING, frozenset(), frozenset(), "", frozenset())
    assert reach.nodes_of("a|mx[01-02]") == {"a", "mx01", "mx02"}


# --- the command ---


def railgauge(capsys, *argv):
    try:
        code = main(list(argv))
    except SystemExit as left:
        code = left.code
    return (code, *capsys.readouterr())


def test_the_command_prints_all_causes(capsys):
    code, out, err = railgauge(capsys, "causes")
    assert (code, err) == (0, "")
    assert re.findall(r"(?m)^## (.+)$", out) == list(CATALOGUE)
    for kind in CATALOGUE.values():
        assert kind.remedy in out
        assert kind.basis in out


def test_the_command_prints_only_the_named_causes(capsys):
    _, out, _ = railgauge(capsys, "causes", "slow-nic", "slow-node")
    assert re.findall(r"(?m)^## (.+)$", out) == ["slow-nic", "slow-node"]


@pytest.mark.parametrize("name", ["slow-horse", "", "slow", "x\ny"])
def test_an_unknown_cause_gives_one_clear_line(capsys, name):
    code, out, err = railgauge(capsys, "causes", name)
    assert (code, out) == (2, "")
    assert err.startswith("railgauge: ")
    assert err.count("\n") == 1
    assert "slow-node" in err


def test_a_refused_host_key_is_not_sought_in_power_or_network():
    kind = CATALOGUE["host-key-rejected"]
    assert not re.search("power|network", f"{kind.means} {kind.remedy}")
    assert "ssh-keygen" in kind.remedy

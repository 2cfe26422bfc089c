"""A node's fact compared with its required value: which fact, and of which device."""

from dataclasses import replace

import pytest
from testing.core_values import ROOT

from railgauge.config import thresholds
from railgauge.config.thresholds.model import Expectation
from railgauge.core.errors import FactMissing, NodeUnreachable, VersionUndeclared
from railgauge.core.limits import Basis
from railgauge.core.model import Outcome
from railgauge.core.question import FactAt
from railgauge.facts import NodeFacts
from railgauge.facts.model import GpuFacts, NetdevFacts, NicFacts
from railgauge.judging.expectation import declared_at, judge_at, value_at

PLATFORM = thresholds.load("metax-c500", ROOT / "thresholds")
NICS = (
    NicFacts("mlx5_0", firmware="28.1", hca_type="MT4129", pci_address="0000:08:00.0", lid=4),
    NicFacts("mlx5_1", firmware="28.1", hca_type="MT4129"),
    NicFacts("mlx5_9", firmware="20.1", hca_type="MT4123"),
)
GPUS = tuple(GpuFacts(i, "MetaX C500", f"0000:0{i}:00.0", None, power_limit_w=350) for i in (0, 1))
N1 = NodeFacts("n1", kernel="6.1", nics=NICS, gpus=GPUS, netdevs=(NetdevFacts("eth1"),))


def at(*paths, **more):
    return FactAt("n1", paths, **more)


def judged(one, rule, value=None, nodes=(N1,), name="subject", **more):
    basis = Basis("derived", "made up")
    expectation = Expectation(name, rule, value, basis, "/expected/subject", **more)
    found = {getattr(node, "node", None) or node.where: node for node in nodes}
    return judge_at(one, expectation, PLATFORM, found)


def outcome(*words, **more):
    return judged(*words, **more).outcome


PASSED, FAILED = Outcome.PASSED, Outcome.FAILED


def other(name, **changes):
    return replace(N1, node=name, **changes)


# --- what there is to judge ---


def test_a_fact_is_judged_by_its_own_node():
    assert outcome(at("kernel"), "equals", "6.1", nodes=(other("n2", kernel="5.4"), N1)) is PASSED
    assert outcome(at("kernel"), "equals", "5.4", nodes=(other("n2", kernel="5.4"), N1)) is FAILED


def test_a_node_that_was_not_surveyed_is_an_error():
    with pytest.raises(FactMissing, match="n1: was not surveyed"):
        judged(at("kernel"), "equals", "6.1", nodes=(other("n2"),))


def test_the_reason_of_a_missing_survey_is_the_error():
    lost = NodeUnreachable("no route", where="n1")
    with pytest.raises(NodeUnreachable, match="no route"):
        judged(at("kernel"), "equals", "6.1", nodes=(lost,))


@pytest.mark.parametrize("path", ["ofed", "nics.mlx5_7.lid", "nics.mlx5_1.lid", "gpus.7.model"])
def test_a_fact_that_is_not_known_is_an_error_never_a_judgement(path):
    with pytest.raises(FactMissing, match="is not known"):
        judged(at(path), "equals", None)


@pytest.mark.parametrize("path", ["colour", "nics.mlx5_0.colour", "kernel.colour"])
def test_a_fact_that_does_not_exist_is_an_error_too(path):
    with pytest.raises(FactMissing, match=f"n1: there is no fact {path}"):
        judged(at(path), "equals", None)


def test_one_path_gives_a_value_and_several_a_list():
    assert value_at(N1, at("kernel")) == "6.1"
    assert value_at(N1, at("kernel", "gpus.#")) == ["6.1", 2]
    assert value_at(N1, at()) == []


def test_a_missing_device_is_an_error_or_the_value_that_stands_for_it():
    here, gone = (at(f"nics.{nic}.pci_address", absent="absent") for nic in ("mlx5_0", "mlx5_7"))
    assert value_at(N1, here) == "0000:08:00.0"
    assert value_at(N1, gone) == "absent"
    assert value_at(N1, at("netdevs.eth1.name", absent="absent")) == "eth1"
    with pytest.raises(FactMissing, match=r"pci_address is not known"):
        value_at(N1, at("nics.mlx5_1.pci_address", absent="absent"))


# --- as declared ---


def test_as_declared_is_the_value_of_the_hardware_section():
    firmware = at("nics.mlx5_0.hca_type", declared="nics.mlx5_0.model")
    assert outcome(firmware, "as_declared") is PASSED
    assert outcome(replace(firmware, paths=("nics.mlx5_9.hca_type",)), "as_declared") is FAILED
    assert outcome(at("gpus.#", declared="gpus.count"), "as_declared") is FAILED


def test_a_pcie_link_must_carry_the_rate_or_what_the_declared_slot_can():
    link = at("nics.mlx5_0.pcie_speed_gts", "nics.mlx5_0.pcie_width")
    assert link.node == "n1"
    slots = {(32.0, 16): PASSED, (64.0, 16): PASSED, (32.0, 8): FAILED, (16.0, 16): FAILED}
    for (gts, width), expected in slots.items():
        nic = replace(N1.nics[0], pcie_speed_gts=gts, pcie_width=width)
        nodes = (replace(N1, nics=(nic, *N1.nics[1:])),)
        assert outcome(link, "carries_rate", True, nodes=nodes) is expected
    with pytest.raises(FactMissing, match=r"declares no nics\.mlx5_9"):
        judged(at("nics.mlx5_9.firmware"), "carries_rate", True)


def test_a_value_that_the_file_does_not_declare_is_an_error():
    with pytest.raises(FactMissing, match="metax-c500: the platform file declares no gpus"):
        judged(at("kernel", declared="gpus.colour"), "as_declared")


def test_as_declared_may_be_another_fact_of_the_same_node():
    one = at("gpus.0.power_limit_w", same_as="gpus.1.power_limit_w")
    assert outcome(one, "as_declared") is PASSED
    lower = replace(N1, gpus=(GPUS[0], replace(GPUS[1], power_limit_w=300)))
    assert outcome(one, "as_declared", nodes=(lower,)) is FAILED
    for path in ("gpus.7.model", "kernel.colour"):
        with pytest.raises(FactMissing, match=path):
            judged(at("kernel", same_as=path), "as_declared")


def test_as_declared_without_a_place_to_declare_it_is_an_error():
    with pytest.raises(FactMissing, match="metax-c500: the hardware section has no field for") as e:
        judged(at("kernel"), "as_declared", name="kernel")
    assert "kernel" in e.value.what
    assert "equals" in e.value.remedy


def test_no_other_rule_needs_a_declaration():
    assert outcome(at("kernel", same_as="colour"), "equals", "6.1") is PASSED


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("gpus.model", "MetaX C500"),
        ("nics.mlx5_0.name", "mlx5_0"),
        ("nics.0.name", "mlx5_0"),
        ("nics.1.name", "mlx5_1"),
        ("affinity.0.mlx5_0", PLATFORM.affinity[0]["mlx5_0"]),
        ("expected.port_state.rule", PLATFORM.expected["port_state"].rule),
    ],
)
def test_a_declared_value_is_found_by_name_or_number(path, value):
    assert declared_at(PLATFORM, path) == value


@pytest.mark.parametrize(
    "path",
    [
        "", "colour", "gpus.colour", "nics.mlx5_7", "nics.99", "nics.3.name", "nics.999999999999",
        "affinity.99", "affinity.mlx5_0", "affinity.000000", "name.__class__", "gpus._x",
        "affinity.0.mlx5_7", "gpus.²",
    ],
)  # fmt: skip
def test_an_undeclared_path_is_an_error(path):
    with pytest.raises(FactMissing, match="declares no"):
        declared_at(PLATFORM, path)


def test_a_number_of_many_digits_is_no_index():
    numbers = (99999, 999999, 9999999)
    many = replace(PLATFORM, affinity={number: {"mlx5_0": "PIX"} for number in numbers})
    assert declared_at(many, "affinity.99999.mlx5_0") == "PIX"
    for number in numbers[1:]:
        with pytest.raises(FactMissing):
            declared_at(many, f"affinity.{number}.mlx5_0")


# --- by model ---

FIRMWARES = {"MT4129": "28.1", "MT4123": "20.1"}


def test_a_version_by_model_is_that_of_the_device_s_own_model():
    for nic in ("mlx5_0", "mlx5_9"):
        assert outcome(at(f"nics.{nic}.firmware"), "by_model", FIRMWARES) is PASSED
    swapped = {"MT4129": "20.1", "MT4123": "28.1"}
    assert outcome(at("nics.mlx5_0.firmware"), "by_model", swapped) is FAILED
    assert outcome(at("gpus.0.power_limit_w"), "by_model", {"MetaX C500": 350}) is PASSED
    several = at("nics.mlx5_0.firmware", "kernel")
    assert outcome(several, "by_model", {"MT4129": ["28.1", "6.1"]}) is PASSED
    assert outcome(at("gpus.0.power_limit_w"), "by_model", {"MetaX C500": 300}) is FAILED


def test_a_model_that_is_not_listed_is_an_error_that_names_those_that_are():
    with pytest.raises(FactMissing, match="n1: nothing is declared for the model MT4129") as raised:
        judged(at("nics.mlx5_0.firmware"), "by_model", {"MT4123": "20.1", "MT1": "1"})
    assert raised.value.remedy == "declare it beside MT4123, MT1"


@pytest.mark.parametrize("path", ["kernel", "gpus.#", "netdevs.eth1.name", "gpus.0", "nics"])
def test_by_model_is_of_a_device_that_has_one(path):
    for rule, value in (("by_model", FIRMWARES), ("alike", "model")):
        with pytest.raises(FactMissing, match="names no device that has a model") as raised:
            judged(at(path), rule, value)
        assert raised.value.where == "n1"


def test_an_error_shows_the_beginning_of_a_long_name():
    device, model = "d" * 100, "m" * 100
    long = replace(
        N1, netdevs=(NetdevFacts(device),), nics=(replace(NICS[0], hca_type=model), *NICS[1:])
    )
    for paths, what in (
        (("k" * 100,), f"there is no fact {'k' * 80}"),
        (
            (f"netdevs.{device}.name", "os"),
            f"netdevs.{'d' * 72} names no device that has a model",
        ),
        (("nics.mlx5_0.firmware",), f"nothing is declared for the model {'m' * 80}"),
    ):
        with pytest.raises(FactMissing) as raised:
            judged(at(*paths), "by_model", FIRMWARES, nodes=(replace(long, os="x"),))
        assert raised.value.what == what
    with pytest.raises(FactMissing) as raised:
        declared_at(PLATFORM, "c" * 100)
    assert raised.value.what == f"the platform file declares no {'c' * 80}"


def test_by_model_without_models_falls_back_to_no_declaration():
    assert outcome(at("kernel"), "by_model", "6.1") is FAILED


# --- alike ---


def test_alike_is_as_most_nodes_have_it():
    two = (other("n2"), other("n3", kernel="5.4"))
    assert outcome(at("kernel"), "alike", nodes=(N1, *two)) is PASSED
    odd = (replace(N1, kernel="5.4"), other("n2"), other("n3"))
    assert outcome(at("kernel"), "alike", nodes=odd) is FAILED
    assert outcome(at("kernel"), "alike", nodes=(N1, other("n3", kernel="5.4"))) is FAILED


def test_nodes_with_unknown_facts_do_not_count():
    lost = NodeUnreachable("no route", where="n4")
    silent = (other("n2", kernel=None), other("n3", kernel=None), lost)
    assert outcome(at("kernel"), "alike", nodes=(*silent, N1)) is PASSED
    assert outcome(at("kernel"), "alike", nodes=(lost, other("n2", kernel=None), N1)) is PASSED


def test_peers_matter_under_the_rule_alike_only():
    assert outcome(at("kernel"), "equals", "6.1", nodes=(N1, other("n2"), other("n3"))) is PASSED
    assert outcome(at("kernel"), "equals", "5.4", nodes=(N1, other("n2"), other("n3"))) is FAILED


def test_an_id_is_judged_beside_those_of_the_other_nodes():
    own, copied = replace(N1, machine_id="a"), other("n2", machine_id="a")
    apart = other("n2", machine_id="b")
    assert outcome(at("machine_id"), "distinct", "nodes", nodes=(own, apart)) is PASSED
    assert outcome(at("machine_id"), "distinct", "nodes", nodes=(own, copied)) is FAILED


def test_alike_among_a_model_counts_the_devices_of_all_nodes():
    one = at("nics.mlx5_0.firmware")
    assert outcome(one, "alike", "model") is PASSED
    newer = tuple(replace(nic, firmware="28.9") for nic in NICS)
    assert outcome(one, "alike", "model", nodes=(N1, other("n2", nics=newer))) is FAILED
    both = (N1, other("n2", nics=newer), other("n3", nics=newer))
    assert outcome(one, "alike", "model", nodes=both) is FAILED
    same = (N1, other("n2"), other("n3", nics=newer))
    assert outcome(one, "alike", "model", nodes=same) is PASSED


def test_devices_of_another_model_or_without_the_fact_do_not_count():
    lone = NicFacts("mlx5_0", firmware="28.1", hca_type="MT4129")
    kinds = ("MT4123", "MT4123", "MT5000", "MT5000")
    others = tuple(NicFacts(f"x{i}", firmware="2", hca_type=k) for i, k in enumerate(kinds))
    silent = tuple(NicFacts(f"y{i}", hca_type="MT4129") for i in range(3))
    mixed = replace(N1, nics=(lone, *others, *silent))
    assert outcome(at("nics.mlx5_0.firmware"), "alike", "model", nodes=(mixed,)) is PASSED


def test_a_value_is_taken_as_it_is_under_a_rule_that_needs_no_other():
    here = replace(N1, numa_cpus={"0": "0-7"})
    assert outcome(at("numa_cpus"), "equals", {"0": "0-7"}, nodes=(here,)) is PASSED
    assert outcome(at("kernel"), "equals", "model") is FAILED
    assert outcome(at("gpus.#", declared="gpus.count"), "as_declared", {}) is FAILED


# --- versions that the limits were measured with ---


def test_a_version_that_the_limits_were_measured_with_needs_no_declaration():
    for known in (("6.1",), ("5.4", "6.1"), ()):
        assert outcome(at("kernel"), "alike", measured_with=known) is PASSED


def test_an_undeclared_and_unmeasured_version_is_an_error_with_a_remedy():
    long = "6" * 100
    with pytest.raises(VersionUndeclared) as raised:
        judged(
            at("kernel"), "alike", nodes=(replace(N1, kernel=long),), name="kernel",
            measured_with=("5.4", "6.1"),
        )  # fmt: skip
    error = raised.value
    assert error.what == f"kernel is {'6' * 80}; the limits were measured with 5.4"
    assert error.where == "n1"
    remedy = "if this version is intended, declare it in the hostfile: versions: {kernel: VERSION}"
    assert error.remedy == remedy


def test_nodes_that_differ_fail_whatever_the_limits_were_measured_with():
    odd = (replace(N1, kernel="5.4"), other("n2"), other("n3"))
    assert outcome(at("kernel"), "alike", nodes=odd, measured_with=("4.0",)) is FAILED

"""Versions and devices: as declared if declared, otherwise alike on all nodes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from testing.places import ROOT

from railgauge.config import hostfile, thresholds
from railgauge.config.thresholds import VERSIONS, Expectation, Platform
from railgauge.config.thresholds.site import with_versions
from railgauge.core.errors import BadInput, FactMissing, VersionUndeclared
from railgauge.core.limits import Basis
from railgauge.core.model import Outcome
from railgauge.core.question import FactAt
from railgauge.facts import NodeFacts
from railgauge.facts.model import GpuFacts, NicFacts
from railgauge.judging.expectation import judge_at

H200 = thresholds.load("h200", ROOT / "thresholds")
PASSED, FAILED = Outcome.PASSED, Outcome.FAILED
BASIS = Basis("derived", "made up for a test")


def gpu(index: int, vbios: str | None = "96.00", model: str = "NVIDIA H200") -> GpuFacts:
    return GpuFacts(index, model, f"0000:{index:02x}:00.0", 143771, vbios=vbios)


def nic(name: str, firmware: str | None, model: str = "MT4129") -> NicFacts:
    return NicFacts(name, hca_type=model, firmware=firmware)


def node(name: str, *vbios: str | None, **facts: Any) -> NodeFacts:
    gpus = tuple(gpu(index, one) for index, one in enumerate(vbios))
    return NodeFacts(name, **{"gpus": gpus, **facts})


def outcome(
    found: list[NodeFacts], path: str, rule: str = "alike", value: object = "model", **at: str
) -> Outcome:
    """The judgement of the first node's fact at ``path``."""
    expectation = Expectation("subject", rule, value, BASIS, "/expected/subject")
    facts = {one.node: one for one in found}
    return judge_at(FactAt(found[0].node, (path,), **at), expectation, H200, facts).outcome


# --- alike among the devices of a model ---


def test_one_gpu_of_many_is_the_odd_one_on_its_own_node() -> None:
    """A single node has devices to compare, so it needs no other node."""
    alone = [node("a", "1.0", "1.0", "2.0")]
    assert [outcome(alone, f"gpus.{i}.vbios") for i in range(3)] == [PASSED, PASSED, FAILED]


def test_what_every_node_has_wrong_in_the_same_way_is_wrong() -> None:
    """The lists of all nodes are alike, but the devices differ."""
    alike = [node(name, "1.0", "1.0", "2.0") for name in "abc"]
    assert outcome(alike, "gpus.2.vbios") is FAILED


def test_a_whole_node_that_differs_is_odd_among_all() -> None:
    nodes = [node("a", "2.0", "2.0"), node("b", "1.0", "1.0"), node("c", "1.0", "1.0")]
    assert outcome(nodes, "gpus.0.vbios") is FAILED
    assert outcome(nodes[1:], "gpus.0.vbios") is PASSED


def test_where_no_version_has_more_than_half_none_is_right() -> None:
    nodes = [node("a", "2.0"), node("b", "1.0")]
    assert outcome(nodes, "gpus.0.vbios") is FAILED
    assert outcome(nodes[::-1], "gpus.0.vbios") is FAILED


def test_devices_of_other_models_are_not_compared() -> None:
    nics = (nic("mlx5_0", "28.43"), nic("mlx5_1", "32.40", "MT41692"))
    nodes = [replace(node(name), nics=nics) for name in "abc"]
    assert outcome(nodes, "nics.mlx5_1.firmware") is PASSED
    odd = replace(nodes[0], nics=(nics[0], nic("mlx5_1", "28.43", "MT41692")))
    assert outcome([odd, *nodes[1:]], "nics.mlx5_1.firmware") is FAILED


@pytest.mark.parametrize("rule", [("alike", "model"), ("alike", "nodes"), ("equals", "1.0")])
def test_an_absent_version_is_an_error_and_no_pass(rule: tuple[str, str]) -> None:
    """Also if it is absent everywhere, which is alike too."""
    nodes = [node(name, None, None) for name in "ab"]
    with pytest.raises(FactMissing):
        outcome(nodes, "gpus.0.vbios", *rule)
    with pytest.raises(FactMissing):
        outcome(nodes, "gpu_software.runtime", rule[0], "nodes" if rule[0] == "alike" else rule[1])


def test_a_device_without_a_model_is_not_compared() -> None:
    nodes = [replace(node("a"), nics=(NicFacts("mlx5_0", firmware="28"),))]
    with pytest.raises(FactMissing, match="hca_type"):
        outcome(nodes, "nics.mlx5_0.firmware")


def test_a_value_that_the_platform_requires_needs_no_comparison() -> None:
    """A GPU that does not report its default power limit is compared with the declared one."""
    capped = GpuFacts(0, "AMD Instinct MI300X", None, None, power_limit_w=375.0)
    nodes = [replace(node("a"), gpus=(capped,))]
    path, same_as = "gpus.0.power_limit_w", "gpus.0.power_default_w"
    assert outcome(nodes, path, "equals", 750.0, same_as=same_as) is FAILED
    with pytest.raises(FactMissing, match="power_default_w"):
        outcome(nodes, path, "as_declared", True, same_as=same_as)


def test_as_declared_needs_a_place_where_it_is_declared() -> None:
    with pytest.raises(FactMissing, match="no field for subject"):
        outcome([replace(node("a"), kernel="6.1")], "kernel", "as_declared", True)


# --- versions in the hostfile ---


def declared(**versions: Any) -> Platform:
    return with_versions(H200, by_model(versions), "here.yaml")


def by_model(versions: dict[str, Any]) -> dict[str, dict[str, str]]:
    return {name: {"*": v} if isinstance(v, str) else v for name, v in versions.items()}


def test_a_declared_version_must_be_found_on_every_node() -> None:
    """All nodes are alike, and all are wrong."""
    nodes = [replace(node(name), gpu_driver="550.54.15") for name in "abc"]
    facts = {one.node: one for one in nodes}
    at = FactAt("a", ("gpu_driver",))
    assert judge_at(at, H200.expected["gpu_driver"], H200, facts).outcome is PASSED
    site = declared(gpu_driver="550.90.07")
    judged = judge_at(at, site.expected["gpu_driver"], site, facts)
    assert (judged.outcome, judged.measured, judged.limit) == (FAILED, "550.54.15", "550.90.07")
    assert "hostfile" in judged.basis


def test_firmware_is_declared_for_all_or_by_model() -> None:
    nics = (nic("mlx5_0", "28.43"), nic("mlx5_1", "32.40", "MT41692"))
    facts = {"a": replace(node("a"), nics=nics)}

    def judged(name: str, firmware: object) -> Outcome:
        site = declared(nic_firmware=firmware)
        at = FactAt("a", (f"nics.{name}.firmware",))
        return judge_at(at, site.expected["nic_firmware"], site, facts).outcome

    assert [judged(name, "28.43") for name in ("mlx5_0", "mlx5_1")] == [PASSED, FAILED]
    both = {"MT4129": "28.43", "MT41692": "32.40"}
    assert [judged(name, both) for name in ("mlx5_0", "mlx5_1")] == [PASSED, PASSED]
    with pytest.raises(FactMissing, match="MT41692"):
        judged("mlx5_1", {"MT4129": "28.43"})


def test_a_declared_version_applies_even_if_the_platform_requires_none() -> None:
    homelab = thresholds.load("connectx4-homelab", ROOT / "thresholds")
    assert "ofed" in homelab.not_applicable
    site = with_versions(homelab, by_model({"ofed": "24.10-1.1.4"}), "here.yaml")
    assert "ofed" not in site.not_applicable
    with pytest.raises(FactMissing):
        judge_at(FactAt("a", ("ofed",)), site.expected["ofed"], site, {"a": node("a")})


def test_two_declarations_that_differ_are_bad_input() -> None:
    own = replace(H200.expected["gpu_driver"], rule="equals", value="550.90.07")
    platform = replace(H200, expected={**H200.expected, "gpu_driver": own})
    assert with_versions(platform, {"gpu_driver": {"*": "550.90.07"}}, "here.yaml")
    with pytest.raises(BadInput, match=r"550\.54\.15") as raised:
        with_versions(platform, {"gpu_driver": {"*": "550.54.15"}}, "here.yaml")
    assert raised.value.where == "here.yaml"
    assert "thresholds/h200.json" in raised.value.remedy


HOSTFILE = "cluster: site\nplatform: h200\nnodes: n[1-2]\nversions: {%s}\n"


def read(folder: Path, versions: str) -> Any:
    path = folder / "site.yaml"
    path.write_text(HOSTFILE % versions)
    return hostfile.load(path, schema_file=ROOT / "hostfiles/schema.json").versions


def test_a_hostfile_declares_versions(tmp_path: Path) -> None:
    text = 'gpu_driver: 550.90.07, gpu_runtime: "12.4", nic_firmware: {MT4129: 28.39.1002}'
    assert read(tmp_path, text) == {
        "gpu_driver": {"*": "550.90.07"},
        "gpu_runtime": {"*": "12.4"},
        "nic_firmware": {"MT4129": "28.39.1002"},
    }


@pytest.mark.parametrize(
    "text", ["gpu_runtime: 12.4", "cuda: '12.4'", "kernel: ''", "gpu_driver: {a: b}", "os: [a]"]
)
def test_an_invalid_version_is_bad_input(tmp_path: Path, text: str) -> None:
    """A number is not a version: 12.40 and 12.4 are the same number."""
    with pytest.raises(BadInput, match="versions"):
        read(tmp_path, text)


def test_the_hostfile_knows_the_versions_that_are_judged() -> None:
    schema = json.loads((ROOT / "hostfiles/schema.json").read_text(encoding="utf-8"))
    assert set(schema["properties"]["versions"]["properties"]) == set(VERSIONS)


# --- versions that the limits were measured with ---

METAX = thresholds.load("metax-c500", ROOT / "thresholds")
ORDERED = {"gpu_runtime": "2.33.0.1", "ofed": "MLNX_OFED_LINUX-25.01-0.6.0.0", "gpu_vbios": "2.0"}


def metax(name: str, **changes: Any) -> NodeFacts:
    """A node of document 000 with the given changes."""
    fields = {
        "gpu_software": {"runtime": "2.32.0.6"}, "ofed": "24.10-3.2.5", "gpu_driver": "3.5.0",
        **changes,
    }  # fmt: skip
    model = "MetaX C500"
    gpus = tuple(gpu(i, fields.pop("vbios", "1.26.1.0"), model) for i in range(1))
    return NodeFacts(name, gpus=gpus, **fields)


PATHS = {
    "gpu_runtime": "gpu_software.runtime",
    "ofed": "ofed",
    "gpu_vbios": "gpus.0.vbios",
    "gpu_driver": "gpu_driver",
}
OTHERS = {
    "gpu_runtime": {"gpu_software": {"runtime": ORDERED["gpu_runtime"]}},
    "ofed": {"ofed": ORDERED["ofed"]},
    "gpu_vbios": {"vbios": ORDERED["gpu_vbios"]},
}


def judged_on(platform: Platform, name: str, nodes: list[NodeFacts]) -> Outcome:
    at = FactAt(nodes[0].node, (PATHS[name],))
    facts = {one.node: one for one in nodes}
    return judge_at(at, platform.expected[name], platform, facts).outcome


@pytest.mark.parametrize("name", PATHS)
def test_the_versions_of_document_000_need_no_declaration(name: str) -> None:
    assert judged_on(METAX, name, [metax("a"), metax("b")]) is PASSED


@pytest.mark.parametrize("name", OTHERS)
def test_nodes_alike_in_an_undeclared_version_are_not_accepted(name: str) -> None:
    nodes = [metax(one, **OTHERS[name]) for one in "abc"]
    with pytest.raises(VersionUndeclared, match=name) as raised:
        judged_on(METAX, name, nodes)
    assert f"versions: {{{name}: VERSION}}" in raised.value.remedy


@pytest.mark.parametrize("name", OTHERS)
def test_a_version_in_the_hostfile_needs_no_other_declaration(name: str) -> None:
    nodes = [metax(one, **OTHERS[name]) for one in "abc"]
    site = with_versions(METAX, by_model({name: ORDERED[name]}), "here.yaml")
    assert judged_on(site, name, nodes) is PASSED
    assert judged_on(site, name, [metax("a"), metax("b")]) is FAILED


def test_a_node_that_differs_has_failed_whatever_its_version_is() -> None:
    nodes = [metax("a"), *(metax(one, **OTHERS["ofed"]) for one in "bc")]
    assert judged_on(METAX, "ofed", nodes) is FAILED

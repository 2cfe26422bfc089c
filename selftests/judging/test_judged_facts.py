"""Every collected fact is judged or is an identity; nothing is collected without use."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest
from testing.core_values import cluster
from testing.places import ROOT

from railgauge.config import thresholds
from railgauge.facts import NodeFacts
from railgauge.facts.model import GidFacts, GpuFacts, IrqFacts, NetdevFacts, NicFacts
from railgauge.planning import plan
from railgauge.planning.expectations import EXPECTATIONS, FactPaths
from railgauge.planning.marks import marked_tests
from railgauge.planning.needs import candidates, not_limited
from railgauge.stacks import Section, stack

# Identities of nodes, devices, ports, and boots.
IDENTITY = {
    "node", "hostname", "product", "virtual", "parts", "gpus.*.index", "nics.*.part_number",
    "nics.*.netdev", "gids.*.index", "gids.*.roce_version",
}  # fmt: skip
# Reported and by design never blamed (document 003): see diagnosis/notes.py.
NOTED = {"irqs.*.name", "irqs.*.count", "irqs.*.cpus"}
# What a GPU can do by itself: possible wherever there are GPUs, and limited where it is known what
# libraries reach of the data sheet. Elsewhere plans, reports and sign-offs name it.
OF_EACH_GPU = {
    "gpu_stress",
    "gpu_memory_copy",
    *(f"gpu_matrix_{form}" for form in ("fp64", "fp32", "tf32", "bf16", "fp8")),
}
# Training is possible where there are several GPUs, and limited where products of each are.
OF_TRAINING = {
    "node_replay", "pair_replay", "node_training", "pair_training", "group_training",
}  # fmt: skip
# Possible where there are several nodes, and limited where the capacity of the fabric is known.
LADDERS_OF = {
    "h200": {"scaling_all_reduce", "scaling_all_reduce_tree", "scaling_all_reduce_nvls"},
    "h100-tcpx": {"scaling_all_reduce", "scaling_all_reduce_sharp"},
    "mi300x": {"scaling_all_reduce"},
    "metax-c500": {"scaling_all_reduce"},
}
LADDERS = {"scaling_all_reduce", "scaling_all_reduce_tree"}
IN_SWITCHES = {"scaling_all_reduce_nvls", "scaling_all_reduce_sharp"}
# Where the part of the kernel's log begins that is judged at the end of a run, and what a sign-off
# judges of the part before.
BEGINNINGS = {"kernel_log", "kernel_faults"}
# What is judged at the end of a run, in the platform files made from data sheets alone.
AT_THE_END = {"growth", "telemetry"}
LIMIT_EACH_GPU = {"h200", "h100-tcpx", "metax-c500", "mi300x"}
WITHOUT_GPUS = {"connectx4-homelab", "tcp-lab"}
# The reason why other facts are unknown; an expectation that needs one is then an error.
REASONS = {"missing"}
DEVICES = {"gpus": GpuFacts, "nics": NicFacts, "netdevs": NetdevFacts, "irqs": IrqFacts}


def collected() -> set[str]:
    """The paths of all fields, with ``*`` for each device or entry."""
    found = {item.name for item in fields(NodeFacts)} - DEVICES.keys() - {"gpu_software"}
    for name, kind in DEVICES.items():
        found |= {f"{name}.*.{item.name}" for item in fields(kind)} - {"nics.*.gids"}
    found |= {f"gids.*.{item.name}" for item in fields(GidFacts)}
    return found | {f"gpu_software.{name}" for name in SOFTWARE}


def readings() -> set[str]:
    """All keys of ``gpu_software`` of any stack, known or with the reason why not."""
    found: set[str] = set()
    for vendor in ("nvidia", "amd", "metax"):
        read = stack(vendor).parse({name: Section(name, "") for name in ("none",)})
        found |= {path.partition(".")[2] for path in read.missing if "gpu_software." in path}
    return found


SOFTWARE = ("runtime", "kernel_module", "collective_library", "fabric_manager", "mm_kobj")


def paths(asked: FactPaths) -> set[str]:
    """The paths that an expectation reads or compares; ``*`` for each part."""
    words = {"gpu": "*", "nic": "*", "adapter": "*"}
    signs = ("pci_address", "name")
    templates = {path for path in (*asked.paths, asked.same_as) if path}
    found = {path.format(**words, sign=sign) for path in templates for sign in signs}
    found = {"netdevs.*.state" if path.startswith("ipoib.") else path for path in found}
    return {re.sub(r"^(gpu_)?topology\..*", "topology", path) for path in found}


ASKED = {name: paths(asked) for name, asked in EXPECTATIONS.items()}
COUNTED = {"gpus.#": "gpus", "nics.*.gids.#": "gids", "nvmes.#": "nvmes"}
COUNTED |= {f"disks.{name}": "disks" for name in ("faults", "slow_links", "used_percent")}


def test_every_fact_is_judged_or_is_identity() -> None:
    judged = {path for found in ASKED.values() for path in found}
    judged |= {COUNTED[path] for path in judged & COUNTED.keys()} & collected()
    if "nics.*.gids" in judged:
        judged = (judged - {"nics.*.gids"}) | {"gids.*.gid", "gids.*.ipv4"}
    assert {
        path for path in collected() if path not in judged
    } == IDENTITY | NOTED | BEGINNINGS | REASONS
    assert not judged - collected() - COUNTED.keys(), "a test asks for what nobody collects"


def test_a_fact_with_a_note_is_reported() -> None:
    text = (ROOT / "src/railgauge/diagnosis/notes.py").read_text(encoding="utf-8")
    assert "facts.irqs" in text


def test_all_software_keys_of_stacks_are_known() -> None:
    assert readings() == set(SOFTWARE)


@pytest.mark.parametrize("name", thresholds.available(ROOT / "thresholds"))
def test_every_platform_judges_each_fact_or_gives_the_reason(name: str) -> None:
    platform = thresholds.load(name, ROOT / "thresholds")
    nodes = ("n1",) if name == "localhost-gpu" else ("n1", "n2", "n3")
    level = plan.level(platform, cluster(*nodes), "nightly")
    silent = set(not_limited(platform, level, candidates(marked_tests(ROOT))))
    wanted = set() if name in LIMIT_EACH_GPU | WITHOUT_GPUS else OF_EACH_GPU | AT_THE_END
    if wanted and len(nodes) > 1:
        wanted |= OF_TRAINING
    if len(nodes) > 1:
        is_nvidia = platform.gpus is not None and platform.gpus.vendor == "nvidia"
        wanted |= (LADDERS | (IN_SWITCHES if is_nvidia else set())) - LADDERS_OF.get(name, set())
    assert silent == wanted, "possible here, and neither limited nor left out with a reason"
    assert not platform.expected.keys() - ASKED.keys(), "expected, and no test asks for it"


def test_every_expectation_of_the_ladder_has_a_test() -> None:
    tested = {test.name for test in marked_tests(ROOT) if test.kind == "expects"}
    assert tested == ASKED.keys()


def test_versions_are_asked_for_by_tests_of_their_names() -> None:
    assert set(thresholds.VERSIONS) <= ASKED.keys()

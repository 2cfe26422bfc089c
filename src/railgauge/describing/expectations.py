"""What a platform file expects of its hosts: what the survey could read. Pure.

A host setting that no node has is not expected but noted, because the site may intend that. A
fault is never expected, even if the survey finds it on every node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from railgauge.config.thresholds import Platform
from railgauge.core.errors import NoEvidence
from railgauge.core.model import Outcome
from railgauge.core.naming import folded
from railgauge.describing.choice import Chosen, SiteAnswers
from railgauge.describing.hardware import INFINIBAND
from railgauge.facts import NodeFacts
from railgauge.judging.expectation import judge_at
from railgauge.planning.expectations import fact_at, parts
from railgauge.stacks import Stack

_HOST = (
    "cpu_governor", "numa_balancing", "numa_daemons", "boot_id", "machine_id", "clock",
    "cpus_online", "cpus", "cpu_model", "numa_nodes", "numa_cpus", "memory", "bios", "kernel", "os",
)  # fmt: skip
_RDMA = (
    "memlock", "ofed", "nic_present", "nic_model", "port_state", "physical_state", "link_rate",
    "link_layer", "active_mtu", "gid", "port_address", "pcie_link", "nic_firmware", "nic_numa",
)  # fmt: skip
_SUBNET = ("lid", "subnet_manager", "node_guid")
_NETDEVS = ("netdev_present", "netdev", "netdev_rate", "netdev_mtu", "netdev_numa", "netdev_driver")
_GPUS = (
    "gpu_count", "gpu_model", "gpu_memory", "gpu_bus_id", "gpu_processes", "gpu_persistence_mode",
    "gpu_ecc_errors", "gpu_ecc_mode", "gpu_row_remap", "gpu_remap_failure", "gpu_remapped_rows",
    "gpu_retired_pages", "gpu_power_limit", "gpu_clock_max", "gpu_pcie_generation",
    "gpu_pcie_width", "gpu_mig", "gpu_compute_partition", "gpu_memory_partition", "gpu_numa",
    "gpu_driver", "gpu_kernel_module", "gpu_runtime", "gpu_vbios", "collective_library",
)  # fmt: skip
_LINKED = ("gpu_links", "gpu_link_count", "gpu_link_rate", "gpu_fabric_state", "gpu_fabric_manager")
_GPUS_AND_NICS = ("gpu_nic_link", "acs")

# Settings that a site may intend otherwise; any other deviation is a fault.
_SETTINGS = frozenset((
    "cpu_governor", "numa_balancing", "numa_daemons", "memlock", "acs", "active_mtu",
    "gpu_persistence_mode", "gpu_ecc_mode", "gpu_mig", "gpu_power_limit", "gpu_pcie_generation",
))  # fmt: skip
_ONE_KERNEL, _RATES = ("boot_id", "machine_id"), ("link_rate", "netdev_rate")


def candidates(
    kind: Chosen, stack: Stack | None, facts: Mapping[str, NodeFacts], given: SiteAnswers
) -> dict[str, dict[str, Any]]:
    """Return every expectation that the hardware makes possible, with what the survey adds."""
    names = list(_HOST)
    if kind.fabric:
        names += _RDMA if kind.fabric[0].is_rdma else _NETDEVS
        names += _SUBNET if kind.fabric[0].link_layer == INFINIBAND else ()
    if kind.hardware.gpus:
        names += _GPUS
        names += _LINKED if kind.hardware.gpus.count > 1 else ()
        names += _GPUS_AND_NICS if kind.fabric else ()
    dropped = {*(_ONE_KERNEL if given.one_kernel else ()), *(_RATES if given.rates else ())}
    entries: dict[str, dict[str, Any]] = {name: {} for name in names if name not in dropped}
    for name, rule in _surveyed(kind, stack, facts):
        if name in entries or name == "peer_memory":
            entries[name] = {**rule, "basis": "survey"}
    for name in ("netdev_mtu", "gpu_pcie_generation", "gpu_pcie_width"):
        if not entries.get(name, {"": ""}):
            del entries[name]  # its template has no value
    return entries


def _surveyed(
    kind: Chosen, stack: Stack | None, facts: Mapping[str, NodeFacts]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the expectations whose value is what the survey found."""
    fabric, every = kind.fabric, list(facts.values())
    mtus = {nic.mtu_bytes for nic in fabric}
    if len(mtus) == 1 and (mtu := next(iter(mtus))) and fabric[0].link_layer != INFINIBAND:
        yield ("active_mtu" if fabric[0].is_rdma else "netdev_mtu"), {"equals": mtu}
    for name, field in (("generation", "pcie_max_gen"), ("width", "pcie_max_width")):
        best = {getattr(gpu, field) for one in every for gpu in one.gpus}
        if len(best) == 1 and (value := next(iter(best))):
            yield f"gpu_pcie_{name}", {"at_least": value}
    shown = stack is not None and all(stack.peer_memory in one.peer_memory for one in every)
    if stack and shown and fabric and fabric[0].is_rdma:
        yield "peer_memory", {"contains": [stack.peer_memory]}


def kept(
    platform: Platform, found: Mapping[str, NodeFacts]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the expectations of ``platform`` that a run can judge here, and notes. Each is
    compared with the survey, as a run does it.
    """
    names: list[str] = []
    unread: dict[str, list[str]] = {}
    notes: list[str] = []
    for name in platform.expected:
        answers = _Answers(platform, name, found)
        if answers.unread:
            unread.setdefault(answers.unread, []).append(name)
        elif not (answers.failing_everywhere and name in _SETTINGS):
            names.append(name)
        if answers.failing:
            notes.append(answers.note(is_expected=name in names))
    return tuple(names), (*notes, *_unreadable(unread))


# Parts of reasons that the site can remedy.
_MENDABLE = ("command not found", "denied", "time limit")


def _unreadable(unread: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield a line for each reason that can be mended, and one for all others together."""
    rest: list[str] = []
    for why, names in unread.items():
        if any(words in why for words in _MENDABLE):
            yield f"not readable here, so not expected: {', '.join(names)} ({why})"
        else:
            rest += names
    if rest:
        yield f"not reported by these nodes, so not expected: {', '.join(rest)}"


class _Answers:
    """How the nodes answer one expectation."""

    def __init__(self, platform: Platform, name: str, found: Mapping[str, NodeFacts]) -> None:
        self._name = name
        self.failing: dict[str, str] = {}
        self.unread = ""
        self.failing_everywhere = False
        for part in parts(platform, platform.expected[name]):
            missing, failed = {}, {}
            for node in found:
                at = fact_at(platform, name, node, part)
                try:
                    judged = judge_at(at, platform.expected[name], platform, found)
                except NoEvidence as error:
                    missing[node] = error.what
                else:
                    if judged.outcome is Outcome.FAILED:
                        failed[node] = judged.reason
            if len(missing) == len(found):
                self.unread = self.unread or next(iter(missing.values()))
            self.failing |= failed
            self.failing_everywhere |= len(failed) == len(found)

    def note(self, *, is_expected: bool) -> str:
        node, reason = next(iter(self.failing.items()))
        others = len(self.failing) - 1
        where = folded(self.failing) if others else node
        is_so = "expected anyway" if is_expected else "not expected until you add it"
        return f"NOT AS IT SHOULD BE {self._name} on {where}: {reason}; {is_so}"

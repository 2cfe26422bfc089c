"""Parse the probe's output into facts. Pure; absent or malformed values go into ``missing``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from railgauge.core.model import TimeSpan
from railgauge.facts import boot, host, nvme
from railgauge.facts.clock import OFFSET, ahead_s
from railgauge.facts.ibtools import (
    parse_ibdev2netdev,
    parse_ibv_devices,
    parse_ibv_devinfo,
    parse_show_gids,
)
from railgauge.facts.infiniband import Tools, by_name, gids_by_name, nic_facts, parse_sysfs
from railgauge.facts.inventory import Sections, parts
from railgauge.facts.kernel import log
from railgauge.facts.kernel.before import LATER_FAULTS, has_more, parse_faults
from railgauge.facts.model import NodeFacts
from railgauge.facts.netdevs import parse_irqs, parse_netdevs
from railgauge.facts.parts import identifier
from railgauge.facts.pci import PciReport, parse_lspci
from railgauge.facts.probe import split_sections
from railgauge.facts.visible import hidden
from railgauge.stacks import Section, Stack, StackFacts, section

_NO_SPAN = "the transport does not record when the probe ran"
_NO_STACK = "the platform declares no GPU stack"
_GPU_FACTS = ("gpus", "gpu_driver", "gpu_software", "gpu_processes", "topology")

# By field of NodeFacts, which is also the probe's section: its parser, and its value if missing.
_HOST: dict[str, tuple[Callable[[str], Any], Any]] = {
    "hostname": (host.parse_line, None),
    "kernel": (host.parse_line, None),
    "boot_id": (boot.parse_boot_id, None),
    "kernel_log": (log.parse_mark, None),
    "machine_id": (host.parse_machine_id, None),
    "os": (host.parse_os, None),
    "ofed": (host.parse_ofed, None),
    "product": (host.parse_product, None),
    "virtual": (host.parse_virtual, None),
    "bios": (identifier, None),
    "cpus": (host.parse_count, None),
    "cpus_present": (host.parse_count, None),
    "cpu_model": (host.parse_cpu_model, None),
    "memory_mib": (host.parse_memory, None),
    "numa_nodes": (host.parse_count, None),
    "numa_cpus": (host.parse_numa_cpus, {}),
    "nvmes": (host.parse_nvmes, ()),
    "governors": (host.parse_governors, ()),
    "cpu_boost": (host.parse_boost, None),
    "numa_balancing": (host.parse_flag, None),
    "memlock": (host.parse_memlock, None),
    "memlock_config": (host.parse_memlock_config, ()),
    "numa_daemons": (host.parse_numa_daemons, ()),
    "modules": (host.parse_modules, ()),
    "boot_modules": (host.parse_boot_modules, ()),
    "peer_memory": (host.parse_peers, ()),
    "irqs": (parse_irqs, ()),
}


@dataclass(frozen=True, slots=True)
class _Read:
    """Fields of ``NodeFacts``, and the reasons for those without a value."""

    values: Mapping[str, Any]
    missing: Mapping[str, str]


def parse_probe(
    node: str, output: str, nonce: str, stack: Stack | None, ran: TimeSpan | None = None
) -> NodeFacts:
    """Return the facts in the output of ``probe_script`` with the same nonce and stack.

    ``ran`` is when the probe ran, by the controller's clock; the node's is compared with it.
    Never raises, whatever was printed: ``missing`` has the reason for each value not read.
    """
    sections = split_sections(output, nonce)
    pci = _pci(sections)
    gpu_facts = stack.parse(sections) if stack else _no_stack()
    read = (
        _host(sections),
        _clock(sections, ran),
        _kernel_faults(sections),
        _netdevs(sections),
        _disks(sections),
        _Read({"acs_enabled": pci.acs_enabled}, _reason("acs_enabled", pci.problem)),
        _nics(sections, pci),
        _gpus(sections, stack, gpu_facts),
    )
    values = {name: value for part in read for name, value in part.values.items()}
    missing = {name: reason for part in read for name, reason in part.missing.items()}
    values["peer_memory"] = _peer_memory(values, stack)
    del values["peer_evidence"]
    facts = NodeFacts(node=node, missing=missing, **values)
    return replace(facts, parts=parts(facts, sections, pci, gpu_facts))


def _peer_memory(values: Mapping[str, Any], stack: Stack | None) -> tuple[str, ...]:
    """Return registered clients, modules that load only if they can register, and the evidence of
    the GPU stack."""
    modules = set(values["modules"]).intersection(stack.peer_modules if stack else ())
    return tuple(sorted({*values["peer_memory"], *modules, *values["peer_evidence"]}))


def _reason(fact: str, reason: str) -> dict[str, str]:
    return {fact: reason} if reason else {}


def _host(sections: Sections) -> _Read:
    values: dict[str, Any] = {}
    missing: dict[str, str] = {}
    for name, (reader, nothing) in _HOST.items():
        printed = section(sections, name)
        value = None if printed.failure else reader(printed.text)
        values[name] = nothing if value is None else value
        if value is None:
            missing[name] = printed.failure or _malformed(printed)
    return _Read(values, missing)


def _clock(sections: Sections, ran: TimeSpan | None) -> _Read:
    printed = section(sections, "clock")
    now_s = None if printed.failure else host.parse_seconds(printed.text)
    if now_s is not None and ran is not None:
        return _Read({OFFSET: ahead_s(now_s, ran)}, {})
    unread = printed.failure or (_malformed(printed) if now_s is None else _NO_SPAN)
    return _Read({}, {OFFSET: unread})


def _kernel_faults(sections: Sections) -> _Read:
    """The faults in the section of the kernel's log, without its last line."""
    printed = section(sections, "kernel_log")
    is_whole = not printed.failure and log.parse_mark(printed.text) is not None
    faults = parse_faults(printed.text) if is_whole else ()
    unread = "" if is_whole else printed.failure or _malformed(printed)
    later = "more lines than are read may name a fault" if has_more(printed.text) else ""
    missing = {**_reason("kernel_faults", unread), **_reason(LATER_FAULTS, later)}
    return _Read({"kernel_faults": faults}, missing)


def _malformed(printed: Section) -> str:
    first = printed.text.strip().partition("\n")[0]
    return f"{printed.name}: cannot be parsed: {first[:80]!r}"


def _pci(sections: Sections) -> PciReport:
    printed = section(sections, "lspci")
    if printed.failure:
        return PciReport((), {}, printed.failure)
    report = parse_lspci(printed.text)
    problem = report.problem and f"lspci: {report.problem}"
    return replace(report, problem=problem)


def _netdevs(sections: Sections) -> _Read:
    printed = section(sections, "netdevs")
    if printed.failure:
        return _Read({"netdevs": ()}, {"netdevs": printed.failure})
    netdevs, missing = parse_netdevs(printed.text)
    return _Read({"netdevs": netdevs}, missing)


def _disks(sections: Sections) -> _Read:
    disks, missing = nvme.disks(sections)
    return _Read({"disks": disks}, missing)


def _nics(sections: Sections, pci: PciReport) -> _Read:
    printed = section(sections, "infiniband")
    if printed.failure:
        return _Read({"nics": ()}, {"nics": printed.failure})
    tools = _tools(sections, pci)
    found = [nic_facts(name, nic, tools) for name, nic in parse_sysfs(printed.text).items()]
    missing = {path: reason for _, reasons in found for path, reason in reasons.items()}
    return _Read({"nics": tuple(nic for nic, _ in found)}, missing)


def _tools(sections: Sections, pci: PciReport) -> Tools:
    devinfo, netdevs = section(sections, "ibv_devinfo"), section(sections, "ibdev2netdev")
    devices = section(sections, "ibv_devices")
    lines = parse_ibdev2netdev("" if netdevs.failure else netdevs.text)
    return Tools(
        devinfo=by_name(parse_ibv_devinfo("" if devinfo.failure else devinfo.text)),
        netdevs={line.name: line for line in lines if line.port == 1},
        gids=gids_by_name(parse_show_gids(section(sections, "show_gids").text)),
        part_numbers=pci.part_numbers,
        guids=parse_ibv_devices("" if devices.failure else devices.text),
        guids_failure=devices.failure,
        devinfo_failure=devinfo.failure,
        netdevs_failure=netdevs.failure,
    )


def _gpus(sections: Sections, stack: Stack | None, facts: StackFacts) -> _Read:
    running, problem = _diagnostics(sections, stack)
    values = {
        "gpus": facts.gpus,
        "gpu_driver": facts.driver,
        "gpu_software": facts.software,
        "gpu_processes": (*facts.processes, *running),
        "topology": facts.topology,
        "peer_evidence": facts.peer_memory,
    }
    # Processes that were found are kept even if the search for others failed.
    missing = {**_reason("gpu_processes", problem), **facts.missing}
    unseen = hidden(section(sections, "visible").text, len(facts.gpus))
    return _Read(values, {**missing, **_reason("gpus.#", unseen)})


def _diagnostics(sections: Sections, stack: Stack | None) -> tuple[tuple[str, ...], str]:
    """Return the GPU diagnostics that run on the node, and the problem if that is not known."""
    printed = section(sections, "diagnostics")
    if not stack:
        return (), ""
    found = None if printed.failure else host.parse_named_processes(printed.text)
    if found is None:
        return (), printed.failure or _malformed(printed)
    lines = (
        f"{arguments or name} (pid {pid}): a GPU diagnostic"
        for pid, name, arguments in found
        if _is_diagnostic(name, arguments, stack.diagnostics)
    )
    return tuple(lines), ""


def _is_diagnostic(name: str, arguments: str, diagnostics: tuple[str, ...]) -> bool:
    """Whether a process is one of ``diagnostics``; its name decides if it has no arguments."""
    wanted = [words for words in map(str.split, diagnostics) if words[0] == name]
    given = set(arguments.split())
    return any(not given or given.issuperset(words[1:]) for words in wanted)


def _no_stack() -> StackFacts:
    return StackFacts(missing=dict.fromkeys(_GPU_FACTS, _NO_STACK))

"""What the tools of NICs and PCIe print: ports, counters, devices."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from railgauge.core.problems import ProblemKind
from railgauge.facts.ibtools import (
    HcaPort,
    parse_ibstat,
    parse_ibstatus,
    parse_ibv_devinfo,
    parse_rdma_link,
)
from railgauge.facts.pci import parse_lspci
from railgauge.tools.collector import OutputCollector
from railgauge.tools.probed.program import Found, ProbedProgram, complain, count, refuse_twins
from railgauge.tools.text import is_prompt

# --- ports ---


@dataclass(frozen=True, slots=True)
class PortListing:
    """A program that prints the fields of every port: those that each must have, and their meaning.

    ``rate`` is the field with the rate of a port that is active; empty if it prints none.
    """

    parse: Callable[[str], tuple[HcaPort, ...]]
    state: str
    active: str
    needed: tuple[str, ...]
    rate: str = ""

    def read(self, text: str, collector: OutputCollector) -> Found:
        ports = self.parse(text)
        if not ports:
            return None
        refuse_twins(((port.name, port.port) for port in ports), collector)
        up = [port for port in ports if port.fields.get(self.state, "").startswith(self.active)]
        count(collector, "ports_active", len(up))
        count(collector, "ports_not_active", len(ports) - len(up))
        for port in ports:
            if lacking := [name for name in self.needed if name not in port.fields]:
                what = f"{port.name} port {port.port} has no {' and no '.join(lacking)}"
                complain(collector, what)
            elif self.rate and port in up:
                self._add_rate(port, collector)
        return {"ports": [asdict(port) for port in ports]}

    def _add_rate(self, port: HcaPort, collector: OutputCollector) -> None:
        rate = _RATE.fullmatch(port.fields[self.rate])
        if rate:
            collector.add("rate", "Gb/s", float(rate[1]), f"{port.name}/{port.port}")
        else:
            complain(collector, f"{port.name} port {port.port} has no rate in Gb/s")


_RATE = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)(?: Gb/sec(?: \([^()\n]{1,20}\))?)?")
_IBSTAT = PortListing(parse_ibstat, "State", "Active", ("State", "Rate"), "Rate")
_IBSTATUS = PortListing(parse_ibstatus, "state", "4: ACTIVE", ("state", "rate"), "rate")
_DEVINFO = PortListing(parse_ibv_devinfo, "state", "PORT_ACTIVE", ("state", "link_layer"))


def _read_rdma_link(text: str, collector: OutputCollector) -> Found:
    links = parse_rdma_link(text)
    if not links:
        return None
    refuse_twins(((link["name"], link["port"]) for link in links), collector)
    up = sum(link["state"] == "ACTIVE" for link in links)
    count(collector, "ports_active", up)
    count(collector, "ports_not_active", len(links) - up)
    return {"ports": list(links)}


# --- counters ---

_NAME = r"[A-Za-z0-9_\[\]. -]{1,80}"
_STATISTIC = re.compile(rf"(\s{{0,20}})({_NAME}): ([0-9]{{1,20}})\s{{0,20}}")
# Beginnings of the names of counters: a line without indent may be of any program.
_OF_COUNTER = re.compile(
    r"\s{0,20}(?:\[\d{1,4}\] ?:? ?)?(?:[rt]x|ch|port|veb|vport|vf|queue|mac|module|link|phy"
    r"|outbound|roce|tc|dev|q)\d{0,4}[_. \[-]"
)


def _read_ethtool(text: str, collector: OutputCollector) -> Found:
    """Every counter of ``ethtool -S``, also if grep selected some; another line is an error."""
    every = [line for line in text.split("\n") if line.strip() and not is_prompt(line)]
    begins = bool(every) and every[0].strip() == "NIC statistics:"
    rows = [_STATISTIC.fullmatch(line[:200]) for line in every[begins:]]
    found = [row for row in rows if row]
    if not found or len(found) < len(rows) - 1 or not (begins or _are_counters(found)):
        return None
    if len(found) < len(rows):
        complain(collector, "a line is no counter")
    refuse_twins((row[2] for row in found), collector)
    for row in found:
        count(collector, row[2].strip(), float(row[3]))
    if not begins:
        collector.warn(ProblemKind.NO_OPENING_LINE, "no heading: the first counters may be missing")
    return {}


def _are_counters(rows: Sequence[re.Match[str]]) -> bool:
    """Whether rows without their heading are those of ethtool: by their indent, or their names."""
    is_indented = all(row[1] for row in rows) and len(rows) > 1
    return is_indented or all(_OF_COUNTER.match(row[0]) for row in rows)


# --- PCIe ---

_PCI_ADDRESS = re.compile(
    r"^((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])(?:\s|$)", re.MULTILINE
)
_DEVICE = re.compile(
    r"^(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] "
    r"(?:[A-Z0-9][\w /.()\-]{1,60}(?: \[[0-9a-f]{4}\])?|\"[A-Z]|Class [0-9a-f]{4}): \S",
    re.MULTILINE,
)
_CONTROL = re.compile(r"^\s{0,40}ACSCtl:", re.MULTILINE)
# Only -vv and -vvv print it, for every device.
_VERBOSE = re.compile(r"^\s{1,40}Control: ", re.MULTILINE)


def _read_lspci(text: str, collector: OutputCollector) -> Found:
    """Devices, and with ``-vvv`` what redirects peer traffic, links, product data and slots.

    ``redirecting`` is only counted where the access control of bridges is printed. The output of
    ``grep ACSCtl`` names no devices.
    """
    devices, controls = len(_DEVICE.findall(text)), len(_CONTROL.findall(text))
    if not devices and not controls:
        return None
    refuse_twins(_PCI_ADDRESS.findall(text), collector)
    report = parse_lspci(text)
    if devices:
        count(collector, "devices", devices)
    else:
        collector.warn(ProblemKind.NO_OPENING_LINE, "no line of a device: devices are not known")
    if controls or (_VERBOSE.search(text) and not report.problem):
        count(collector, "redirecting", len(report.acs_enabled))
    else:
        what = report.problem or "without -vvv: whether bridges redirect peer traffic is not known"
        collector.warn(ProblemKind.TOOL_WARNING, what)
    if report.links:
        slow = {where: state for where, state in report.links.items() if "(downgraded)" in state}
        count(collector, "links_downgraded", len(slow))
        for where, state in slow.items():
            collector.warn(ProblemKind.TOOL_WARNING, f"{where}: {state}")
    return asdict(report)


PROGRAMS = (
    ProbedProgram("ibstat", _IBSTAT.read),
    ProbedProgram("ibstatus", _IBSTATUS.read),
    ProbedProgram("ibv_devinfo", _DEVINFO.read),
    ProbedProgram("rdma-link", _read_rdma_link),
    ProbedProgram("ethtool", _read_ethtool),
    ProbedProgram("lspci", _read_lspci),
)

"""The library's log: which transports carry its channels, and how a plugin is set."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from railgauge.tools.ccl_tests.algorithms import name_of
from railgauge.tools.ccl_tests.tables import Line

_VIA = re.compile(r" via (\S[^\n]{0,80})")
_NETWORK = re.compile(r"Using network (\S[^\n]{0,40})")
_CHANNELS = re.compile(r" ([0-9]{1,4}) coll channels")
_NVLS_CHANNELS = re.compile(r" [1-9][0-9]{0,3} nvls channels")
_OFFLOADS = re.compile(r" ([0-9]{1,4}) (collnet|nvls) channels")
_CALL = re.compile(r"\b[0-9]{1,20} Bytes -> Algo (\w{1,24}) proto ")
_RANKS = re.compile(r" nranks ([0-9]{1,7})\b")
# How GPUDirect-TCPX binds its threads and interrupts, where its log prints the variables.
_BINDINGS = re.compile(
    r"GPUDIRECTTCPX_((?:TX|RX)(?:_IRQ)?)_BINDINGS(?:=| set by environment to | )(\S{1,300})"
)
_NOT_SET = "(null)"
# FasTrak is the successor's plugin name for the same path from NIC to GPU memory.
_TCPX = ("GPUDirectTCPX", "FasTrak", "TCPX")


@dataclass(slots=True)
class Log:
    """``paths`` counts channel lines by path, such as ``NET/IB/GDRDMA`` or ``P2P/CUMEM``.

    ``bindings`` are those of GPUDirect-TCPX, ``TX_IRQ`` for one; ``None`` is one that is not set.
    ``algorithms`` are those of all calls, in the order in which they come first; ``offloads`` the
    numbers of channels with reductions in switches, of ``nvls`` and ``collnet``, of all ranks.
    """

    paths: Counter[str] = field(default_factory=Counter)
    bindings: dict[str, str | None] = field(default_factory=dict)
    network: str | None = None
    channels: int | None = None
    has_nvls: bool = False
    algorithms: dict[str, None] = field(default_factory=dict)
    offloads: dict[str, set[int]] = field(default_factory=dict)
    nranks: int | None = None

    def take(self, line: Line) -> None:
        if not line.log:
            return
        if call := _CALL.search(line.log):
            self.algorithms[name_of(call[1])] = None
            return
        via = _VIA.search(line.log)
        if via:
            self.paths[_path(via[1])] += 1
        network, channels = _NETWORK.search(line.log), _CHANNELS.search(line.log)
        if network:
            self.network = network[1].strip()
        if channels:
            self.channels = int(channels[1])
            for count, kind in _OFFLOADS.findall(line.log):
                self.offloads.setdefault(kind, set()).add(int(count))
        ranks = _RANKS.search(line.log)
        if ranks:
            self.nranks = int(ranks[1])
        if bound := _BINDINGS.search(line.log):
            value = bound[2].rstrip(".")
            self.bindings[bound[1]] = None if value == _NOT_SET else value
        self.has_nvls |= "Connected NVLS" in line.log or bool(_NVLS_CHANNELS.search(line.log))

    @property
    def transports(self) -> tuple[str, ...]:
        """``IB``, ``GDRDMA``, ``Socket``, ``P2P``, ``SHM``, ``NVLS``, ``TCPX`` and other networks.

        The chosen network counts only if no channel line was logged.
        """
        found = {name for path in self.paths for name in _names(path)}
        if not self.paths and self.network:
            found.add(network_name(self.network))
        if self.has_nvls:
            found.add("NVLS")
        return tuple(sorted(found))


def network_name(printed: str) -> str:
    """Return the name that platform files use for a printed network."""
    if any(name in printed for name in _TCPX):
        return "TCPX"
    return "OFI" if printed.startswith(("AWS Libfabric", "Libfabric", "OFI")) else printed


def _path(via: str) -> str:
    """Shorten ``NET/IB/0(1)/GDRDMA/Shared`` to ``NET/IB/GDRDMA``, without the device's number."""
    first, *others = via.strip().split("/")
    if first != "NET" or not others:
        return "/".join([first, *others[:1]])
    network = network_name(others[0])
    return "/".join([first, network, *(["GDRDMA"] if "GDRDMA" in others[1:] else [])])


def _names(path: str) -> list[str]:
    first, *others = path.split("/")
    return others if first == "NET" else [first]

"""The library's own log: which transports carry its channels."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from railgauge.tools.ccl_tests.lines import Line

_VIA = re.compile(r" via (\S[^\n]{0,80})")
_NETWORK = re.compile(r"Using network (\S[^\n]{0,40})")
_CHANNELS = re.compile(r" ([0-9]{1,4}) coll channels")
_NVLS_CHANNELS = re.compile(r" [1-9][0-9]{0,3} nvls channels")
_RANKS = re.compile(r" nranks ([0-9]{1,7})\b")
# FasTrak is the successor's plugin name for the same path from the NIC into GPU memory.
_TCPX = ("GPUDirectTCPX", "FasTrak", "TCPX")


@dataclass(slots=True)
class Log:
    """``paths`` counts channel lines by path, such as ``NET/IB/GDRDMA`` or ``P2P/CUMEM``."""

    paths: Counter[str] = field(default_factory=Counter)
    network: str | None = None
    channels: int | None = None
    has_nvls: bool = False
    nranks: int | None = None

    def take(self, line: Line) -> None:
        if not line.log:
            return
        via = _VIA.search(line.log)
        if via:
            self.paths[_path(via[1])] += 1
        network, channels = _NETWORK.search(line.log), _CHANNELS.search(line.log)
        if network:
            self.network = network[1].strip()
        if channels:
            self.channels = int(channels[1])
        ranks = _RANKS.search(line.log)
        if ranks:
            self.nranks = int(ranks[1])
        self.has_nvls |= "Connected NVLS" in line.log or bool(_NVLS_CHANNELS.search(line.log))

    @property
    def transports(self) -> tuple[str, ...]:
        """``IB``, ``GDRDMA``, ``Socket``, ``P2P``, ``SHM``, ``NVLS``, ``TCPX`` and other networks.

        The network that was chosen counts only where no channel line was logged.
        """
        found = {name for path in self.paths for name in _names(path)}
        if not self.paths and self.network:
            found.add(network_name(self.network))
        if self.has_nvls:
            found.add("NVLS")
        return tuple(sorted(found))


def network_name(printed: str) -> str:
    """The name of a network as the platform files know it."""
    if any(name in printed for name in _TCPX):
        return "TCPX"
    return "OFI" if printed.startswith(("AWS Libfabric", "Libfabric", "OFI")) else printed


def _path(via: str) -> str:
    """``NET/IB/0(1)/GDRDMA/Shared`` without the number of the device: ``NET/IB/GDRDMA``."""
    first, *others = via.strip().split("/")
    if first != "NET" or not others:
        return "/".join([first, *others[:1]])
    network = network_name(others[0])
    return "/".join([first, network, *(["GDRDMA"] if "GDRDMA" in others[1:] else [])])


def _names(path: str) -> list[str]:
    first, *others = path.split("/")
    return others if first == "NET" else [first]

"""The common form of all lines of RVS: their prefix, and the numbers of GPUs. Pure.

RVS lists the GPUs in the order of their PCI addresses, and so do the smi tools: the first one is
``gpu0``::

    0000:05:00.0 - GPU[ 2 - 42583] AMD Instinct MI355X (Device 30115)
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from railgauge.tools.collector import OutputCollector

PREFIX = re.compile(r"\[(RESULT|INFO|ERROR) {0,4}\] \[ {0,9}[\d.]{1,20} {0,6}\] ?(.{0,400})")
OF_GPU = re.compile(r"\[(\S{1,120})\] \[GPU:: {1,5}([0-9]{1,6})\] (.{1,300})")
_LISTED = re.compile(
    r"([0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]) - "
    r"GPU\[ {0,4}[0-9]{1,4} - {1,5}([0-9]{1,6})\] (.{1,100}?) \(Device [0-9a-fA-Fx]{1,10}\)"
)


@dataclass(slots=True)
class RvsRun:
    """The values of the lines read so far.

    ``listed`` maps RVS's number of a GPU to its address and model. ``results`` are the fields of
    ``NamedResult``; ``seen`` has, for each action, the GPUs that began and those that ended.
    """

    collector: OutputCollector
    listed: dict[str, tuple[str, str]] = field(default_factory=dict)
    results: list[dict[str, object]] = field(default_factory=list)
    began: dict[str, list[str]] = field(default_factory=dict)
    ended: dict[str, list[str]] = field(default_factory=dict)
    peers: dict[str, bool] = field(default_factory=dict)

    def place(self, number: str) -> str:
        """Return ``gpu0``, …; without RVS's list its own number, which no other tool knows."""
        order = sorted(self.listed, key=lambda one: self.listed[one][0].lower())
        return f"gpu{order.index(number) if number in order else number}"

    def take_listed(self, line: str) -> bool:
        match = _LISTED.fullmatch(line)
        if match:
            self.listed[match[2]] = match[1], match[3]
        return match is not None

    def begin(self, action: str, number: str) -> None:
        self.began.setdefault(action, []).append(number)

    def end(self, action: str, number: str, status: str, printed: str, says: str = "") -> None:
        """Take the result of an action on one GPU: ``status`` is ``pass``, ``fail`` or ``skip``."""
        self.ended.setdefault(action, []).append(number)
        self.add_result(action, status, printed, (int(self.place(number)[3:]),), says)

    def add_result(
        self, action: str, status: str, printed: str, gpus: tuple[int, ...] = (), says: str = ""
    ) -> None:
        named = {"name": action, "status": status, "printed": printed}
        self.results.append({**named, "gpus": gpus, "says": says})

"""The NVMe disks of a node: their files in sysfs, and the health in their SMART logs.

The log is the JSON of ``nvme smart-log -o json`` or ``smartctl --json -A``. Both have the page 02h
of the NVM Express Base Specification; only root can read it.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from railgauge.stacks import Section, section

_NAME = r"nvme\d{1,5}"
_FILE = re.compile(rf"({_NAME})/([\w/]{{1,40}}):(.{{0,200}})")
_DISK = re.compile(rf"disk ({_NAME})")
_SPEED = re.compile(r"(\d{1,3}(?:\.\d)?) GT/s(?: PCIe)?")
_WIDTH = re.compile(r"x?(\d{1,2})")
_MOST_DIGITS = 39  # of a counter of 128 bits
_LONGEST_JSON = 20_000
_LONGEST_REASON = 120
_KELVIN = 273
# The names of a field in nvme-cli and in smartctl.
_FIELDS = {
    "critical_warning": ("critical_warning",),
    "media_errors": ("media_errors",),
    "spare_percent": ("avail_spare", "available_spare"),
    "spare_threshold_percent": ("spare_thresh", "available_spare_threshold"),
    "used_percent": ("percent_used", "percentage_used"),
    "temperature_c": ("temperature",),
}
_OF_SMARTCTL = "nvme_smart_health_information_log"
# The bits of the critical warning, in the words of the specification.
_WARNINGS = (
    "available spare below its threshold",
    "temperature outside its thresholds",
    "reliability degraded by media or internal errors",
    "media read-only",
    "backup of the volatile memory failed",
    "persistent memory region read-only or unreliable",
)
NO_DISK = "no NVMe disk is attached by PCIe"


@dataclass(frozen=True, slots=True)
class NvmeSmart:
    """The health that a disk reports: a bit field, a count, percentages, degrees Celsius."""

    critical_warning: int
    media_errors: int
    spare_percent: int
    spare_threshold_percent: int
    used_percent: int
    temperature_c: int

    def faults(self) -> Iterator[str]:
        for bit, means in enumerate(_WARNINGS):
            if self.critical_warning >> bit & 1:
                hot = f" ({self.temperature_c} C)" if "temperature" in means else ""
                yield means + hot
        if self.critical_warning >> len(_WARNINGS):
            yield f"critical warning {self.critical_warning:#04x}"
        if self.spare_percent < self.spare_threshold_percent and not self.critical_warning & 1:
            yield f"spare {self.spare_percent} %, below {self.spare_threshold_percent} %"
        if self.media_errors:
            yield f"{self.media_errors} media errors"


@dataclass(frozen=True, slots=True)
class NvmeFacts:
    """One NVMe controller. ``link`` and ``best_link`` are GT/s of a lane and lanes; of the device.

    ``None`` is what was not read.
    """

    name: str
    address: str | None = None
    model: str | None = None
    serial: str | None = None
    firmware: str | None = None
    link: tuple[float, int] | None = None
    best_link: tuple[float, int] | None = None
    smart: NvmeSmart | None = None


@dataclass(frozen=True, slots=True)
class NvmeDisks:
    """The NVMe disks of a node. A property is ``None`` unless it is known of every disk."""

    controllers: tuple[NvmeFacts, ...]

    @property
    def faults(self) -> tuple[str, ...] | None:
        """The health problems that the disks report."""
        read = [(one.name, one.smart) for one in self.controllers if one.smart]
        if len(read) < len(self.controllers):
            return None
        return tuple(f"{name}: {fault}" for name, smart in read for fault in smart.faults())

    @property
    def used_percent(self) -> int | None:
        """The share of its rated life that the most used disk has used, in percent."""
        read = [one.smart.used_percent for one in self.controllers if one.smart]
        return max(read) if read and len(read) == len(self.controllers) else None

    @property
    def slow_links(self) -> tuple[str, ...] | None:
        """The disks whose PCIe link is slower or narrower than the disk can."""
        read = [(one.name, one.link, one.best_link) for one in self.controllers]
        if not all(link and best for _, link, best in read):
            return None
        return tuple(
            f"{name}: PCIe {_link_text(link)} of {_link_text(best)}"
            for name, link, best in read
            if link and best and (link[0] < best[0] or link[1] < best[1])
        )


def _link_text(link: tuple[float, int]) -> str:
    return f"{link[0]:g} GT/s x{link[1]}"


def disks(sections: Mapping[str, Section]) -> tuple[NvmeDisks | None, dict[str, str]]:
    """Return the disks of the sections ``nvme_disks`` and ``nvme_smart``, and what is missing."""
    printed = section(sections, "nvme_disks")
    if printed.failure:
        return None, {"disks": printed.failure}
    names, files = _files(printed.text)
    if not names:
        return None, {"disks": NO_DISK}
    logs, why = _logs(section(sections, "nvme_smart"))
    found = tuple(_disk(name, files.get(name, {}), logs.get(name)) for name in names)
    missing: dict[str, str] = {}
    for one in found:
        if one.smart is None:
            reason = why.get(one.name) or why.get("") or "no SMART log was printed"
            for field in ("faults", "used_percent"):
                missing.setdefault(f"disks.{field}", f"{one.name}: {reason}")
        if not (one.link and one.best_link):
            missing.setdefault("disks.slow_links", f"{one.name}: sysfs shows no PCIe link")
    return NvmeDisks(found), missing


def _files(text: str) -> tuple[list[str], dict[str, dict[str, str]]]:
    """Return the local disks, and their files by name; disks behind a network are not local."""
    names: list[str] = []
    files: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for line in text.splitlines():
        if match := _DISK.fullmatch(line):
            names.append(match[1])
        elif match := _FILE.fullmatch(line):
            files[match[1]][match[2]] = match[3].strip()
    local = [
        name for name in dict.fromkeys(names) if files[name].get("transport", "pcie") == "pcie"
    ]
    return sorted(local, key=lambda name: int(name.removeprefix("nvme"))), files


def _disk(name: str, files: Mapping[str, str], smart: NvmeSmart | None) -> NvmeFacts:
    return NvmeFacts(
        name,
        address=files.get("address") or None,
        model=files.get("model") or None,
        serial=files.get("serial") or None,
        firmware=files.get("firmware_rev") or None,
        link=_link(files, "current"),
        best_link=_link(files, "max"),
        smart=smart,
    )


def _link(files: Mapping[str, str], which: str) -> tuple[float, int] | None:
    speed = _SPEED.fullmatch(files.get(f"device/{which}_link_speed", ""))
    width = _WIDTH.fullmatch(files.get(f"device/{which}_link_width", ""))
    return (float(speed[1]), int(width[1])) if speed and width and int(width[1]) else None


def _logs(printed: Section) -> tuple[dict[str, NvmeSmart], dict[str, str]]:
    """Return logs and reasons for missing ones by disk; the empty name is that of all others."""
    logs: dict[str, NvmeSmart] = {}
    why: dict[str, str] = {}
    lines_of: defaultdict[str, list[str]] = defaultdict(list)
    name = ""
    for line in printed.text.splitlines():
        match = _DISK.fullmatch(line)
        name = match[1] if match else name
        if match and name in lines_of:
            why[name] = "its SMART log was printed twice"
        lines_of[name] += [] if match else [line]
    for name, lines in lines_of.items():
        smart = read_smart("\n".join(lines))
        if smart and name not in why:
            logs[name] = smart
        else:
            why.setdefault(name, _reason(lines))
    return logs, {**why, **({"": printed.failure} if printed.failure else {})}


def _reason(lines: list[str]) -> str:
    first = next((line.strip() for line in lines if line.strip()), "printed nothing")
    denied = "access denied: " if "denied" in first.lower() or "permitted" in first.lower() else ""
    return f"SMART log: {denied}{first[:_LONGEST_REASON]}"


def read_smart(text: str) -> NvmeSmart | None:
    """Return the log in the JSON of nvme-cli or smartctl; ``None`` if a value is not in it."""
    start = text.find("{")
    if start < 0 or len(text) > _LONGEST_JSON:
        return None
    try:
        document, _ = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    log = document.get(_OF_SMARTCTL, document)
    if not isinstance(log, dict):
        return None
    values = {field: _number(log, names) for field, names in _FIELDS.items()}
    if log is document and values["temperature_c"] is not None:
        values["temperature_c"] -= _KELVIN  # as the page has it; smartctl converts it
    known = {field: value for field, value in values.items() if value is not None}
    return NvmeSmart(**known) if len(known) == len(_FIELDS) else None


def _number(log: Mapping[str, object], names: tuple[str, ...]) -> int | None:
    value = next((log[name] for name in names if name in log), None)
    if isinstance(value, dict):  # nvme-cli takes the warning apart
        value = value.get("value")
    if isinstance(value, str) and value.isdecimal() and len(value) <= _MOST_DIGITS:
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None

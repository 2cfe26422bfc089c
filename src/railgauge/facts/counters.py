"""The error counters of a node: the command that reads all of them, and its output as numbers.

One command reads the counters of GPUs, NICs and their PCIe links, before the first measurement of a
run and after the last one. The differences are the errors of the run.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from railgauge.config.thresholds.counter_groups import PORT_COUNTERS
from railgauge.facts.boot import parse_boot_id
from railgauge.facts.probe import lines_of, split_sections
from railgauge.stacks import Section, Stack, section
from railgauge.stacks.counting import GpuCounters

PROGRAMS = ("nvidia-smi", "amd-smi", "mx-smi", "ethtool")

# A word that no tool prints at the start of a line.
_MARK = "railgauge-counters"
_FILE = re.compile(
    r"(?:^|/)sys/(?:class/(?:infiniband|net)|bus/pci/devices)/([^/]{1,80})/"
    r"(?:ports/1/(?:hw_)?counters/|statistics/|device/)?([A-Za-z0-9_]{1,60}):"
    r"(?:TOTAL_ERR_[A-Z]{1,12} )?([0-9]{1,20})\s*$"  # 64 bits have 20 digits
)
_ETHTOOL = re.compile(r"ethtool/([^/]{1,80})/([a-z0-9_]{1,60}):([0-9]{1,20})\s*$")
_UPTIME = re.compile(r"([0-9]{1,12}\.[0-9]{2}) ", re.ASCII)
_NO_TOOL = 127
_OF_FILES, _ETHTOOL_SECTION = ("ports", "aer", "drops"), "ethtool"


@dataclass(frozen=True, slots=True)
class CounterReading:
    """The counters of a node at one moment.

    ``counts`` has the counters of each device: ``gpu3``, the PCI address of a GPU, the name of a
    NIC on this node. ``failures`` are the reasons why some could not be read. ``up_s`` is the
    node's uptime; readings of earlier versions do not have it.
    """

    boot_id: str | None
    counts: Mapping[str, Mapping[str, int]]
    failures: tuple[str, ...] = ()
    up_s: float | None = None

    def of(self, *devices: str | None) -> dict[str, int]:
        """The counters of one device, which has several names."""
        return {k: v for name in devices if name for k, v in self.counts.get(name, {}).items()}


def reading_argv(
    rootfs: str, stack: Stack | None, nics: Sequence[str], folders: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the command that prints all counters of a node.

    ``stack`` is that of the GPUs, ``None`` to leave them out; ``nics`` are the NICs that
    ``ethtool`` is asked about. ``folders`` are searched for programs before the PATH of the login.
    """
    path = [f"PATH={':'.join(map(shlex.quote, folders))}:$PATH; export PATH"] if folders else []
    lines = [
        f"R=${{1%/}}; N={_MARK}; shift",
        *path,
        *lines_of("sections.sh"),
        *lines_of("counters.sh"),
        "section boot_id one_line proc/sys/kernel/random/boot_id",
        "section uptime cat /proc/uptime",  # the kernel's own, as beside samples of GPUs
        f"section ports ports {' '.join(PORT_COUNTERS)}",
        "section aer aer",
        "section drops drops",
        '[ $# -eq 0 ] || section ethtool statistics "$@"',
        *_gpu_lines(stack),
    ]
    return ("sh", "-c", "\n".join(lines) + "\n", _MARK, rootfs, *nics)


def is_reading(argv: Sequence[str], asked: Sequence[str]) -> bool:
    """Whether a command is that of a reading; its script may be of another version."""
    return [*argv[:2], *argv[3:]] == [*asked[:2], *asked[3:]]


def _gpu_lines(stack: Stack | None) -> Iterator[str]:
    counters = stack.counters if stack else None
    for name, text in counters.commands.items() if counters else ():
        yield f"section {shlex.quote(name)} asked {shlex.quote(text)}"


def parse_reading(output: str, stack: Stack | None) -> CounterReading:
    """Read the output of ``reading_argv``'s command; any text gives a reading.

    A counter that is printed twice with different values is left out.
    """
    sections = split_sections(output, _MARK)
    own = section(sections, "boot_id")
    counters = stack.counters if stack else None
    asked = (*_OF_FILES, *(counters.commands if counters else ()))
    shown = (*asked, *([_ETHTOOL_SECTION] if _ETHTOOL_SECTION in sections else []))
    failures = [section(sections, name).failure for name in shown]
    gpus = counters.parse(sections) if counters else {}
    if counters and not gpus and not _is_missing(counters, sections):
        failures.append(_shows_no_gpu(counters))
    return CounterReading(
        boot_id=None if own.failure else parse_boot_id(own.text),
        counts=_of_files(sections) | {f"gpu{index}": counts for index, counts in gpus.items()},
        failures=tuple(failure for failure in failures if failure),
        up_s=_up_s(section(sections, "uptime").text),
    )


def _up_s(text: str) -> float | None:
    found = _UPTIME.match(text)
    return float(found[1]) if found else None


def _is_missing(counters: GpuCounters, sections: Mapping[str, Section]) -> bool:
    return all(section(sections, name).exit_code == _NO_TOOL for name in counters.commands)


def _shows_no_gpu(counters: GpuCounters) -> str:
    needed = f": that needs {counters.needs}" if counters.needs else ""
    return f"{' and '.join(counters.commands.values())} showed no counter of a GPU{needed}"


def _of_files(sections: Mapping[str, Section]) -> dict[str, Mapping[str, int]]:
    found: dict[str, dict[str, set[int]]] = {}
    for device, name, value in _lines(sections):
        found.setdefault(device, {}).setdefault(name, set()).add(value)
    return {
        device: {name: min(values) for name, values in counts.items() if len(values) == 1}
        for device, counts in found.items()
    }


def _lines(sections: Mapping[str, Section]) -> Iterator[tuple[str, str, int]]:
    for name in _OF_FILES:
        yield from _matches(_FILE, section(sections, name))
    yield from _matches(_ETHTOOL, section(sections, _ETHTOOL_SECTION))


def _matches(pattern: re.Pattern[str], printed: Section) -> Iterator[tuple[str, str, int]]:
    lines: Iterable[str] = () if printed.exit_code is None else printed.text.splitlines()
    for line in lines:
        if match := pattern.search(line[:_LONGEST_LINE]):
            yield match[1], match[2], int(match[3])


_LONGEST_LINE = 300

"""Parsers for the host's own files. Each takes a text; ``None`` means it is not that file's."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256

_RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")
_NUMBERED = re.compile(r"(?:cpu|node)\d{1,6}")
_NVME = re.compile(r"nvme\d{1,5}(c\d{1,5})?n1")
_GOVERNOR = re.compile(r"[a-z][a-z_]*")
_MOST_CPUS = 65_536
_LONGEST_LINE = 4000
_LONGEST_PRODUCT = 200
_MODULE = re.compile(r"([\w\-]+) \d+ -?\d+\b.*")
_MEMLOCK = re.compile(r"^Max locked memory\s+(unlimited|\d{1,20})\s", re.MULTILINE)
_NODE_CPUS = re.compile(r"node(\d{1,4})/cpulist:([\d,\-]*)")
_COMM = re.compile(r"(\d{1,10})/(comm|cmdline):(.*)")
_OFED = re.compile(r"([\w.\-]{3,80}):?")
_STARTS = re.compile(r"starts [\w.@\-]+\.wants/([\w.@\-]+\.service)")
_LISTED = re.compile(r"(file|module|cmdline) (.*)")
_ON_COMMAND_LINE = re.compile(r"(?:^| )(?:rd\.)?modules[_-]load=([\w,\-]+)")
_PEER = re.compile(r"([\w.\-]+)/version")
_MACHINE = re.compile(r"[0-9a-f]{32}")
_NAMES_CPU = re.compile(r"(model name|CPU implementer|CPU part|cpu)\s*:(.*)")
_MEMORY = re.compile(r"^MemTotal:\s+(\d{1,15}) kB$", re.MULTILINE)
_KIB_PER_MIB = 1024
_GUESTS = re.compile(
    r"qemu|kvm|vmware|virtualbox|innotek|xen\b|bochs|parallels|bhyve|virtual machine|openstack"
    r"|google compute engine|amazon ec2|alibaba cloud",
    re.IGNORECASE,
)
_BARE_METAL = re.compile(r"\bmetal\b", re.IGNORECASE)
_FLAG = re.compile(r"\s*(\d{1,9})\s*")
_SECONDS = re.compile(r"\s*(\d{1,12})\s*")


def parse_line(text: str) -> str | None:
    """Return the only word of a file such as ``/proc/sys/kernel/hostname``."""
    lines = text.split()
    return lines[0] if len(lines) == 1 else None


def parse_product(text: str) -> str | None:
    """Return the machine's name in ``/sys/class/dmi/id/product_name``: words on one line."""
    line = text.strip()
    return line if line.isprintable() and 0 < len(line) <= _LONGEST_PRODUCT else None


def parse_virtual(text: str) -> bool | None:
    """Return whether the machine is a guest: ``guest`` or ``host``, as the CPUs report.

    CPUs other than x86 do not report it; then ``dmi NAME`` lines name the machine's maker.
    """
    lines = text.splitlines()
    if lines and lines[0] in ("guest", "host"):
        return lines[0] == "guest"
    maker = " ".join(line.removeprefix("dmi ") for line in lines if line.startswith("dmi "))
    return bool(_GUESTS.search(maker)) and not _BARE_METAL.search(maker) if maker else None


def parse_machine_id(text: str) -> str | None:
    """Return a digest of ``/etc/machine-id``; ``None`` if the file is empty or uninitialized.

    machine-id(5) asks for the id to be kept confidential, so it is hashed with a word of this
    program. Equal ids have equal digests.
    """
    match = _MACHINE.fullmatch(text.strip())
    return sha256(f"railgauge machine-id {match[0]}".encode()).hexdigest()[:32] if match else None


def parse_cpu_model(text: str) -> str | None:
    """Return the processor that ``/proc/cpuinfo`` names: the model, or an Arm core's numbers.

    ``model name : AMD EPYC 9654`` gives ``AMD EPYC 9654``; a node with different processors has
    all of their names.
    """
    lines = [_NAMES_CPU.fullmatch(line[:_LONGEST_LINE]) for line in text.splitlines() if line]
    named = [(match[1], " ".join(match[2].split())) for match in lines if match]
    words = [name if key in ("model name", "cpu") else f"{key} {name}" for key, name in named]
    return "; ".join(dict.fromkeys(words)) if all(lines) and all(words) and words else None


def parse_memory(text: str) -> int | None:
    """Return the memory that the kernel can use, in MiB: ``MemTotal`` of ``/proc/meminfo``."""
    match = _MEMORY.search(text)
    return int(match[1]) // _KIB_PER_MIB if match else None


def parse_seconds(text: str) -> int | None:
    """Return the time that ``date +%s`` prints: seconds since 1970."""
    match = _SECONDS.fullmatch(text)
    return int(match[1]) if match else None


def parse_os(text: str) -> str | None:
    """Return ``PRETTY_NAME`` of ``/etc/os-release``."""
    match = re.search(r"""^PRETTY_NAME=["']?([^"'\n]+)""", text, re.MULTILINE)
    return match[1].strip() or None if match else None


def parse_count(text: str) -> int | None:
    """Count CPUs or NUMA nodes in the kernel's list ``0-55,112-167``, or in directory names."""
    words = text.replace(",", " ").split()
    if words and all(map(_NUMBERED.fullmatch, words)):
        return len(set(words))
    ranges = [_RANGE.fullmatch(word) for word in words]
    sizes = [int(m[2] or m[1]) - int(m[1]) + 1 for m in ranges if m]
    return sum(sizes) if sizes and len(sizes) == len(words) and min(sizes) > 0 else None


def parse_cpu_list(text: str) -> tuple[int, ...] | None:
    """Return the CPUs in a kernel list: ``0-2,8`` is 0, 1, 2 and 8. An empty list is valid."""
    parts = [_RANGE.fullmatch(part) for part in text.strip().split(",")] if text.strip() else []
    if not all(parts):
        return None
    spans = [(int(m[1]), int(m[2] or m[1])) for m in parts if m]
    # No machine has more CPUs; a corrupt file must not fill the memory.
    if any(last - first > _MOST_CPUS for first, last in spans):
        return None
    return tuple(sorted({cpu for first, last in spans for cpu in range(first, last + 1)}))


def format_cpu_list(cpus: Iterable[int]) -> str:
    """Return CPUs as a kernel list: ``1-16``."""
    known = set(cpus)
    starts = sorted(cpu for cpu in known if cpu - 1 not in known)
    ends = sorted(cpu for cpu in known if cpu + 1 not in known)
    spans = zip(starts, ends, strict=True)
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def parse_numa_cpus(text: str) -> dict[str, str] | None:
    """Return CPUs by NUMA node, from ``node0/cpulist:0-51,104-155``; a list may be empty."""
    found = [_NODE_CPUS.fullmatch(line) for line in text.split()]
    return {m[1]: m[2] for m in found if m} if found and all(found) else None


def parse_named_processes(text: str) -> tuple[tuple[int, str, str], ...] | None:
    """Return pid, name and arguments, from ``4711/comm:nvvs`` and ``4711/cmdline:nvvs -x``."""
    found = [_COMM.fullmatch(line[:_LONGEST_LINE]) for line in text.splitlines() if line.strip()]
    if not all(found):
        return None
    arguments = {m[1]: m[3].strip() for m in found if m and m[2] == "cmdline"}
    return tuple((int(m[1]), m[3], arguments.get(m[1], "")) for m in found if m and m[2] == "comm")


def parse_numa_daemons(text: str) -> tuple[str, ...] | None:
    """Return running daemons and units that start at boot (``starts …wants/numad.service``)."""
    lines = text.splitlines()
    starts = [_STARTS.fullmatch(line) for line in lines if line.startswith("starts ")]
    running = parse_named_processes("\n".join(x for x in lines if not x.startswith("starts ")))
    if running is None or not all(starts):
        return None
    units = {f"{match[1]} (starts at boot)" for match in starts if match}
    return (*(f"{name} (pid {pid})" for pid, name, _ in running), *sorted(units))


def parse_nvmes(text: str) -> tuple[str, ...] | None:
    """Return NVMe disks by the name of their first namespace, ``nvme0n1``; there may be none."""
    found = [_NVME.fullmatch(word) for word in text.split()]
    # nvme0c1n1 is a path to nvme0n1, which is listed beside it.
    return tuple(sorted({m[0] for m in found if m and not m[1]})) if all(found) else None


def parse_governors(text: str) -> tuple[str, ...] | None:
    """Return the distinct governors; ``None`` if any line is not a governor."""
    words = [line.strip() for line in text.splitlines() if line.strip()]
    return tuple(sorted(set(words))) if words and all(map(_GOVERNOR.fullmatch, words)) else None


def parse_boost(text: str) -> bool | None:
    """Return whether CPUs may run above their base frequency."""
    return _BOOST.get(text.strip())


_BOOST = {
    "intel_pstate/no_turbo 0": True,
    "intel_pstate/no_turbo 1": False,
    "cpufreq/boost 1": True,
    "cpufreq/boost 0": False,
}


def parse_ofed(text: str) -> str | None:
    """Return the release in ``ofed_info -s``: ``MLNX_OFED_LINUX-23.10-0.5.5.0`` and a colon."""
    match = _OFED.fullmatch(parse_line(text) or "")
    return match[1] if match else None


def parse_flag(text: str) -> int | None:
    """Return a small number, as in ``/proc/sys/kernel/numa_balancing``."""
    match = _FLAG.fullmatch(text)
    return int(match[1]) if match else None


def parse_memlock(text: str) -> str | None:
    """Return the soft limit of locked memory in ``/proc/self/limits``: ``unlimited`` or bytes."""
    match = _MEMLOCK.search(text)
    return match[1] if match else None


def parse_memlock_config(text: str) -> tuple[str, ...] | None:
    """Return ``hard unlimited``, … of ``* hard memlock unlimited``, for all users; the last counts.

    ``-`` is both. ``None`` if a line is no limit.
    """
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if any(len(words) < _OF_A_LIMIT or words[2] != "memlock" for words in lines):
        return None
    found: dict[str, str] = {}
    for domain, kind, _, value, *_ in lines:
        if domain == "*":
            found |= dict.fromkeys(("soft", "hard") if kind == "-" else (kind,), value)
    return tuple(sorted(f"{kind} {value}" for kind, value in found.items()))


_OF_A_LIMIT = 4


def parse_modules(text: str) -> tuple[str, ...] | None:
    """Return the loaded modules in ``/proc/modules``, sorted; built-in ones are not listed."""
    lines = [line for line in text.splitlines() if line.strip()]
    found = [_MODULE.fullmatch(line) for line in lines]
    return tuple(sorted({m[1] for m in found if m})) if all(found) else None


def parse_boot_modules(text: str) -> tuple[str, ...] | None:
    """Return the modules that each boot loads, sorted, spelled as in ``/proc/modules``.

    A line ``file etc/modules-load.d/hpc.conf`` precedes the ``module`` lines of that file. If
    several folders ``modules-load.d`` have a file of the same name, the first counts, as in
    systemd. A ``cmdline`` line is a word of the kernel's command line.
    """
    lines = [_LISTED.fullmatch(line) for line in text.splitlines() if line.strip()]
    if not all(lines):
        return None
    found: set[str] = set()
    seen: set[str] = set()
    counts = False
    for match in (line for line in lines if line):
        kind, word = match[1], match[2]
        if kind == "file":
            name = word.rpartition("modules-load.d/")[2]
            counts = name not in seen
            seen.add(name)
        elif kind == "module" and counts:
            found.add(word)
        elif kind == "cmdline":
            found.update(x for names in _ON_COMMAND_LINE.findall(word) for x in names.split(","))
    return tuple(sorted(name.replace("-", "_") for name in found if name))


def parse_peers(text: str) -> tuple[str, ...] | None:
    """Return peer memory drivers, from lines ``mxcd/version``; there may be none."""
    found = [_PEER.fullmatch(line) for line in text.split()]
    return tuple(sorted({m[1] for m in found if m})) if all(found) else None

"""What was measured: the header that perftest prints before a table, in plain values."""

from __future__ import annotations

import re

_FIELD = re.compile(
    r"(Dual-port|Device|Number of qps|Transport type|Connection type|PCIe relax order|Mtu"
    r"|Link type|GID index|Use [A-Za-z]{1,12} memory)[ \t]{0,20}:[ \t]{0,20}([^\s\[]{1,80})"
)
_TITLE = re.compile(
    r"^[ \t]{0,80}((RDMA_Write|RDMA_Read|Send|Atomic)\b[\w ]{0,60}? ?(BW|Latency)(?: Test))[ \t]*$",
    re.MULTILINE,
)
_VERSION = re.compile(r"^[ \t]{0,8}Version: ([0-9][\w.]{0,20})[ \t]*$", re.MULTILINE)
_GPU = re.compile(
    r"Using (maca|ROCm) Device with ID: ([0-9]{1,3})"
    r"|(?:Picking device No\. |\[pid = [0-9]{1,10}, dev = )([0-9]{1,3})"
)
_GPU_MODEL = re.compile(
    r"Using (?:maca|ROCm) Device with ID: [0-9]{1,3}, Name: ([^,\n]{1,60}),"
    r"|device name = \[([^\]\n]{1,60})\]"
)
_GPU_BUS = re.compile(
    r"PCI Bus ID: 0x(?P<bus>[0-9a-fA-F]{1,2}),"
    r"|CUDA device (?P<index>[0-9]{1,3}): PCIe address is (?P<listed>[0-9a-fA-F]{2}):"
)
_CUDA = ("initializing CUDA", "creating CUDA Ctx", "CUDA_MEM_DEVICE")
_VERBS = {"RDMA_Write": "write", "RDMA_Read": "read", "Send": "send", "Atomic": "atomic"}
_NAMES = {
    "Device": "device",
    "Transport type": "transport_type",
    "Connection type": "connection_type",
    "Link type": "link_type",
}
_NUMBERS = {"Number of qps": "qps", "Mtu": "mtu_bytes", "GID index": "gid_index"}


def read_version(text: str) -> str | None:
    match = _VERSION.search(text)
    return match[1] if match else None


def read_summary(text: str) -> dict[str, object]:
    """Header fields by name; what was not printed is absent.

    Keys: ``test``, ``command``, ``bidirectional``, ``device``, ``qps``, ``mtu_bytes``,
    ``gid_index``, ``link_type``, ``transport_type``, ``connection_type``, ``relaxed_ordering``,
    ``memory`` (``host``, ``cuda``, ``rocm``, ``maca``), ``gpu`` (several that are named are a
    tuple), ``gpu_model`` and ``gpu_bus`` (a number). ``host`` means that the header says so, or
    that nothing in a printed header or banner speaks of a GPU. Where both sides printed, the first
    one counts.
    """
    fields: dict[str, str] = {}
    for name, value in _FIELD.findall(text):
        fields.setdefault(name, value)
    title = _TITLE.search(text)
    named = summarise(title[1] if title else "", fields)
    return {**named, **_gpu(text, fields)}


def summarise(title: str, fields: dict[str, str]) -> dict[str, object]:
    """The title and the header fields, under the names of ``read_summary``."""
    summary = _test(title)
    for printed, name in _NAMES.items():
        if printed in fields:
            summary[name] = fields[printed]
    for printed, name in _NUMBERS.items():
        if fields.get(printed, "").isascii() and fields.get(printed, "").isdigit():
            summary[name] = int(fields[printed])
    if "PCIe relax order" in fields:
        summary["relaxed_ordering"] = fields["PCIe relax order"] == "ON"
    return summary


def _test(title: str) -> dict[str, object]:
    match = _TITLE.search(title)
    if match is None:
        return {}
    kind = "bw" if match[3] == "BW" else "lat"
    return {
        "test": match[1],
        "command": f"ib_{_VERBS[match[2]]}_{kind}",
        "bidirectional": "Bidirectional" in match[1],
    }


def _gpu(text: str, fields: dict[str, str]) -> dict[str, object]:
    named = list(_GPU.finditer(text))
    match = named[0] if named else None
    memory = memory_of(fields)
    if match and match[1]:
        # The line before the header tells of a GPU that was opened, the header of what is used.
        memory = "host" if _is_off(match[1], fields) else match[1].lower()
    elif match or any(sign in text for sign in _CUDA):
        memory = "cuda"
    elif not fields and memory == "host":
        # Without a header nothing says which memory it was.
        return {}
    gpus = tuple(dict.fromkeys(int(one[2] or one[3]) for one in named))
    gpu = {"gpu": gpus[0] if len(gpus) == 1 else gpus} if gpus else {}
    model = _GPU_MODEL.search(text)
    named_as = {"gpu_model": model[1] or model[2]} if model else {}
    return {"memory": memory, **gpu, **named_as, **_gpu_bus(text, gpu.get("gpu"))}


def _gpu_bus(text: str, gpu: object) -> dict[str, object]:
    """The PCI bus of the GPU in use: named with it, or in the list of all of them (CUDA)."""
    for match in _GPU_BUS.finditer(text):
        if match["bus"] or (gpu is not None and match["index"] == str(gpu)):
            return {"gpu_bus": int(match["bus"] or match["listed"], 16)}
    return {}


def _is_off(name: str, fields: dict[str, str]) -> bool:
    return any(
        printed.lower() == f"use {name.lower()} memory" and value == "OFF"
        for printed, value in fields.items()
    )


def memory_of(fields: dict[str, str]) -> str:
    """The memory that a header field ``Use X memory : ON`` names; ``host`` without one."""
    for name, value in fields.items():
        if name.startswith("Use ") and value == "ON":
            return name.split()[1].lower()
    return "host"

"""``nvidia-smi``, which passes each subcommand to its module, and ``nv-fabricmanager``."""

from __future__ import annotations

import sys

from . import nvidia_query, nvidia_topo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]

_CHANGES = {"-pm", "--persistence-mode", "-lgc", "--lock-gpu-clocks", "-rgc", "--reset-gpu-clocks"}
_NO_DEVICES = "No devices were found"
_NO_DRIVER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that"
    " the latest NVIDIA driver is installed and running.\n"
)


def run(tool: str, arguments: list[str], node: Node) -> int:
    """Return nvidia-smi's exit code: 9 without the driver, 6 without GPUs, 2 for bad arguments."""
    if tool == "nv-fabricmanager":
        print(f"Fabric Manager version is : {node['smi']['fabric_manager']}")
        return 0
    if "nvidia" not in node["host"]["modules"]:
        print(_NO_DRIVER)
        return 9
    if not node["gpus"]:
        print(_NO_DEVICES)
        return 6
    rest, selected = _selection(arguments, node)
    if selected is None:
        print("No devices were found")
        return 6
    return _asked(rest, selected, node)


def _asked(rest: list[str], gpus: list[tuple[int, Any]], node: Node) -> int:
    word = rest[0] if rest else ""
    if word.startswith("--query-"):
        return nvidia_query.csv(rest, gpus, node)
    if word == "topo":
        return nvidia_topo.topology(rest[1:], node)
    if word == "nvlink":
        return nvidia_topo.nvlink(rest[1:], gpus, node)
    if word.partition("=")[0] in _CHANGES:
        return nvidia_query.changed(rest, gpus, node)
    return _report(rest, gpus, node)


def _report(rest: list[str], gpus: list[tuple[int, Any]], node: Node) -> int:
    from . import nvidia_text  # noqa: PLC0415 - queries are more frequent and do not need it

    if rest in (["-L"], ["--list-gpus"]):
        print("\n".join(f"GPU {i}: {g['model']} (UUID: {nvidia_query.uuid(g)})" for i, g in gpus))
    elif not rest:
        print("\n".join(nvidia_text.table(gpus, node)))
    elif set(rest) <= {"-q", "--query", "-x", "--xml-format"} and len(rest) > 1:
        print("\n".join(nvidia_text.xml(gpus, node)))
    elif rest[0] in ("-q", "--query"):
        print("\n".join(nvidia_text.details(gpus, node)))
    else:
        sys.stdout.write(f"Invalid combination of input arguments. {' '.join(rest)}\n")
        return 2
    return 0


def _selection(arguments: list[str], node: Node) -> tuple[list[str], Any]:
    """Return the arguments without ``-i``, and the GPUs that it selects (``None`` if no GPU)."""
    rest, wanted = [], ""
    words = iter(arguments)
    for word in words:
        if word in ("-i", "--id"):
            wanted = next(words, "")
        elif word.startswith(("-i=", "--id=")):
            wanted = word.partition("=")[2]
        else:
            rest.append(word)
    gpus = [(index, nvidia_query.with_errors(node, gpu)) for index, gpu in enumerate(node["gpus"])]
    if not wanted:
        return rest, gpus
    chosen = [(i, g) for i, g in gpus if str(i) in wanted.split(",") or g["bus"] in wanted.lower()]
    return rest, chosen or None

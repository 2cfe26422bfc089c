"""The lines that perftest prints when its buffers are in GPU memory, for each vendor's build."""

from __future__ import annotations

from .perftest_options import PerftestRefused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]
    Test = dict[str, Any]

_UNREGISTERED = "Couldn't allocate MR\nfailed to create mr\nFailed to create MR\n"
_UNREGISTERED += " Couldn't create IB resources\n"


def allocated(test: Test, node: Node, size_bytes: int) -> list[str]:
    """Return the lines before the header.

    Raises ``PerftestRefused`` for an unknown GPU, or if GPU memory cannot be registered.
    """
    index, count = test["gpu"], len(node["gpus"])
    if index >= count:
        raise PerftestRefused(_WRONG_INDEX[test["gpu_flag"]].format(index=index, count=count))
    by_dmabuf = test["gpu_dmabuf"]
    if not by_dmabuf and node["perftest"].get("needs_peer_memory") and not _has_peer_memory(node):
        raise PerftestRefused(_UNREGISTERED)
    lines = _ALLOCATED[test["gpu_flag"]](node, index, test["buffer"], size_bytes)
    return [*lines, _BY_DMABUF.format(test["buffer"], size_bytes)] if by_dmabuf else lines


def freed(test: Test) -> list[str]:
    """Return the lines after the table."""
    if test["gpu_flag"] == "use_cuda":
        return [f"deallocating GPU buffer {test['buffer']:016x}", "destroying current CUDA Ctx"]
    return [f"deallocating GPU buffer {test['buffer']:#x}"]


_BY_DMABUF = (
    "using DMA-BUF for GPU buffer address at {0:#x} aligned at {0:#x} with aligned size {1}"
)


def _has_peer_memory(node: Node) -> bool:
    needed = node["collectives"]["peer_memory"]
    module, client = needed["module"], needed["client"]
    return (not module or module in node["host"]["modules"]) and (
        not client or client in node["peer_memory"]
    )


def _maca(node: Node, index: int, buffer: int, size_bytes: int) -> list[str]:
    gpu = node["gpus"][index]
    bus = int(gpu["bus"].split(":")[1], 16)
    return [
        f"Using maca Device with ID: {index}, Name: {gpu['model']}, PCI Bus ID: {bus:#x}, "
        f"metax Arch: {gpu['arch']}",
        f"allocated {size_bytes} bytes of GPU buffer d_A:{buffer:#x}",
    ]


def _rocm(node: Node, index: int, buffer: int, size_bytes: int) -> list[str]:
    gpu = node["gpus"][index]
    bus = int(gpu["bus"].split(":")[1], 16)
    return [
        f"Using ROCm Device with ID: {index}, Name: {gpu['model']}, PCI Bus ID: {bus:#x}, "
        f"GCN Arch: {gpu['arch']}",
        f"allocated {size_bytes} bytes of GPU buffer at {buffer:#x}",
    ]


def _cuda(node: Node, index: int, buffer: int, size_bytes: int) -> list[str]:
    listed = [
        f"CUDA device {i}: PCIe address is {gpu['bus'][5:10].upper()}"
        for i, gpu in enumerate(node["gpus"])
    ]
    model = node["gpus"][index]["model"]
    return [
        "initializing CUDA",
        "Listing all CUDA devices in system:",
        *listed,
        "",
        f"Picking device No. {index}",
        f"[pid = {buffer >> 24 & 0xFFFF}, dev = {index}] device name = [{model}]",
        "creating CUDA Ctx",
        "making it the current CUDA Ctx",
        "CUDA device integrated: 0",
        f"cuMemAlloc() of a {size_bytes} bytes GPU buffer",
        f"allocated GPU buffer address at {buffer:016x} pointer={buffer:#x}",
    ]


_ALLOCATED = {"use_maca": _maca, "use_rocm": _rocm, "use_cuda": _cuda}
_WRONG_INDEX = {
    "use_maca": "Requested maca device {index} but found only {count} device(s)\n"
    "Couldn't init GPU context\n",
    "use_rocm": "Requested ROCm device {index} but found only {count} device(s)\n"
    "Couldn't init GPU context\n",
    "use_cuda": "Couldn't initialize CUDA device {index}: there are {count} devices supporting"
    " CUDA\nCouldn't init GPU context\n",
}

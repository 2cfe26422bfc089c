"""``nvidia-smi topo -m`` and ``nvidia-smi nvlink -s``."""

from __future__ import annotations

import sys

from .nvidia_query import BAD_LINK, LINK_ERRORS, uuid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]

# The legend of the distances, which the tools of more than one vendor print in the same words.
DISTANCES = """\
  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes \
(e.g., QPI/UPI)
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges \
within a NUMA node
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)
  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
  PIX  = Connection traversing at most a single PCIe bridge"""
_LEGEND = f"""\
Legend:

{DISTANCES}
  NV#  = Connection traversing a bonded set of # NVLinks"""


def topology(words: list[str], node: Node) -> int:
    """Print the matrix; return exit code 0, or 2 for any other topo command."""
    if words not in (["-m"], ["--matrix"]):
        sys.stdout.write("Invalid combination of input arguments for topo. Please run"
                         " 'nvidia-smi topo -h' for help.\n")  # fmt: skip
        return 2
    print("\n".join(_matrix(node)))
    return 0


def _matrix(node: Node) -> list[str]:
    gpus, nics = node["gpus"], _nics(node)
    names = [f"GPU{i}" for i in range(len(gpus))] + [f"NIC{i}" for i in range(len(nics))]
    heads = "\t".join(["", *names, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"])
    rows = [f"\x1b[4m{heads}\x1b[0m"]
    for i, gpu in enumerate(gpus):
        cells = ["X" if one is gpu else node["smi"]["link"] for one in gpus]
        cells += [gpu["links"][nic] for nic in nics]
        cpus = node["smi"]["affinity"][gpu["numa"]]
        rows.append(_row(f"GPU{i}", cells) + f"\t{cpus}\t{gpu['numa']}\t\tN/A")
    for i, nic in enumerate(nics):
        cells = [gpu["links"][nic] for gpu in gpus]
        cells += ["X" if one == nic else _between(node, nic, one) for one in nics]
        rows.append(_row(f"NIC{i}", cells) + "\t\t\t\t")
    legend = ["NIC Legend:", "", *(f"  NIC{i}: {nic}" for i, nic in enumerate(nics)), ""]
    return [*rows, "", *_LEGEND.split("\n"), "", *(legend if nics else [])]


def _nics(node: Node) -> list[str]:
    """Return the NICs of the matrix, which are RDMA devices only."""
    return list(node["devices"])


def _between(node: Node, one: str, other: str) -> str:
    same = node["devices"][one]["numa"] == node["devices"][other]["numa"]
    return "NODE" if same else "SYS"


def _row(name: str, cells: list[str]) -> str:
    return "\t".join([name, *(f" {cell} " if cell == "X" else cell for cell in cells)])


def nvlink(words: list[str], gpus: list[tuple[int, Any]], node: Node) -> int:
    """Print the speed (``-s``) or the error counters (``-e``) of every link.

    Returns exit code 0, or 2 for any other nvlink command.
    """
    if not words or words[0] not in ("-s", "--status", "-e", "--errorcounters"):
        sys.stdout.write("Invalid combination of input arguments for nvlink.\n")
        return 2
    for index, gpu in gpus:
        print(f"GPU {index}: {gpu['model']} (UUID: {uuid(gpu)})")
        down = gpu.get("nvlinks_down", [])
        for link in range(node["smi"]["nvlinks"]):
            if words[0] in ("-s", "--status"):
                speed = "<inactive>" if link in down else f"{node['smi']['nvlink_gb_s']:g} GB/s"
                print(f"\t Link {link}: {speed}")
            else:
                errors = gpu["link_errors"] if link == BAD_LINK else {}
                for kind in LINK_ERRORS:
                    print(f"\t Link {link}: {kind} Errors: {errors.get(kind, 0)}")
    return 0

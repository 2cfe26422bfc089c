"""The program that a launcher starts on every rank."""

from __future__ import annotations

import os
import sys

from . import cores, counters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]
    Program = dict[str, Any]

_WRAPPERS = {"numactl", "env", "taskset", "stdbuf"}


def named(command: list[str], environment: dict[str, str]) -> Program:
    """Return tool and arguments without leading wrappers such as ``env K=V`` or ``numactl``.

    The variables that ``env`` sets are added to ``environment``. ``teller`` names the script by
    which each rank prints its place, and ``bound`` what the launcher binds it to, and deals ranks
    out over.
    """
    rest, teller = _without_teller(list(command))
    while rest and os.path.basename(rest[0]) in _WRAPPERS:  # noqa: PTH119 - see main.py
        rest.pop(0)
        while len(rest) > 1 and (rest[0].startswith("-") or "=" in rest[0]):
            key, equals, value = rest.pop(0).partition("=")
            if equals and not key.startswith("-"):
                environment[key] = value
    tool = {"tool": rest[0], "arguments": rest[1:], "environment": environment}
    return {**tool, "teller": teller, "bound": ("", "")}


_PLACES = 4
# sh -c SCRIPT NAME, then the PCI vendor and the name of a variable where it looks for the GPU.
_TELLING = {"railgauge-rank": 2, "railgauge-core": 0}


def _without_teller(command: list[str]) -> tuple[list[str], str]:
    """Return the command without the shell by which each rank tells its place, and its name."""
    name = "".join(command[3:_PLACES]) if command[:2] == ["sh", "-c"] else ""
    return (command[_PLACES + _TELLING[name] :], name) if name in _TELLING else (command, "")


def installed(node: Node, name: str) -> bool:
    """Return whether the node has the program, on its PATH or at the path ``name``."""
    plain = os.path.basename(name)  # noqa: PTH119 - see main.py
    return plain in node["tools"] and (plain == name or os.path.exists(name))  # noqa: PTH110


def run_job(job: Program, slots: list[tuple[Node, int]], environment: dict[str, str]) -> int:
    """Run the tool over all ranks; return the exit code.

    If the tool is broken on any node, the whole job behaves like that broken tool. ``environment``
    is what the ranks get from the launcher.
    """
    name = os.path.basename(job["tool"])  # noqa: PTH119 - see main.py
    given = {**environment, **job["environment"]}
    for node, _ in slots:
        broken = node["broken_tools"].get(name)
        if broken:
            return _broken(broken)
    if job["teller"] == "railgauge-rank":
        _tell_places(slots)
    elif job["teller"]:
        _tell_cores(slots, *job["bound"])
    for node in {node["name"]: node for node, _ in slots}.values():
        counters.count_errors(node)
    owner = sys.modules[f"{__package__}.main"].module(slots[0][0]["tools"][name])
    if hasattr(owner, "run_job"):  # its ranks work together
        return owner.run_job(name, job["arguments"], slots, given)  # type: ignore[no-any-return]
    return _one_each(name, job["arguments"], slots)


def _tell_places(slots: list[tuple[Node, int]]) -> None:
    """Print what each rank says of its place: the CPUs of its GPU's NUMA node."""
    for node, local in slots:
        gpu, host = node["gpus"][local], node["host"]
        at = (one["numa"] for one in node["pci"] if one["address"] == gpu["bus"])
        cpus = host["numa_nodes"][gpu.get("numa", next(at, 0))]
        print(f"railgauge: rank {local} of {node['name']}: GPU {gpu['bus']}, CPUs {cpus}")


def _tell_cores(slots: list[tuple[Node, int]], bind: str, mapping: str) -> None:
    for node, local in slots:
        cpus = cores.given(node, local, bind, mapping)
        core = cores.core_of(node, cpus)
        print(f"railgauge: rank {local} of {node['name']}: core {core}, CPUs {cpus}")


def _broken(how: str) -> int:
    main = sys.modules[f"{__package__}.main"]
    code: int = main.BROKEN[how]()
    return code


def _one_each(name: str, arguments: list[str], slots: list[tuple[Node, int]]) -> int:
    """Run a program that is no collective: one rank after the other; return the largest code."""
    main = sys.modules[f"{__package__}.main"]
    codes: list[int] = [
        main.module(node["tools"][name]).run(name, arguments, node) for node, _ in slots
    ]
    return max(codes)

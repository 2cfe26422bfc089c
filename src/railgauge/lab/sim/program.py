"""The program that a launcher starts on every rank."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]
    Program = dict[str, Any]

_WRAPPERS = {"numactl", "env", "taskset", "stdbuf"}


def named(command: list[str], environment: dict[str, str]) -> Program:
    """Return tool and arguments without leading wrappers such as ``env K=V`` or ``numactl``.

    The variables that ``env`` sets are added to ``environment``.
    """
    rest = list(command)
    while rest and os.path.basename(rest[0]) in _WRAPPERS:  # noqa: PTH119 - see main.py
        rest.pop(0)
        while len(rest) > 1 and (rest[0].startswith("-") or "=" in rest[0]):
            key, equals, value = rest.pop(0).partition("=")
            if equals and not key.startswith("-"):
                environment[key] = value
    return {"tool": rest[0], "arguments": rest[1:], "environment": environment}


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
    if name.endswith("_perf"):
        from .collective import run_job as collective  # noqa: PLC0415 - only collectives need it

        return collective(name, job["arguments"], slots, given)
    return _one_each(name, job["arguments"], slots)


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

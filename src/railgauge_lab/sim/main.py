"""Read the node's description, then run the module that simulates the tool.

The description maps every tool to a module of this package with
``run(tool, arguments, node) -> exit code``; for example, ``ib_write_bw`` is simulated by
``perftest``. A new platform adds such modules and changes nothing here. Broken tools are simulated
in this module.
"""

from __future__ import annotations

import os
import sys
import time

from . import counters, fault_timing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]

_NOISE_BYTES = 4096


def main(tool: str, node_file: str, arguments: list[str]) -> int:
    """Run ``tool`` as the node in ``node_file`` would, and return its exit code."""
    signal = __import__("_signal")  # the enums that signal adds take a fifth of the start time
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    node = fault_timing.present(node_file)
    broken = node["broken_tools"].get(tool)
    if broken:
        return BROKEN[broken]()
    if node["tools"][tool] in counters.MEASURES:
        counters.count_errors(node)
    return module(node["tools"][tool]).run(tool, arguments, node)  # type: ignore[no-any-return]


def module(name: str) -> Any:
    """Return the module of this package with that name."""
    package = __package__ or ""
    __import__(f"{package}.{name}")
    return sys.modules[f"{package}.{name}"]


def _silent() -> int:
    return 0


def _hangs() -> int:
    while True:
        time.sleep(3600)


def _garbage() -> int:
    os.write(1, os.urandom(_NOISE_BYTES))
    return 0


def _floods() -> int:
    """Write lines without end; SIGPIPE ends the process when the reader is gone."""
    block = b"mlx5: unexpected completion, retrying\n" * 1700
    while True:
        os.write(1, block)


BROKEN = {"silent": _silent, "hangs": _hangs, "garbage": _garbage, "floods": _floods}

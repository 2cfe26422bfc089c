"""Finds the node, then the module that plays the tool; plays the broken tools itself.

A node's file maps every tool to a module of this package that has
``run(tool, arguments, node) -> exit code``. A new platform adds such modules; nothing here changes.
"""

from __future__ import annotations

import os
import sys
import time

from . import stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]

_NOISE_BYTES = 4096


def main(tool: str, node_file: str, arguments: list[str]) -> int:
    """Run ``tool`` as the node in ``node_file`` would, and return its exit code."""
    signal = __import__("_signal")  # what signal adds to it are enums, a fifth of the start
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    node = stored.read(node_file)
    broken = node["broken_tools"].get(tool)
    if broken:
        return BROKEN[broken]()
    return module(node["tools"][tool]).run(tool, arguments, node)  # type: ignore[no-any-return]


def module(name: str) -> Any:
    """The module of this package that plays a tool."""
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
    """Endless lines; it ends when nobody reads any more."""
    block = b"mlx5: unexpected completion, retrying\n" * 1700
    while True:
        os.write(1, block)


BROKEN = {"silent": _silent, "hangs": _hangs, "garbage": _garbage, "floods": _floods}

"""A tool on a node of a standing lab that waits in the middle of a run until a test lets it go."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testing.acceptance import Project, Run
from testing.standing_lab import StandingLab
from testing.waiting import wait_until

LIMIT_S = 60.0  # limit for a run that hangs
_SHIM = """#!/bin/sh
echo x >>{home}/calls
if [ "$(wc -l <{home}/calls)" -eq "$(cat {home}/hold 2>/dev/null)" ] 2>/dev/null; then
  : >{home}/held
  while [ -e {home}/hold ]; do sleep 0.05; done
fi
exec {real} "$@"
"""


# Starts a run with these options that prints to a file; as ``Project.start`` does.
Start = Callable[..., Any]


@dataclass(frozen=True)
class HeldTool:
    """``ib_write_bw`` on the node whose folder is ``home``."""

    home: Path

    def hold(self, call: int) -> None:
        """From now on, the tool's ``call``-th call waits until ``go`` is called."""
        for name in ("calls", "held"):
            (self.home / name).unlink(missing_ok=True)
        (self.home / "hold").write_text(str(call), encoding="utf-8")

    def wait_held(self) -> None:
        wait_until((self.home / "held").exists, LIMIT_S, "the tool to be held")

    def go(self) -> None:
        (self.home / "hold").unlink(missing_ok=True)


def held_tool(lab: StandingLab, node: str) -> HeldTool:
    """Put it in the place of the node's tool."""
    home = lab.home(node)
    tool, real = home / "bin" / "ib_write_bw", home / "real" / "ib_write_bw"
    real.parent.mkdir()
    real.symlink_to(tool.readlink())
    tool.unlink()
    tool.write_text(_SHIM.format(home=home, real=real), encoding="utf-8")
    tool.chmod(0o755)
    return HeldTool(home)


@dataclass(frozen=True)
class HeldRun:
    """A run in the middle of a measurement on the node of a held tool."""

    project: Project
    pid: int
    end: Callable[..., Run]
    """Wait for its end, for as many seconds as given."""


@contextmanager
def held_run(
    tool: HeldTool, project: Project, *options: str, start: Start = Project.start
) -> Iterator[HeldRun]:
    """Start a run that waits in the tool's second call."""
    tool.hold(2)
    output = project.folder / "output.txt"
    process = start(project, output, *options)

    def ended(within_s: float = LIMIT_S) -> Run:
        began = time.monotonic()
        code = process.wait(within_s)
        text = output.read_text(errors="replace")
        return Run(project, code, text, "", time.monotonic() - began)

    try:
        tool.wait_held()
        yield HeldRun(project, process.pid, ended)
    finally:
        tool.go()
        process.kill()
        process.wait()

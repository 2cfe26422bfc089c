"""Which programs of this machine a selftest can use: only those that it names.

A node of a test has a folder of its own as PATH, with links to what a node is stated to have
(``NODE``). The tools of GPUs and NICs are there where a test puts them. What is tested on real
programs of this machine asks for them by name, on ``machine()``.

With ``RAILGAUGE_CI=1`` stand-ins for such tools come first on the PATH. Each of them fails, and
writes down who asked: a test that would see a program of the machine is found on any machine.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from railgauge_lab.tree import CORE_UTILITIES

NODE = tuple(CORE_UTILITIES)
"""What every node is stated to have: a shell and the utilities that the suite's shell text uses."""

# Tools that the suite calls on a node; no test may use this machine's.
STAND_INS = (  # noqa: SIM905 - read as words
    "nvidia-smi dcgmi nvbandwidth rocm-smi amd-smi rvs TransferBench mx-smi all_reduce_perf"
    " gpu_burn gpu-fryer rocblas-bench hipblaslt-bench"
    " lspci ibv_devinfo ibdev2netdev show_gids ethtool numactl docker podman"
).split()
_ASKED = "asked"
_FOLDER = "RAILGAUGE_STAND_INS"
_STAND_IN = """#!/bin/sh
echo "${{0##*/}} $*, asked for in ${{PYTEST_CURRENT_TEST:-an unknown test}}" >>'{asked}'
echo "${{0##*/}}: a stand-in that fails: no selftest has asked for this program" >&2
exit 9
"""


def folder_of(folder: Path, *names: str) -> Path:
    """A new folder with links to these programs of this machine, which must exist."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        found = shutil.which(name, path=machine())
        assert found, f"{name} is not on this machine"
        (folder / name).symlink_to(found)
    return folder


def node_path(own: Path, scratch: Path) -> str:
    """The PATH of a node: its own programs, then those that every node has, linked in ``scratch``.

    What of it this machine lacks, the node lacks.
    """
    there = [name for name in NODE if shutil.which(name, path=machine())]
    basic = scratch if scratch.is_dir() else folder_of(scratch, *there)
    return f"{own}{os.pathsep}{basic}"


def cannot_run(reason: str) -> NoReturn:
    """Skip a test for something that this machine lacks.

    With ``RAILGAUGE_CI=1`` it fails: ``.ci/run`` brings all that is needed, and what it no longer
    tests must not look tested.
    """
    if os.environ.get("RAILGAUGE_CI") == "1":
        pytest.fail(f"cannot be skipped with RAILGAUGE_CI=1: {reason}")
    pytest.skip(reason)


def asked(name: str) -> str:
    """The path of a program of this machine that a test needs."""
    return shutil.which(name, path=machine()) or cannot_run(f"{name} is not installed")


def machine() -> str:
    """This machine's PATH with the administrator's folders, for tests that name their programs."""
    stand_ins = os.environ.get(_FOLDER)
    kept = [
        part for part in os.environ.get("PATH", os.defpath).split(os.pathsep) if part != stand_ins
    ]
    return os.pathsep.join([*kept, "/usr/sbin", "/sbin"])


def stand_in(folder: Path) -> None:
    """Put stand-ins first on the PATH of this process and its children."""
    folder.mkdir(parents=True)
    for name in STAND_INS:
        path = folder / name
        path.write_text(_STAND_IN.format(asked=folder / _ASKED), encoding="utf-8")
        path.chmod(0o755)
    os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    os.environ[_FOLDER] = str(folder)


def asked_for() -> list[str]:
    """The calls of each stand-in so far."""
    asked = Path(os.environ.get(_FOLDER, ""), _ASKED)
    return asked.read_text(encoding="utf-8").splitlines() if asked.is_file() else []


if __name__ == "__main__":  # a PATH with few programs, for make bare
    node_path(Path(), Path(sys.argv[1]))

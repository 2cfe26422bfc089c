"""``railgauge node`` on a node of a lab, as if it were this machine: its tools, its files."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from testing import prepared
from testing.acceptance import environment
from testing.lab_bench import Bench
from testing.places import ROOT

TIME_LIMIT_S = 120.0


def hostfile(bench: Bench, index: int = 0) -> Path:
    """The hostfile of the lab's nodes, whose tools and files are in the folder of one of them."""
    names = ", ".join(node.name for node in bench.nodes)
    path = bench.home(index) / "site.yaml"
    if not path.exists():
        platform = bench.lab.cluster.platform
        path.write_text(f"cluster: site\nplatform: {platform}\nrootfs: root\nnodes: [{names}]\n")
    return path


def words(bench: Bench, *options: str, index: int = 0) -> tuple[str, ...]:
    """The command that checks a node of the lab; what it keeps is in the node's folder."""
    named = ("--hostfile", str(hostfile(bench, index)), "--name", bench.nodes[index].name)
    return ("node", "--root", str(ROOT), *named, "--state", str(state(bench, index)), *options)


def state(bench: Bench, index: int = 0) -> Path:
    """The folder in which the checks of a node keep what the next one needs."""
    return bench.home(index) / "state"


def here(bench: Bench, index: int = 0) -> dict[str, str]:
    """The variables of a program that runs on a node of the lab."""
    home = bench.home(index)
    return {"PATH": os.fspath(home / "bin"), "HOME": os.fspath(home)}


def checked(bench: Bench, *options: str, index: int = 0) -> subprocess.CompletedProcess[str]:
    request = prepared.Request(
        words(bench, *options, index=index),
        bench.home(index),
        environment(),
        TIME_LIMIT_S,
        more=here(bench, index),
        program="railgauge",
    )
    return prepared.run(request)


def told(bench: Bench, *options: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(checked(bench, "--json", *options).stdout)
    return found

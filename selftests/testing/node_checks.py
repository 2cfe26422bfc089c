"""``railgauge node`` on a node of a lab, as if it were this machine: its tools, its files."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
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


def reported(bench: Bench, *options: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(checked(bench, "--json", *options).stdout)
    return found


def put(bench: Bench, path: str, text: str, index: int = 0) -> None:
    """Write a file of a node; files of the lab that are equal are one file with several names."""
    file = bench.home(index) / "root" / path
    file.unlink()
    file.write_text(text)


def entered(bench: Bench, folder: Path, script: str, path: str, **variables: str) -> Path:
    """A script that runs one of the examples on the node of the lab that Slurm names.

    ``path`` are the folders of programs that are no part of the lab.
    """
    program = folder / "railgauge"
    imports = "from railgauge.cli import main; raise SystemExit(main())"
    program.write_text(
        f"#!/bin/sh\nexec {sys.executable} -c {shlex.quote(imports)} "
        f'"$@" --root {ROOT} --state "$PWD/state"\n'
    )
    program.chmod(0o755)
    known = {"RAILGAUGE": program, "RAILGAUGE_HOSTFILE": hostfile(bench), **variables}
    lines = [f"export {name}={shlex.quote(os.fspath(value))}" for name, value in known.items()]
    made = folder / f"on-node-{script}"
    made.write_text(
        "\n".join(
            (
                "#!/bin/sh",
                *lines,
                f'cd "{bench.folder}/nodes/$SLURMD_NODENAME" || exit 9',
                f'export PATH="$PWD/bin:{path}"',
                f"exec {ROOT}/examples/{script}\n",
            )
        )
    )
    made.chmod(0o755)
    return made

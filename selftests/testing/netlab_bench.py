"""Runs scripts beside a real cluster of namespaces, and what they share."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from testing import programs
from testing.acceptance import QUICK

TIME_LIMIT_S = 400
PROGRAMS = ("unshare", "nsenter", "ip", "tc", "nft", "hostname", "ssh")

# What a script inside has: the nodes by SSH, and a place for what it found.
_PRELUDE = """
import json, os, subprocess, sys, time
from pathlib import Path

HOSTFILE = Path(os.environ["RAILGAUGE_HOSTFILE"])
FOLDER = HOSTFILE.parent
FOUND = {}
SSH = ["ssh", "-F", "/dev/null", "-i", f"{FOLDER}/id_ed25519", "-o", "BatchMode=yes",
       "-o", f"UserKnownHostsFile={FOLDER}/known_hosts", "-o", "KexAlgorithms=curve25519-sha256",
       "-o", "ConnectTimeout=20"]

def on(node, command, limit_s=60, *options):
    argv = [SSH[0], *options, *SSH[1:], f"root@{node}", command]
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=limit_s)
    except subprocess.TimeoutExpired as late:
        texts = [(text or b"").decode() for text in (late.stdout, late.stderr)]
        return {"code": None, "out": texts[0], "err": texts[1]}
    return {"code": done.returncode, "out": done.stdout, "err": done.stderr}
"""
_CODA = '\nPath(sys.argv[1]).write_text(json.dumps(FOUND), encoding="utf-8")\n'


def missing() -> str:
    """What this machine lacks for a cluster of namespaces; empty if nothing."""
    path = programs.machine()
    if lacking := [name for name in PROGRAMS if shutil.which(name, path=path) is None]:
        return f"{', '.join(lacking)} not found"
    probe = subprocess.run(["unshare", "-Urnm", "true"], capture_output=True, check=False)
    return "user namespaces are restricted" if probe.returncode and os.geteuid() else ""


def argv(*options: str) -> list[str]:
    """``railgauge tcp-lab`` of this tree, with these options and words."""
    main = "import sys; from railgauge.cli import main; sys.exit(main())"
    return [sys.executable, "-c", main, "tcp-lab", *options]


def lab(options: Sequence[str], command: Sequence[str], cwd: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        [*argv(*options), "--", *command],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
        check=False,
        env={k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")} | QUICK,
        preexec_fn=_before_others,
    )


def _before_others() -> None:
    """What is measured for real must not be slow because other tests use the processor."""
    with suppress(PermissionError):
        os.nice(-10)


def visit(script: str, folder: Path, *options: str) -> dict[str, Any]:
    """What ``script`` put into FOUND, run beside a cluster with these options."""
    program, found = folder / "visit.py", folder / "found.json"
    program.write_text(_PRELUDE + script + _CODA, encoding="utf-8")
    done = lab(options, [sys.executable, str(program), str(found)], folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(found.read_text(encoding="utf-8"))

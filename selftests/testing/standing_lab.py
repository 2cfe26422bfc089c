"""A lab that runs on its own (``railgauge lab up``), reached like any cluster over SSH.

A test may look into its nodes' files and change their programs, before a run, during it and after.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from testing import prepared
from testing.acceptance import ROOT, Project, environment

_LAB_UP = ("lab", "up", "--nodes", "2", "--json")
_END_LIMIT_S = 20.0


@dataclass(frozen=True)
class StandingLab:
    """``logins`` are the ssh commands that ``lab up`` printed, by node."""

    platform: str
    logins: Mapping[str, str]

    def home(self, node: str) -> Path:
        words = shlex.split(self.logins[node])
        return Path(words[words.index("-i") + 1]).parent / "nodes" / node

    def file(self, node: str, path: str) -> Path:
        """A file of the node's simulated /proc or /sys."""
        return self.home(node) / "root" / path

    def files(self) -> dict[str, str]:
        """All files of all nodes that change only if a run changes the node."""
        return {
            f"{node}/{path.relative_to(self.home(node))}": path.read_text(errors="replace")
            for node in self.logins
            for path in (self.home(node) / "root").rglob("*")
            if path.is_file()
            and path.parent.name not in ("counters", "statistics")
            and path.name != "uptime"
        }

    def hostfile(self, project: Project, more: str = "") -> tuple[str, str]:
        """Write a hostfile for this lab; returns the options that name it."""
        nodes = "".join(_node(name, login) for name, login in self.logins.items())
        text = f"cluster: standing\nplatform: {self.platform}\ntransport: ssh\nrootfs: root\n"
        path = project.write("standing.yaml", f"{text}nodes:\n{nodes}{more}\n")
        return ("--hostfile", path.name)


def _node(name: str, login: str) -> str:
    match = re.fullmatch(
        r"ssh -p (\d+) -i (\S+) .*UserKnownHostsFile=(\S+) (\w+)@(\S+)", login.strip()
    )
    assert match, login
    port, key, known_hosts, user, address = match.groups()
    return (
        f"  - name: {name}\n    address: {address}\n"
        f"    ssh: {{port: {port}, user: {user}, key: {key}, known_hosts: {known_hosts}, "
        "agent: false}\n"
    )


@contextmanager
def standing_lab(folder: Path, platform: str, *options: str) -> Iterator[StandingLab]:
    """A lab of ``platform`` with two nodes; its files are below ``folder``."""
    folder.mkdir()
    arguments = (*_LAB_UP, "--hostfile", f"hostfiles/lab-{platform}.yaml", *options)
    own = {"TMPDIR": str(folder)}
    request = prepared.Request(
        arguments, ROOT, environment(), float("inf"), more=own, program="railgauge"
    )
    printed, output = os.pipe()
    with os.fdopen(output, "wb") as to_read, os.fdopen(os.dup(2), "wb") as errors:
        process = prepared.start(request, to_read, errors)
    try:
        with os.fdopen(printed, encoding="utf-8") as lines:
            yield StandingLab(platform, _printed(lines))
    finally:
        process.send_signal(signal.SIGINT)
        code = process.wait(_END_LIMIT_S)
    assert code == 0, code
    assert list(folder.iterdir()) == []


def _printed(lines: TextIO) -> dict[str, str]:
    """The JSON document that is printed when the lab is up; the program keeps running."""
    text = ""
    while not text.endswith("}\n"):
        line = lines.readline()
        assert line, "the lab did not come up"
        text += line
    found: dict[str, str] = json.loads(text)
    return found

"""One run at a time on a node, and a run that dies leaves nothing on it.

The nodes are behind OpenSSH's server, which ends nothing when a connection does. Their tool ignores
TERM, and has a child in a session of its own that does so too.
"""

from __future__ import annotations

import getpass
import os
import re
import shlex
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from testing import prepared
from testing.acceptance import BARE_SMOKE, Project, Run, assert_clean, environment, make_project
from testing.standing_lab import standing_lab
from testing.standing_sshd import StandingServers, sshd, standing_servers
from testing.waiting import wait_until

FEW = (*BARE_SMOKE, "-k", "send_bandwidth and 8MiB")
START_LIMIT_S = 60.0
# Time for the lease holder to notice, and for TERM and KILL, on a busy machine.
GONE_LIMIT_S = 30.0
END_LIMIT_S = 120.0

_STUBBORN = """\
#!/bin/sh
case "$*" in *127.0.*) ;; *) exec {real} "$@" ;; esac
if [ ! -e {flag} ]; then exec {real} "$@"; fi
trap '' TERM HUP INT
setsid sh -c 'trap "" TERM HUP INT; sleep 300; :' &
sleep 300
:
"""


@dataclass(frozen=True)
class Site:
    servers: StandingServers
    flag: Path

    def state(self) -> dict[str, str]:
        """All files of the nodes, leases included."""
        return self.servers.lab.files()


@pytest.fixture(scope="module")
def site(
    tmp_path_factory: pytest.TempPathFactory, cannot_run: Callable[[str], None]
) -> Iterator[Site]:
    if sshd() is None:
        cannot_run("sshd is not installed (openssh-server)")
    folder = tmp_path_factory.mktemp("holding")
    with standing_lab(folder / "lab", "connectx4-homelab") as lab:
        flag = folder / "stubborn"
        for node in lab.logins:
            make_stubborn(lab.home(node), flag)
        with standing_servers(lab, folder / "servers") as servers:
            yield Site(servers, flag)
            end_what_failed_tests_left(folder)


def make_stubborn(home: Path, flag: Path) -> None:
    """The tool's client hangs while the flag exists."""
    tool, real = home / "bin" / "ib_send_bw", home / "real" / "ib_send_bw"
    real.parent.mkdir()
    tool.rename(real)
    tool.write_text(_STUBBORN.format(flag=shlex.quote(str(flag)), real=shlex.quote(str(real))))
    tool.chmod(0o755)


def end_what_failed_tests_left(folder: Path) -> None:
    """Processes with the PATH of the lab's nodes; a run that passed leaves none."""
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"PATH={folder}/lab".encode() in (entry / "environ").read_bytes():
                os.kill(int(entry.name), signal.SIGKILL)


@dataclass
class Running:
    """A run in the background."""

    project: Project
    process: subprocess.Popen[bytes] | prepared.Started
    output: Path

    @property
    def text(self) -> str:
        return self.output.read_text(errors="replace")

    @property
    def tag(self) -> str:
        """The beginning of this run's tag."""
        return (self.project.folder / "reports" / "latest").resolve().name

    def processes(self) -> dict[int, str]:
        return tagged(self.tag)

    def end(self, number: signal.Signals | None = None) -> Run:
        if number is not None:
            self.process.send_signal(number)
        try:
            code = self.process.wait(END_LIMIT_S)
        finally:
            self.process.kill()
        return Run(self.project, code, self.text, "", 0.0)


def start(site: Site, project: Project, *options: str) -> Running:
    output = project.folder / "output.txt"
    words = (*site.servers.hostfile(project), *FEW, *options)
    return Running(project, project.start(output, *words, new_session=True), output)


def start_fresh(site: Site, project: Project, *options: str) -> Running:
    """In a new interpreter, whose workers can be recognized by their command lines."""
    output = project.folder / "output.txt"
    with output.open("wb") as file:
        process = subprocess.Popen(
            project.command(*site.servers.hostfile(project), *FEW, *options),
            cwd=project.folder,
            stdout=file,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=environment(),
            start_new_session=True,
        )
    return Running(project, process, output)


def tagged(run: str) -> dict[int, str]:
    """The processes of this machine with the tag of a run: pid and command line."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if f"RAILGAUGE_RUN={run}".encode() in (entry / "environ").read_bytes():
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(entry.name)] = words.decode(errors="replace")[:60]
        except OSError:
            continue
    return found


def is_stubborn(running: Running) -> bool:
    """Whether its tool is running, and the processes that it started outside its group."""
    return sum("sleep 300" in words for words in running.processes().values()) >= 3


def wait_for_its_tool(running: Running) -> None:
    wait_until(
        lambda: is_stubborn(running) or running.process.poll() is not None,
        START_LIMIT_S,
        "its tool to run",
    )
    assert is_stubborn(running), running.text


def workers_of(running: Running) -> list[int]:
    path = Path(f"/proc/{running.process.pid}/task/{running.process.pid}/children")
    pids = [int(word) for word in path.read_text().split()]
    return [pid for pid in pids if b"exec(eval(" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_a_held_node_a_killed_run_and_one_that_waits(site: Site, tmp_path: Path) -> None:
    before = site.state()
    site.flag.touch()
    killed = start(site, make_project(tmp_path / "killed"), "-n", "1")
    wait_for_its_tool(killed)

    refused = start(site, make_project(tmp_path / "refused")).end()
    assert refused.code == 4, refused.output
    assert_clean(refused)
    who = re.search(r"railgauge: (\w+): held by (.*?) since 20\S+ \(run (\S+)\)(.*)", refused.words)
    assert who
    assert (who[1], who[3]) == ("columbia", killed.tag)
    assert who[2] == f"{getpass.getuser()} on {socket.gethostname()}"
    assert who[4].startswith("; 1 more of the nodes are taken; wait for it: --wait SECONDS")
    assert re.search(r"^ERROR: railgauge: columbia: held by", refused.output, re.MULTILINE)
    assert "outcomes.Exit" not in refused.output
    assert "survey" not in refused.output
    assert not (refused.latest / "transcripts").exists()
    assert not (refused.latest / "verdict.json").exists()
    assert is_stubborn(killed)

    site.flag.unlink()
    waiting = start(site, make_project(tmp_path / "waiting"), "--wait", "100")
    printed = "lease: waiting up to 100 s for"
    wait_until(lambda: printed in waiting.text, START_LIMIT_S, printed)
    assert killed.tag in waiting.text
    killed.process.kill()
    wait_until(lambda: not killed.processes(), GONE_LIMIT_S, "the end of what the run started")
    run = waiting.end()
    assert run.is_good, run.output
    assert_clean(run)
    assert waiting.processes() == {}
    assert site.state() == before


def test_a_killed_worker_ends_no_tool_and_ctrl_c_ends_it(site: Site, tmp_path: Path) -> None:
    before = site.state()
    site.flag.touch()
    running = start_fresh(site, make_project(tmp_path / "run"), "-n", "1")
    wait_for_its_tool(running)
    first = running.processes()
    (worker,) = workers_of(running)
    os.kill(worker, signal.SIGKILL)
    left = {pid for pid, words in first.items() if "lease" not in words and "sleep 300" in words}
    assert left
    wait_until(lambda: workers_of(running) not in ([], [worker]), START_LIMIT_S, "the next worker")
    assert running.process.poll() is None
    assert left <= set(running.processes())

    run = running.end(signal.SIGINT)
    assert run.code == 2, run.output
    assert_clean(run)
    assert running.processes() == {}
    site.flag.unlink()
    assert site.state() == before
    assert [path.name for path in (tmp_path / "run" / "reports" / "latest").glob("leases")] == []


def test_a_time_limit(site: Site, tmp_path: Path) -> None:
    """The tool's time limit ends every process that it started, also those outside its group."""

    def short(document: dict[str, Any]) -> None:
        for measurement in document["measurements"].values():
            measurement["time_limit_s"] = 1

    project = make_project(tmp_path / "run")
    project.edit_platform("connectx4-homelab", short)
    before = site.state()
    site.flag.touch()
    running = start(site, project, "-k", "test_bandwidth and host_send_bandwidth- and 8MiB")
    wait_for_its_tool(running)
    run = running.end()
    site.flag.unlink()
    assert run.code == 10, run.output
    assert running.processes() == {}
    assert site.state() == before

"""The SSH server of a node is stopped (SIGSTOP) while several pairs are being measured."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from testing.acceptance import BARE_SMOKE, Run, assert_sound, make_project
from testing.held_tool import HeldTool, held_run, held_tool
from testing.standing_lab import standing_lab
from testing.standing_sshd import StandingServers, sshd, standing_servers

FROZEN = "columbia"
LISTEN_LIMIT_S = 30  # what the measurement waits for the tool of the node that is stopped


@dataclass(frozen=True)
class Site:
    servers: StandingServers
    tool: HeldTool


@pytest.fixture(scope="module")
def site(
    tmp_path_factory: pytest.TempPathFactory, cannot_run: Callable[[str], None]
) -> Iterator[Site]:
    if sshd() is None:
        cannot_run("sshd is not installed (openssh-server)")
    folder = tmp_path_factory.mktemp("frozen")
    with (
        standing_lab(folder / "lab", "connectx4-homelab", "--nodes", "6") as lab,
        standing_servers(lab, folder / "servers") as servers,
    ):
        yield Site(servers, held_tool(lab, FROZEN))


def _family(pid: int) -> list[int]:
    """The process and all its descendants."""
    children: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            children += map(int, task.read_text().split())
    return [pid, *(one for child in children for one in _family(child))]


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """Stop the process, so that it starts no child, and then each of its descendants."""
    os.kill(pid, signal.SIGSTOP)
    family = _family(pid)
    try:
        for one in family[1:]:
            os.kill(one, signal.SIGSTOP)
        yield
    finally:
        for one in family:
            with suppress(ProcessLookupError):
                os.kill(one, signal.SIGCONT)


def test_a_stopped_server_delays_its_own_pairs_only(site: Site, tmp_path: Path) -> None:
    """All other pairs are measured while the run waits for the node that does not answer."""
    project = make_project(tmp_path / "site")
    words = (*site.servers.hostfile(project, "patience_s: 5"), *BARE_SMOKE, "--at-once", "3")
    with held_run(site.tool, project, *words) as held, stopped(site.servers.pids[FROZEN]):
        site.tool.go()
        run = held.end(300)
    assert_sound(run)
    assert {one["where"]["node"] for one in run.verdict["causes"]} == {FROZEN}
    lost = {case for case, data in run.transcripts.items() if data["error"]}
    assert lost
    assert all(FROZEN in case for case in lost)
    held = max(run.transcripts, key=lambda case: longest_s(run.transcripts[case]))
    nodes = held.partition("[")[2].partition("-")[0].split(":")
    assert FROZEN in nodes
    begun = sorted(started_s(run, lambda case: not any(node in case for node in nodes)))
    assert len(begun) > 50
    assert max(b - a for a, b in pairwise(begun)) < LISTEN_LIMIT_S / 2


def longest_s(data: dict[str, Any]) -> float:
    """What the longest command of a measurement lasted."""
    return max((done["duration_s"] for repeat in data["runs"] for done in repeat), default=0.0)


def started_s(run: Run, is_counted: Callable[[str], bool]) -> Iterator[float]:
    """When each command of these pairs' measurements was started."""
    for case, data in run.transcripts.items():
        if ":" in case and is_counted(case):
            for done in (one for repeat in data["runs"] for one in repeat):
                yield datetime.fromisoformat(done["started_at"]).timestamp()

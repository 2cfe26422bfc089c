"""A silent tool in a container runs on; if its node is gone, the connection is lost."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
import test_containers
from test_containers import RUN, START_S, Place
from testing.waiting import wait_until

from railgauge import containers
from railgauge.leases.holder import sweep_command
from railgauge.transport import silence

pytestmark = pytest.mark.usefixtures("impatient")
place = test_containers.place


def test_a_silent_tool_runs_on_and_a_node_that_is_gone_is_lost(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What shows that the command runs is on the node, and needs nothing of the container."""
    monkeypatch.setattr(silence, "BEAT_S", 0.5)
    monkeypatch.setattr(silence, "LIMIT_S", 3.0)
    session = place.session()
    done = session.run(place.command("sh", "-c", "sleep 4; echo done"))
    assert (done.stdout, done.error) == ("done\n", "")
    running = session.start(place.command("sh", "-c", "echo begun; sleep 60"))
    assert running.first_line(START_S) == "begun"
    group = group_on_the_node()
    os.killpg(group, signal.SIGSTOP)
    try:
        began = time.monotonic()
        assert running.wait(60).error == "connection-lost"
        assert time.monotonic() - began < 10
        assert session.lost
    finally:
        os.killpg(group, signal.SIGCONT)
        os.killpg(group, signal.SIGTERM)
    session.close()
    if place.container.engine in containers.DETACHED:  # as the lease of the node does then
        again = place.session()
        again.run(sweep_command("n01", RUN, "main", (place.container.engine,)))
        again.close()
    wait_until(lambda: place.left() == [], 20, "the end of the container")


def group_on_the_node() -> int:
    """The process group of the one command: ``timeout`` leads it, which this process started."""
    children = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    found = {int(word) for path in children for word in path.read_text().split()}
    (group,) = (
        pid for pid in found if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"timeout\0-k")
    )
    return group

"""``transport: exec``: its hostfile, its errors, and nodes of real namespaces."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from testing.namespaces import namespaces
from testing.places import ROOT
from testing.transport_contract import SERVER, STUBBORN, pids_in, python
from testing.waiting import wait_until

from railgauge.config.hostfile import load
from railgauge.core.errors import HostfileError, NodeUnreachable, PortInUse
from railgauge.core.model import Command, Node
from railgauge.transport import Session
from railgauge.transport.registry import connect

pytestmark = pytest.mark.usefixtures("impatient")

# --- a node with its own network and processes ---


@pytest.fixture
def apart(cannot_run: Callable[[str], NoReturn]) -> Iterator[tuple[str, ...]]:
    kinds = ("--net", "--pid", "--mount", "--uts")
    with namespaces(cannot_run, *kinds) as words:
        yield words


@pytest.fixture
def there(apart: tuple[str, ...]) -> Iterator[Session]:
    session = connect("exec", Node("n01", "x", "x", exec=apart))
    yield session
    session.close()


def processes(words: tuple[str, ...]) -> list[str]:
    """The command lines of the node's processes, without those that look."""
    look = [*words, "sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"]
    return subprocess.run(look, capture_output=True, text=True, check=False).stdout.split()


def test_commands_run_on_the_node(there: Session) -> None:
    assert there.run(Command("n01", ("hostname",))).stdout == "n01\n"


def test_a_port_is_free_or_taken_on_the_node(there: Session, free_port: int) -> None:
    with socket.create_server(("127.0.0.1", free_port)):
        server = there.start(python(SERVER, str(free_port), listens_on=free_port))
        server.wait_ready(10)
    again = there.start(python(SERVER, str(free_port), listens_on=free_port))
    with pytest.raises(PortInUse):
        again.wait_ready(10)
    server.stop()


def test_a_group_ends_in_its_own_process_namespace(
    there: Session, apart: tuple[str, ...], tmp_path: Path
) -> None:
    running = there.start(python(STUBBORN, str(tmp_path / "pids")))
    pids_in(tmp_path / "pids")
    assert str(tmp_path / "pids") in processes(apart)
    running.stop()
    assert str(tmp_path / "pids") not in processes(apart)


# Takes the node's lease, starts a command that closes its output, and waits to be killed.
MAIN = """
import json, sys, time
from railgauge.core.model import Command, Node
from railgauge.leases.holder import Holder, hold_command
from railgauge.transport.registry import connect
from railgauge.transport.tag import Tag
words, root = json.loads(sys.argv[1]), sys.argv[2]
session = connect("exec", Node("n01", "x", "x", exec=tuple(words)), Tag("r1", "main"))
holder = Holder("ana", "login", "r1", "now", "r1")
lease = session.start(hold_command("n01", root, holder, "r1", 0.5))
print(lease.first_line(20), flush=True)
session.start(Command("n01", ("sh", "-c", "exec sleep 512 >/dev/null 2>&1")))
time.sleep(60)
"""


def test_nothing_is_left_after_the_run_was_killed(apart: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp").chmod(0o1777)
    argv = [sys.executable, "-c", MAIN, json.dumps(apart), str(tmp_path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout
        assert run.stdout.readline().startswith("held ")
        wait_until(lambda: "512" in processes(apart), 10, "the command")
        run.send_signal(signal.SIGKILL)
    wait_until(lambda: "512" not in processes(apart), 20, "the end of the command")
    wait_until(lambda: not any((tmp_path / "tmp").iterdir()), 10, "the end of the lease")


# --- what does not work ---


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("no-such-program", "exec"), "cannot start no-such-program"),
        (("sh", "-c", "echo 'pods \"gpu01\" not found' >&2; exit 1"), "sh ended with 1: pods"),
        (("false",), "false ended with 1: it printed nothing"),
    ],
)
def test_a_node_that_the_program_does_not_reach(words: tuple[str, ...], says: str) -> None:
    with pytest.raises(NodeUnreachable, match=r"^n01: ") as caught:
        connect("exec", Node("n01", "x", "x", exec=words))
    assert says in caught.value.what
    assert caught.value.remedy


def test_a_code_of_the_program_is_not_that_of_the_command(tmp_path: Path) -> None:
    """A connection that breaks makes kubectl end with 1; a tool may end with 0 or 1 too."""
    broken = tmp_path / "breaks"
    broken.write_text('#!/bin/sh\n"$@" | head -n 2\nexit 0\n')
    broken.chmod(0o755)
    session = connect("exec", Node("n01", "x", "x", exec=(str(broken),)))
    done = session.run(Command("n01", ("sh", "-c", "echo one; sleep 0.3; echo two; echo three")))
    assert (done.exit_code, done.error) == (None, "connection-lost")
    session.close()


# --- the hostfile ---


def loaded(tmp_path: Path, text: str) -> tuple[tuple[str, ...], ...]:
    path = tmp_path / "pods.yaml"
    path.write_text(f"cluster: c\nplatform: p\n{text}")
    found = load(path, schema_file=ROOT / "hostfiles" / "schema.json")
    return tuple(node.exec for node in found.nodes)


def test_each_node_has_its_own_words(tmp_path: Path) -> None:
    text = (
        'transport: exec\nexec: [kubectl, exec, -n, gpu, "{address}", --]\n'
        "nodes: [{name: gpu01, address: pod-x7}, {name: gpu02, address: pod-k2}]\n"
    )
    assert loaded(tmp_path, text) == (
        ("kubectl", "exec", "-n", "gpu", "pod-x7", "--"),
        ("kubectl", "exec", "-n", "gpu", "pod-k2", "--"),
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("transport: exec\nnodes: n1\n", "belong together"),
        ("exec: [kubectl]\nnodes: n1\n", "belong together"),
        ("transport: exec\nexec: [kubectl, exec, pod, --]\nnodes: 'n[1-2]'\n", "same command"),
        ("transport: exec\nexec: kubectl exec\nnodes: n1\n", "exec"),
        ("transport: exec\nexec: []\nnodes: n1\n", "exec"),
    ],
)
def test_an_invalid_exec_is_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(HostfileError, match=says):
        loaded(tmp_path, text)

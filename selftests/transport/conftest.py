"""A node for every transport: this machine, and the same machine behind an ssh server.

The server's login shell prints nothing, or it is one of those that print.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

import pytest
from testing import free_ports
from testing.certified_sshd import CertifiedServer, certified_server
from testing.logins import rights, sudoers
from testing.namespaces import namespaces
from testing.noisy_shells import START_FILES, installed, noisy
from testing.standing_sshd import sshd
from testing.throwaway_sshd import SshServer, start_server
from testing.transport_contract import RUN, impatient  # noqa: F401 - also for files beside it

from railgauge.core.model import Command, Node, Transcript
from railgauge.transport import InVain, Running, Session, never
from railgauge.transport.registry import connect
from railgauge.transport.tag import Tag


@pytest.fixture
def ssh_server(tmp_path: Path) -> Iterator[SshServer]:
    server = start_server(tmp_path)
    yield server
    server.vanish()
    server.stop()


SETUP = (
    "echo held by setup; echo setup >&2",
    "set -eu",
    "cd /",
    "(sleep 0.1; echo late) & printf unfinished",
)
WAYS = [
    "local",
    "local-setup",
    "exec-nsenter",
    "exec-openssh",
    "root-env",
    "root-sudo",
    "ssh",
    *(f"noisy-{name}" for name in START_FILES),
]


@pytest.fixture(params=WAYS)
def session(request: pytest.FixtureRequest) -> Iterator[Session]:
    yield from opened(request, None)


@pytest.fixture(params=WAYS)
def tagged(request: pytest.FixtureRequest) -> Iterator[Session]:
    yield from opened(request, Tag(RUN, "gw0"))


def opened(request: pytest.FixtureRequest, tag: Tag | None) -> Iterator[Session]:
    with ExitStack() as ends:
        if request.param.startswith("local"):
            setup = SETUP if request.param == "local-setup" else ()
            kind, node = "local", Node("n01", "127.0.0.1", "127.0.0.1", setup=setup)
        elif request.param.startswith("exec"):
            if request.param == "exec-nsenter":
                cannot_run = request.getfixturevalue("cannot_run")
                words = ends.enter_context(namespaces(cannot_run, "--uts", "--ipc", "--mount"))
            else:
                words = request.getfixturevalue("certified").node().exec
            kind, node = "exec", Node("n01", "127.0.0.1", "127.0.0.1", exec=words)
        elif request.param == "root-env":
            kind, node = "local", Node("n01", "127.0.0.1", "127.0.0.1", become=("env", "-u", "X Y"))
        elif request.param == "root-sudo":
            cannot_run = request.getfixturevalue("cannot_run")
            words = ends.enter_context(sudoers(cannot_run, rights("ALL")))
            kind, node = "exec", Node("n01", "x", "x", exec=words, become=("sudo", "-n"))
        else:
            kind, node = "ssh", ends.enter_context(_server(request)).node()
        session = connect(kind, node, tag)
        yield AsRoot(session) if node.become else session
        session.close()


@dataclass
class AsRoot:
    """A session that runs every command as root."""

    session: Session

    @property
    def lost(self) -> str:
        return self.session.lost

    def run(self, command: Command, in_vain: InVain = never) -> Transcript:
        return self.session.run(replace(command, as_root=True), in_vain)

    def start(self, command: Command) -> Running:
        return self.session.start(replace(command, as_root=True))

    def close(self) -> None:
        self.session.close()


@pytest.fixture(scope="session")
def certified(
    tmp_path_factory: pytest.TempPathFactory, cannot_run: Callable[[str], NoReturn]
) -> Iterator[CertifiedServer]:
    if sshd() is None:
        cannot_run("sshd is not installed")
    with certified_server(tmp_path_factory.mktemp("certified")) as server:
        yield server


@contextmanager
def _server(request: pytest.FixtureRequest) -> Iterator[SshServer]:
    folder: Path = request.getfixturevalue("tmp_path") / "server"
    folder.mkdir()
    name = request.param.partition("-")[2]
    if name and installed(name) is None:
        request.getfixturevalue("cannot_run")(f"{name} is not installed")
    server = start_server(folder, *(noisy(name, folder) if name else ()))
    yield server
    server.vanish()
    server.stop()


@pytest.fixture
def free_port() -> int:
    return free_ports.free_port()

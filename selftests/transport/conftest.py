"""A node for every transport: this machine, and the same machine behind an ssh server."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from testing.throwaway_sshd import SshServer, start_server

from railgauge.core.model import Node
from railgauge.transport import Session
from railgauge.transport.registry import connect
from railgauge.transport.tag import Tag


@pytest.fixture
def ssh_server(tmp_path: Path) -> Iterator[SshServer]:
    server = start_server(tmp_path)
    yield server
    server.vanish()
    server.stop()


@pytest.fixture(params=["local", "ssh"])
def session(request: pytest.FixtureRequest) -> Iterator[Session]:
    yield from opened(request, None)


@pytest.fixture(params=["local", "ssh"])
def tagged(request: pytest.FixtureRequest) -> Iterator[Session]:
    yield from opened(request, Tag("r 1'", "gw0"))


def opened(request: pytest.FixtureRequest, tag: Tag | None) -> Iterator[Session]:
    if request.param == "ssh":
        node = request.getfixturevalue("ssh_server").node()
    else:
        node = Node("n01", "127.0.0.1", "127.0.0.1")
    session = connect(request.param, node, tag)
    yield session
    session.close()


@pytest.fixture
def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

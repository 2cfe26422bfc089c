"""One real Slurm for all tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NoReturn

import pytest
from testing import free_ports
from testing.slurm_cluster import Slurm, cluster, missing, slurm_cluster
from testing.transport_contract import RUN

from railgauge.core.model import Node
from railgauge.transport import Session
from railgauge.transport.registry import connect, opened
from railgauge.transport.tag import Tag


@pytest.fixture(scope="session")
def running_slurm(
    tmp_path_factory: pytest.TempPathFactory, cannot_run: Callable[[str], NoReturn]
) -> Iterator[Slurm]:
    if lacking := missing():
        cannot_run(f"no Slurm on this machine: {', '.join(lacking)}")
    with slurm_cluster(tmp_path_factory.mktemp("slurm")) as slurm:
        yield slurm


@pytest.fixture
def slurm(running_slurm: Slurm, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slurm]:
    """Slurm as this process sees it; the test must leave no job."""
    for name, value in running_slurm.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    yield running_slurm
    running_slurm.wait_until_free()


@pytest.fixture(scope="module")
def step_node(running_slurm: Slurm) -> Iterator[Node]:
    """Node ``n01`` as a run reaches it, in its own allocation."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in running_slurm.environment.items():
            patch.setenv(name, value)
        patch.delenv("SLURM_JOB_ID", raising=False)
        with opened(cluster("n01")) as reached:
            yield reached.nodes[0]


@pytest.fixture
def session(step_node: Node) -> Iterator[Session]:
    yield from _session(step_node, None)


@pytest.fixture
def tagged(step_node: Node) -> Iterator[Session]:
    yield from _session(step_node, Tag(RUN, "gw0"))


def _session(node: Node, tag: Tag | None) -> Iterator[Session]:
    session = connect("slurm", node, tag)
    yield session
    session.close()


@pytest.fixture
def free_port() -> int:
    return free_ports.free_port()

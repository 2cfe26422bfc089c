"""A user's project, and the runs that a module needs."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from testing.acceptance import Background, Project, Runs, make_project

_AT_ONCE = 2  # in each worker of pytest-xdist


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return make_project(tmp_path / "project")


@pytest.fixture(scope="session")
def background(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Background]:
    """The runs of all modules with tests in this session; the longest start first.

    A worker of pytest-xdist gets some of the tests only, and starts what those need.
    """
    modules = {item.getparent(pytest.Module) for item in request.session.items}
    found = {m.name: m.obj.SCENARIOS for m in modules if m and hasattr(m.obj, "SCENARIOS")}
    pool = ThreadPoolExecutor(_AT_ONCE)
    background = Background(tmp_path_factory.mktemp("runs"), pool)
    if not hasattr(request.config, "workerinput"):
        background.start({name: found[name] for name in sorted(found)})
    yield background
    pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest, background: Background) -> Runs:
    """The runs of the module's ``SCENARIOS``, by name."""
    name = request.node.name
    background.start({name: request.module.SCENARIOS})
    return background.of(name)

"""One real run of the lab; the nights of these tests are copies of it."""

from __future__ import annotations

import pytest
from testing.histories import Template


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """Three nodes, each in pairs with both others."""
    from testing.acceptance import HOMELAB, SMOKE, make_project  # noqa: PLC0415 - found by the path above

    project = make_project(tmp_path_factory.mktemp("template") / "project")
    run = project.run(*HOMELAB, *SMOKE, "--rounds", "3")
    assert run.code == 0, run.output[-3000:]
    return Template.of(run.latest)

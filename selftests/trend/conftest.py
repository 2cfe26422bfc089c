"""One real run of the lab, of which the nights of these tests are copies."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from histories import Template

sys.path.append(str(Path(__file__).parents[1] / "endtoend"))


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """Three nodes, each in pairs with both others."""
    from acceptance import HOMELAB, SMOKE, make_project  # noqa: PLC0415 - found by the path above

    project = make_project(tmp_path_factory.mktemp("template") / "project")
    run = project.run(*HOMELAB, *SMOKE, "--rounds", "3")
    assert run.code == 0, run.output[-3000:]
    return Template.of(run.latest)


@pytest.fixture
def railgauge(capsys):
    """The console command in this process: exit code, output, errors."""
    from railgauge.cli import main  # noqa: PLC0415

    def run(*argv: object) -> tuple[int, str, str]:
        code = main([str(word) for word in argv])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run

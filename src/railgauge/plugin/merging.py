"""``pytest --merged FOLDER``: writes the reports of a run that ``railgauge merge`` has made.

The session collects nothing and contacts no node. The reports are made from the records in the
folder, by the code that makes those of any other run.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from railgauge.acceptance.ending import Ending
from railgauge.acceptance.run import MergedRun
from railgauge.plugin import not_run
from railgauge.plugin.opening import COMPLAINTS, ENDING, SERVICES, SETTINGS
from railgauge.plugin.session import Controller
from railgauge.run import holding, services
from railgauge.run.run_folder import RunFolder
from railgauge.run.settings import RunSettings
from railgauge.run.untrusted import naming
from railgauge.verdict.decision import not_applicable


def wanted(config: pytest.Config) -> bool:
    return bool(config.getoption("--merged"))


def open_run(config: pytest.Config) -> None:
    """Store settings and services of the merged run in the stash. Raises ``BadInput``."""
    folder = Path(config.invocation_params.dir, config.getoption("--merged"))
    with naming(folder):
        settings = _settings(RunFolder(folder))
    (folder / "leases").mkdir(exist_ok=True)
    holding.write_tag(folder)
    config.stash[SERVICES] = services.built(settings, folder, None, None)
    config.stash[SETTINGS] = settings
    config.stash[ENDING] = Ending()
    config.stash[COMPLAINTS] = []


def _settings(contents: RunFolder) -> RunSettings:
    run, cluster, platform = contents.plan(), contents.cluster(), contents.platform()
    level = run.level_of(platform, cluster)
    return RunSettings(
        replace(cluster, source=str(contents.folder / contents.hostfiles()[0])),
        platform,
        level,
        rounds=run.rounds,
        tests=run.tests,
        not_applicable=not_applicable(platform, level, run.tests),
        deviations=contents.deviations(),
        operator=run.operator,
    )


class MergedController(Controller):
    """Plugin of the session: reports the record of the merged run."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> bool:
        session.items, session.testscollected = [], 0
        return True

    def _finish(self, session: pytest.Session) -> None:
        assert isinstance(self.acceptance, MergedRun)
        self.acceptance.read()
        evidence = self.acceptance.services.surveyed.evidence
        not_run.report(self.config, list(self.acceptance.records.values()), evidence)
        self._report(session)

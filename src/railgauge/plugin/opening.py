"""Opens the run of a session from pytest's configuration, and keeps it in the stash."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack, nullcontext

import pytest

from railgauge.acceptance import opening
from railgauge.acceptance.ending import Ending
from railgauge.acceptance.request import Request
from railgauge.plugin import listing
from railgauge.run.services import RunServices
from railgauge.run.settings import RunSettings

SETTINGS = pytest.StashKey[RunSettings]()
# Missing if tests are only collected.
SERVICES = pytest.StashKey[RunServices]()
ENDING = pytest.StashKey[Ending]()
# Tests that the platform file does not cover, a line each.
COMPLAINTS = pytest.StashKey[list[str]]()
_REQUEST = pytest.StashKey[Request]()


def request_of(config: pytest.Config) -> Request:
    """The request that the options of the session make."""
    if _REQUEST in config.stash:
        return config.stash[_REQUEST]
    closing = ExitStack()
    config.add_cleanup(closing.close)  # after pytest_unconfigure
    worker = getattr(config, "workerinput", None)
    config.stash[_REQUEST] = Request(
        config.option,
        config.rootpath,
        config.invocation_params.dir,
        config.args,
        worker,
        closing,
        lambda: _uncaptured(config),
    )
    return config.stash[_REQUEST]


def _uncaptured(config: pytest.Config) -> AbstractContextManager[object]:
    """A block in which pytest does not capture what is printed."""
    capture = config.pluginmanager.getplugin("capturemanager")
    return capture.global_and_fixture_disabled() if capture else nullcontext()


def open_run(config: pytest.Config) -> None:
    """Store settings and services in the stash. Raises ``BadInput`` before a node is touched."""
    opened = opening.opened(request_of(config), only_listed=bool(listing.asked(config)))
    if opened.services:
        config.stash[SERVICES] = opened.services
    config.stash[SETTINGS] = opened.settings
    config.stash[ENDING] = Ending()
    config.stash[COMPLAINTS] = []

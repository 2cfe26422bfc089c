"""Collects items alone for allure-pytest, without a file for each fixture of each item."""

from __future__ import annotations

from typing import Any

import pytest
from allure_commons.reporter import AllureReporter

_LISTENER = "allure_listener"  # the name under which allure-pytest registers its listener


class ItemsOnly(AllureReporter):
    """Keeps the results of items, without their fixtures.

    An item takes three files for its fixtures, and a list of all items grows in each fixture of
    the session. Neither is about the hardware, and its item reports an error of a fixture.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._groups: dict[str, Any] = {}

    def get_item(self, uuid: str) -> Any:
        return self._groups.get(uuid) or super().get_item(uuid)  # type: ignore[no-untyped-call]

    def start_group(self, uuid: str, group: Any) -> None:
        self._groups[uuid] = group

    def update_group(self, uuid: str, **kwargs: Any) -> None:
        """Keep no child and no time."""

    def stop_group(self, uuid: str, **_times: Any) -> None:
        self._groups.pop(uuid, None)

    def start_before_fixture(self, parent_uuid: str, uuid: str, fixture: Any) -> None:
        """Keep nothing."""

    def stop_before_fixture(self, uuid: str, **kwargs: Any) -> None:
        """Keep nothing."""

    def start_after_fixture(self, parent_uuid: str, uuid: str, fixture: Any) -> None:
        """Keep nothing."""

    def stop_after_fixture(self, uuid: str, **kwargs: Any) -> None:
        """Keep nothing."""


def collect(config: pytest.Config) -> None:
    """Make allure-pytest collect only items; do nothing if it is switched off."""
    listener: Any = config.pluginmanager.get_plugin(_LISTENER)
    if listener is not None:
        listener.allure_logger = ItemsOnly()

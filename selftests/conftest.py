"""What all selftests share."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NoReturn

import pytest

# Importing it costs a run of pytest a second, and no run that a selftest starts uses hypothesis.
os.environ["PYTEST_ADDOPTS"] = f"{os.environ.get('PYTEST_ADDOPTS', '')} -p no:hypothesispytest"


@pytest.fixture(scope="session")
def cannot_run() -> Callable[[str], NoReturn]:
    """``cannot_run(reason)``: skips a test for something that this machine lacks.

    With ``RAILGAUGE_CI=1`` it fails: ``.ci/run`` brings all that is needed, and what it no longer
    tests must not look tested.
    """

    def end(reason: str) -> NoReturn:
        if os.environ.get("RAILGAUGE_CI") == "1":
            pytest.fail(f"cannot be skipped with RAILGAUGE_CI=1: {reason}")
        pytest.skip(reason)

    return end

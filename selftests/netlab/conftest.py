"""Skips the tests if no network namespace can be made."""

import pytest
from testing.netlab_bench import missing


@pytest.fixture(scope="session", autouse=True)
def namespaces(cannot_run):
    if lacking := missing():
        cannot_run(f"no cluster of namespaces on this machine: {lacking}")

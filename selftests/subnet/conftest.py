"""The simulated subnet; skips if this machine cannot run one."""

from __future__ import annotations

import pytest
from testing import simulated_subnet


@pytest.fixture(scope="session")
def subnets(cannot_run):
    """``with subnets(folder, net) as subnet``: a running subnet."""
    if lacking := simulated_subnet.lacking():
        cannot_run(f"no subnet can be simulated: {lacking} is missing (ibsim-utils, opensm)")
    return simulated_subnet.running

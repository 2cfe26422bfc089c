"""Options of pytest that list something, or choose items by its cache, never lead to a pass."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from testing.acceptance import environment

ROOT = Path(__file__).parents[2]
HOSTFILE = f"--hostfile={ROOT / 'hostfiles/lab-connectx4-homelab.yaml'}"
WORDS = (sys.executable, "-m", "pytest", HOSTFILE, "--level", "smoke", "-q")


def ended(*options: str, added: str = "") -> subprocess.CompletedProcess[str]:
    """What a session of the ladder says that reaches no node; ``added`` is PYTEST_ADDOPTS."""
    words = [*WORDS, *options, "tests/preflight/test_host.py"]
    env = {**environment(), "PYTEST_ADDOPTS": added}
    return subprocess.run(
        words, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize("option", ["--co", "--fixtures", "-VV", "-h", "--lab-fault=list"])
def test_a_list_that_the_environment_asks_for_is_no_accepted_cluster(option: str) -> None:
    done = ended(added=option)
    assert done.returncode == 3, done.stdout
    assert "runs no test: nothing was tested" in done.stderr


@pytest.mark.parametrize("option", ["--co", "--fixtures-per-test"])
def test_a_list_that_the_user_asks_for_reaches_no_node(option: str) -> None:
    done = ended(option)
    assert done.returncode == 0, done.stdout
    assert "survey:" not in done.stdout


@pytest.mark.parametrize("option", [("-p", "cacheprovider", "--lf"), ("--sw",), ("--ff",)])
def test_items_are_not_chosen_by_pytests_cache(option: tuple[str, ...]) -> None:
    done = ended(*option)
    assert done.returncode == 4, done.stdout + done.stderr
    assert f"railgauge: {option[-1]}: it chooses or sorts items by an earlier" in done.stderr

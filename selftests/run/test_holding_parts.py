"""Holding nodes on this machine: workers end with their controller, open files, owners."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest
from testing.waiting import wait_until

from railgauge.run import holding

_WORKER = """
import os, sys, time
from railgauge.run.holding import die_with
die_with(int(sys.argv[1]))
print(os.getpid(), flush=True)
time.sleep(60)
"""
_CONTROLLER = """
import os, subprocess, sys
subprocess.run([sys.executable, "-c", sys.argv[1], str(os.getpid())])
"""


def is_alive(pid: int) -> bool:
    """A zombie counts as ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_a_worker_ends_with_its_controller() -> None:
    command = [sys.executable, "-c", _CONTROLLER, _WORKER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as controller:
        assert controller.stdout
        worker = int(controller.stdout.readline())
        assert is_alive(worker)
        controller.kill()
    wait_until(lambda: not is_alive(worker), 20, "the end of the worker")


def test_a_worker_whose_controller_is_gone_already_ends() -> None:
    done = subprocess.run([sys.executable, "-c", _WORKER, "1"], timeout=30, check=False)
    assert done.returncode == 1


def test_the_limit_of_open_files_is_raised_as_far_as_allowed() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, before[1]), before[1]))
        holding.allow_many_files()
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == before[1]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "20261121-a b" / "leases").mkdir(parents=True)
    return tmp_path / "20261121-a b"


def test_all_parts_of_a_run_have_its_name_and_no_other_run_has_it(folder: Path) -> None:
    holding.write_tag(folder)
    controller, worker = (holding.read_tag(folder, part) for part in ("main", "gw1"))
    assert (controller.part, worker.part) == ("main", "gw1")
    assert controller.run == worker.run
    assert controller.run.startswith("20261121-a-b-")
    holding.write_tag(folder)  # the same folder on another machine
    assert holding.read_tag(folder, "main").run != controller.run

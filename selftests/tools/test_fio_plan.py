"""fio on declared storage: real runs, what they leave behind, and commands that were changed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from testing import programs
from testing.core_values import case, cluster
from testing.waiting import wait_until

from railgauge.config.thresholds import Platform
from railgauge.config.thresholds.storage import NODE_STORAGE, with_storage
from railgauge.core.storage import FIGURES, StorageMount
from railgauge.core.terms import Role
from railgauge.planning import plan
from railgauge.tools import tool
from railgauge.tools.fio import output_checks, parse
from railgauge.tools.output_checks import SideOutput, ToolRequest

FIO = tool("fio")
BARE = Platform("bench", "Bench", "bench.json", (), None, {}, {}, {}, {}, {})
SMALL = {"size_mib": 8, "seconds": 1, "files": 200}
OWN = ".railgauge-bench-cluster-n1"
EVERY = dict.fromkeys(FIGURES, 1.0)


@pytest.fixture(scope="module")
def fio() -> str:
    return programs.asked("fio")


@pytest.fixture
def mount(tmp_path_factory) -> Path:
    """A folder on a disk: the temporary folder may be in memory, which not all kernels read
    directly."""
    found = Path("/var/tmp") / f"railgauge-fio-{os.getpid()}"
    found.mkdir()
    yield found
    shutil.rmtree(found)


def planned(path: Path, least=EVERY, **changes):
    """The platform with this mount, the case on node n1, and its command's argv."""
    one = StorageMount(str(path), "made up for a test", least=least, **{**SMALL, **changes})
    platform = with_storage(BARE, {"scratch": one})
    made = case("n1", measurement=NODE_STORAGE, pairing=None, sizes=())
    (command,) = plan.commands(made, platform, cluster("n1", storage={"scratch": one}), 20000)
    return platform, made, command.argv


def ran(argv, **more):
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120, **more)


def started(argv):
    return subprocess.Popen(
        argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )


def disagreeing(platform, made, argv, text):
    side = SideOutput("n1", Role.CLIENT, parse(text), argv)
    asked = ToolRequest(made, platform.measurements[NODE_STORAGE], platform)
    return [
        one.item for one in output_checks(asked, (side,)) if not one.agrees or one.shown is None
    ]


def left(mount: Path) -> list[str]:
    return sorted(one.name for one in mount.iterdir())


def fio_of(shell: int) -> int | None:
    """The process of fio that the shell has started."""
    children = Path(f"/proc/{shell}/task/{shell}/children").read_text().split()
    named = [int(c) for c in children if Path(f"/proc/{c}/comm").read_text().strip() == "fio"]
    return named[0] if named else None


def has_written(mount: Path) -> bool:
    return any(mount.glob(".railgauge-*/data"))


# --- real runs ---


@pytest.mark.usefixtures("fio")
def test_every_figure_is_measured_as_asked_and_nothing_is_left(mount):
    platform, made, argv = planned(mount)
    done = ran(argv)
    parsed = parse(done.stdout)
    assert (done.returncode, parsed.problems) == (0, ())
    limited = {limit.metric for limit in platform.measurements[NODE_STORAGE].limits}
    assert limited <= {f"{one.metric}/{one.placement}" for one in parsed.samples}
    assert disagreeing(platform, made, argv, done.stdout) == []
    assert left(mount) == []


@contextmanager
def hang_up_not_ignored() -> Iterator[None]:
    """A shell cannot trap what was ignored when it was started, as HUP is below nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("fio")
@pytest.mark.parametrize("name", ["TERM", "INT", "HUP"])
def test_a_run_that_is_ended_leaves_nothing(mount, name):
    """Ctrl-C, a time limit and a lost connection end the group with these."""
    with hang_up_not_ignored():
        shell = started(planned(mount, {"write_mb_per_s": 1.0}, seconds=60)[2])
    wait_until(lambda: has_written(mount), 20.0, "fio has begun to write")
    os.killpg(shell.pid, getattr(signal, f"SIG{name}"))
    assert shell.wait(20) != 0
    assert left(mount) == []


@pytest.mark.usefixtures("fio")
def test_a_fio_that_was_killed_is_a_failure_and_leaves_nothing(mount):
    shell = started(planned(mount, {"write_mb_per_s": 1.0}, seconds=60)[2])
    wait_until(lambda: has_written(mount), 20.0, "fio has begun to write")
    os.kill(fio_of(shell.pid), signal.SIGKILL)
    assert shell.wait(20) != 0
    wait_until(lambda: left(mount) == [], 20.0, "the folder is gone")


@pytest.mark.usefixtures("fio")
def test_the_next_run_removes_what_a_killed_shell_has_left(mount):
    argv = planned(mount, {"write_mb_per_s": 1.0}, seconds=60)[2]
    shell = started(argv)
    wait_until(lambda: has_written(mount), 20.0, "fio has begun to write")
    os.killpg(shell.pid, signal.SIGKILL)
    shell.wait(20)
    assert left(mount) == [OWN]
    done = ran(planned(mount, {"write_mb_per_s": 1.0})[2])
    assert (done.returncode, left(mount)) == (0, [])


# --- what is refused ---


def test_without_the_free_space_nothing_is_written(mount):
    done = ran(planned(mount, size_mib=1 << 40)[2])
    assert done.returncode == 3
    (problem,) = parse(done.stdout).errors
    assert "KiB free, and " in problem.message
    assert problem.message.endswith(" are needed")
    assert left(mount) == []


def test_a_path_that_is_not_there_is_not_made(mount):
    done = ran(planned(mount / "absent")[2])
    (problem,) = parse(done.stdout).errors
    assert (done.returncode, "is no folder on this node" in problem.message) == (3, True)
    assert left(mount) == []


def test_a_link_in_the_place_of_the_folder_loses_nothing(mount):
    precious = mount / "precious"
    precious.mkdir()
    (precious / "thesis").write_text("years")
    (mount / OWN).symlink_to(precious)
    ran(planned(mount, size_mib=1 << 40)[2])
    assert left(mount) == ["precious"]
    assert (precious / "thesis").read_text() == "years"


# --- a fio that did something else ---


@pytest.mark.parametrize(
    ("asked", "did", "items"),
    [
        ("--direct=1", "--direct=0", {"direct"}),
        ("--bs=4k", "--bs=64k", {"bs"}),
        ("--rw=randread", "--rw=read", {"rw"}),
        ("--ioengine=libaio", "--ioengine=null", {"ioengine"}),
        ("--runtime=1", "--runtime=2", {"runtime"}),
        ("--size=8M", "--size=4M", {"size"}),
        ("--directory=", "--directory=/dev/shm", {"folder"}),
    ],
)
def test_another_job_than_the_one_that_was_asked_for_is_found(mount, asked, did, items):
    platform, made, argv = planned(mount)
    changed = [word.replace(asked, did) for word in argv]
    found = {item.split()[0] for item in disagreeing(platform, made, argv, printed(changed))}
    assert found == items


def test_a_job_that_is_missing_twice_or_of_another_name_is_found(mount):
    platform, made, argv = planned(mount)
    fewer = printed([w for w in argv if "scratch-read" not in w])
    assert "jobs" in disagreeing(platform, made, argv, fewer)
    assert disagreeing(platform, made, argv, "{}")


def printed(argv) -> str:
    """What fio prints of the jobs of a command line, with figures that are made up."""
    jobs: list[dict[str, str]] = []
    for word in argv:
        name, _, value = word.removeprefix("--").partition("=")
        if name == "name":
            jobs.append({})
        if jobs:
            jobs[-1][name] = value
    moved = {"io_bytes": 1 << 20, "bw_bytes": 1 << 20, "iops": 256.0, "runtime": 1000}
    reported = [
        {"jobname": job["name"], "error": 0, "job options": job, "read": moved, "write": moved}
        for job in jobs
    ]
    return json.dumps({"fio version": "fio-3.36", "jobs": reported})


# --- the plan ---


def test_a_hostfile_without_storage_measures_none():
    assert with_storage(BARE, {}) == BARE


def test_only_what_is_declared_is_measured():
    one = StorageMount("/scratch", "a contract of the site", least={"read_mb_per_s": 5400.0})
    made = with_storage(BARE, {"scratch": one}).measurements[NODE_STORAGE]
    (limit,) = made.limits
    assert (limit.metric, limit.floor, limit.unit) == (
        "bandwidth_read/scratch-read",
        5400.0,
        "MB/s",
    )
    assert (str(limit.basis), limit.pointer) == (
        "hostfile: a contract of the site", "/storage/scratch/read_mb_per_s",
    )  # fmt: skip

"""The end of a run on a node: its processes are ended, and the lease is released."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from testing.lease_place import ALICE, BOB, Place, any_shell, ended
from testing.waiting import stays

from railgauge.core.model import Command
from railgauge.leases.holder import Held, release_command, sweep_command

# --- the end of a run that died ---


def tagged(tag: str) -> subprocess.Popen[str]:
    """A process in its own group that ignores TERM."""
    code = (
        "import signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print('up', flush=True)\n"
        "time.sleep(60)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=os.environ | {"RAILGAUGE_RUN": tag},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout
    assert process.stdout.readline() == "up\n"
    return process


@contextmanager
def processes(*tags: str) -> Iterator[list[subprocess.Popen[str]]]:
    running = [tagged(tag) for tag in tags]
    try:
        yield running
    finally:
        for process in running:
            process.kill()
            process.communicate()


def run_here(command: Command, shell: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [shell, *command.argv[1:]],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
        env=os.environ | {"RAILGAUGE_RUN": "r1/n01/main/"},
        start_new_session=True,
    )


OTHERS = ("r1/n02/gw1/", "r10/n01/gw1/", "r1/n01x/gw1/", "r2/n01/gw1/")


@any_shell
def test_a_script_without_a_reader_ends_the_processes_of_the_run(place: Place) -> None:
    run = f"r-{os.getpid()}"
    with (
        processes(f"{run}/n01/gw1/", f"{run}/n01/main/", f"{run}/n02/main/") as (one, two, other),
        place.asked(ALICE, run) as (process, _),
    ):
        assert process.stdout
        stays(lambda: one.poll() is None, 0.5, "it lives as long as somebody reads")
        process.stdout.close()
        assert ended(one)
        assert ended(two)
        assert ended(process)
        assert other.poll() is None


@pytest.mark.parametrize(
    ("part", "spared"),
    [("", OTHERS), ("gw1", (*OTHERS, "r1/n01/gw10/", "r1/n01/main/", "r1/n01/lease/"))],
    ids=["run", "worker"],
)
def test_only_the_processes_of_the_tag_are_ended(
    place: Place, part: str, spared: tuple[str, ...]
) -> None:
    with processes("r1/n01/gw1/", *spared) as (meant, *others):
        command = sweep_command("n01", "r1", part) if part else release_command("n01", "r1", 0)
        done = run_here(command, place.shell)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert ended(meant)
        assert [process.poll() for process in others] == [None] * len(others)


# --- letting go ---


@any_shell
def test_a_holder_leaves_by_itself_when_it_is_released(place: Place) -> None:
    """Ended by force, as part of its group, it would have to be ended once more from here."""
    with place.asked(ALICE, "r1") as (holder, reply):
        assert isinstance(reply, Held)
        assert reply.process == holder.pid
        done = run_here(release_command("n01", "r1", reply.process), place.shell)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert not place.file.exists()
        assert ended(holder)
        assert holder.returncode == 0
        assert holder.stdout
        assert "" in holder.stdout.read().split(".")  # nothing of it has the output open


def test_the_lease_is_kept_until_the_node_is_clean(place: Place) -> None:
    """What ignores TERM takes a second to end; no other run may measure beside it."""
    with processes("r1/n01/gw1/") as (left,), place.asked(ALICE, "r1") as (holder, reply):
        assert isinstance(reply, Held)
        command = release_command("n01", "r1", reply.process)
        with subprocess.Popen([place.shell, *command.argv[1:]], start_new_session=True) as release:
            while left.poll() is None:
                assert holder.poll() is None
                assert place.file.exists()
            assert release.wait(30) == 0
        assert ended(holder)
        assert not place.file.exists()


def test_the_number_of_a_process_that_is_not_the_holder_ends_nobody(place: Place) -> None:
    """The holder may have died, and its number may be another's by now."""
    with processes("r2/n01/gw1/") as (stranger,), place.asked(ALICE, "r1") as (holder, _):
        done = run_here(release_command("n01", "r1", stranger.pid), place.shell)
        assert (done.returncode, done.stderr) == (0, "")
        assert ended(holder)  # found by its tag
        assert stranger.poll() is None


@pytest.mark.parametrize("leader", ["", "RAILGAUGE_RUN=r1/n01/gw1/"], ids=["plain", "tagged"])
def test_the_group_that_has_the_number_of_a_dead_holder_is_still_ended(
    place: Place, leader: str
) -> None:
    """Its leader, which may have no tag, counts as the holder; TERM ends it, but not the rest."""
    member = "trap '' TERM; echo up; while :; do sleep 0.2; done"
    line = f'RAILGAUGE_RUN=r1/n01/gw1/ exec sh -c "{member}" & wait'
    with subprocess.Popen(
        ["env", *([leader] if leader else []), place.shell, "-c", line],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as group:
        assert group.stdout
        assert group.stdout.readline() == "up\n"
        try:
            done = run_here(release_command("n01", "r1", group.pid), place.shell)
            assert (done.returncode, done.stderr) == (0, "")
            group.communicate(timeout=20)  # a member that lives has the output open
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group.pid, signal.SIGKILL)


def test_a_holder_that_was_stopped_is_ended_by_force(place: Place) -> None:
    """It does not leave when asked to."""
    with place.asked(ALICE, "r1") as (holder, reply):
        assert isinstance(reply, Held)
        holder.send_signal(signal.SIGSTOP)
        try:
            done = run_here(release_command("n01", "r1", reply.process), place.shell)
            assert (done.returncode, done.stderr) == (0, "")
            assert ended(holder)
        finally:
            holder.kill()
        assert place.answer(BOB) == Held()

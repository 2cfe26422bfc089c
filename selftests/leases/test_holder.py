"""The lease of one node: the script itself, on folders that belong to a test."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from testing import programs
from testing.places import ROOT
from testing.waiting import stays, wait_until

from railgauge.core.model import Command
from railgauge.leases.holder import (
    Held,
    Holder,
    Taken,
    Unleasable,
    answer,
    beat_s,
    hold_command,
    release_command,
    sweep_command,
)

ALICE = Holder("alice", "ctl1", "run-a", "2026-11-21T14:03:22+00:00", "a1")
BOB = Holder("bob", "ctl2", "run-b", "2026-11-21T14:05:00+00:00", "b2")


@dataclass(frozen=True)
class Place:
    """A node's root, and a shell to run the script."""

    root: Path
    shell: str

    @property
    def file(self) -> Path:
        return self.root / "run" / "lock" / "railgauge.lease"

    def start(self, holder: Holder, run: str, **options: object) -> subprocess.Popen[str]:
        command = hold_command("n01", str(self.root), holder, run, 0.2)
        return subprocess.Popen(
            [self.shell, *command.argv[1:]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | dict(command.environment),
            start_new_session=True,
            **options,  # type: ignore[call-overload]
        )

    @contextmanager
    def asked(
        self, holder: Holder, run: str = "r", **options: object
    ) -> Iterator[tuple[subprocess.Popen[str], object]]:
        """A started script and its answer; ended when the test ends."""
        with self.start(holder, run, **options) as process:
            assert process.stdout
            try:
                yield process, answer(process.stdout.readline())
            finally:
                process.terminate()
                assert ended(process)

    def said(self, holder: Holder, **options: object) -> object:
        with self.asked(holder, **options) as (_, said):
            return said


@pytest.fixture
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    name = getattr(request, "param", "sh")
    shell = shutil.which(name)
    if shell is None:
        pytest.skip(f"{name} is not installed")
    with TemporaryDirectory() as root:  # a folder that other users can reach, unlike pytest's
        Path(root).chmod(0o755)
        folder = Path(root, "run", "lock")
        folder.mkdir(parents=True)
        folder.chmod(0o1777)
        yield Place(Path(root), shell)


any_shell = pytest.mark.parametrize("place", ["dash", "bash"], indirect=True)


def ended(process: subprocess.Popen[str]) -> bool:
    return wait_until(lambda: process.poll() is not None, 20, f"the end of {process.args!r}")


def wait_for_it(place: Place, **options: int) -> None:
    """Waits until the lease can be taken; a holder's last sleep may outlive it."""
    wait_until(lambda: place.said(BOB, **options) == Held(), 20, "the lease")


# --- one holder at a time ---


@any_shell
def test_a_lease_is_held_until_its_script_ends(place: Place) -> None:
    with place.asked(ALICE) as (_, said):
        assert said == Held()
        assert place.said(BOB) == Taken(ALICE)
    assert not place.file.exists()
    assert place.said(BOB) == Held()
    assert not place.file.exists()


def test_a_script_that_is_killed_leaves_no_lock(place: Place) -> None:
    with place.asked(ALICE) as (process, _):
        process.kill()
        assert ended(process)
        assert place.file.exists()
        wait_for_it(place)
    assert not place.file.exists()


def test_nobody_reads_any_more(place: Place) -> None:
    with place.asked(ALICE) as (process, _):
        assert process.stdout
        process.stdout.close()
        assert ended(process)
        assert not place.file.exists()


def test_whoever_takes_the_file_away_ends_the_lease(place: Place) -> None:
    """Otherwise two would hold the node, each with its own file."""
    with place.asked(ALICE) as (process, _):
        place.file.unlink()
        with place.asked(BOB) as (_, said):
            assert said == Held()
            assert ended(process)
            assert place.said(ALICE) == Taken(BOB)


def test_many_at_once_hold_one_after_the_other(place: Place) -> None:
    """A holder is alone, also while files are made and deleted. Each asks until it held."""
    script = (
        "import subprocess, sys, time\n"
        "busy, *argv = sys.argv[1:]\n"
        "left, until = 2, time.monotonic() + 50\n"
        "while left and time.monotonic() < until:\n"
        "    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as one:\n"
        "        if one.stdout.readline().startswith('held '):\n"
        "            open(busy, 'x').close()\n"
        "            time.sleep(0.005)\n"
        "            import os; os.unlink(busy); print('held'); left -= 1\n"
        "        one.terminate()\n"
    )
    command = hold_command("n01", str(place.root), ALICE, "r", 0.2)
    argv = [sys.executable, "-c", script, str(place.root / "busy"), place.shell, *command.argv[1:]]
    running = [
        subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    said = [process.communicate(timeout=60) for process in running]
    assert [errors for _, errors in said] == [""] * 4
    assert [out.count("held") for out, _ in said] == [2] * 4


def test_a_lock_on_a_file_that_was_replaced_is_none(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between opening the file and locking it, another process released it and a third took it."""
    path, once = little(tmp_path / "bin", "flock", "mv", "touch"), tmp_path / "once"
    flock = tmp_path / "bin" / "flock"
    real = flock.resolve()
    flock.unlink()
    flock.write_text(
        f"#!/bin/sh\nif [ ! -e '{once}' ]; then\n"
        f"touch '{once}'; rm '{place.file}'; touch '{place.file}'\nfi\nexec {real} \"$@\"\n"
    )
    flock.chmod(0o755)
    monkeypatch.setenv("PATH", path)
    with place.asked(ALICE) as (process, said):
        assert said == Held()
        assert once.exists()
        stays(lambda: process.poll() is None, 0.5, "it holds the new file")
        assert place.said(BOB) == Taken(ALICE)


# --- users, places, programs ---


@any_shell
def test_another_user_sees_the_holder_and_takes_over(
    place: Place, cannot_run: Callable[[str], None]
) -> None:
    if os.geteuid() != 0:
        cannot_run("only root can be somebody else")
    with place.asked(ALICE, user=65534) as (process, said):
        assert said == Held()
        assert place.said(BOB) == Taken(ALICE)
        assert place.said(BOB, user=65533) == Taken(ALICE)
        process.kill()  # and leaves its own file
        wait_for_it(place, user=65533)
    with place.asked(BOB, user=65533) as (_, said):
        assert said == Held()
        assert place.said(ALICE) == Taken(BOB)
    if place.file.exists():  # it may not delete the file: then it names no owner
        assert place.file.read_text() == ""
    with place.asked(ALICE) as (_, said):
        assert said == Held()
        assert place.file.stat().st_uid == 0
        assert place.said(BOB, user=65533) == Taken(ALICE)
    assert not place.file.exists()


def test_a_folder_that_not_all_may_use_is_passed_over(place: Place) -> None:
    (place.root / "run" / "lock").chmod(0o755)
    with place.asked(ALICE) as (_, said):
        assert isinstance(said, Unleasable)
        assert "1777" in said.why
    (place.root / "tmp").mkdir()
    (place.root / "tmp").chmod(0o1777)
    with place.asked(ALICE) as (_, said):
        assert said == Held()
        assert (place.root / "tmp" / "railgauge.lease").exists()


def test_a_link_is_not_followed(place: Place) -> None:
    other = place.root / "other"
    other.write_text("precious")
    place.file.symlink_to(other)
    said = place.said(ALICE)
    assert isinstance(said, Unleasable)
    assert "not a regular file" in said.why
    assert other.read_text() == "precious"


def little(folder: Path, *names: str) -> str:
    """A PATH with few programs."""
    own = ("sh", "cat", "rm", "grep", "sort", "sleep", "head", "dd", *names)
    return str(programs.folder_of(folder, *own))


@pytest.mark.parametrize("name", ["flock", "perl", "python3"])
def test_another_program_than_flock_will_do(
    place: Place, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "python3":
        path = little(tmp_path / "bin")
        (tmp_path / "bin" / "python3").symlink_to(sys.executable)
    elif shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    else:
        path = little(tmp_path / "bin", name)
    monkeypatch.setenv("PATH", path)
    with place.asked(ALICE) as (_, said):
        assert said == Held()
        assert place.said(BOB) == Taken(ALICE)
    assert place.said(BOB) == Held()


def test_without_any_of_them_it_is_said(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", little(tmp_path / "bin"))
    assert place.said(ALICE) == Unleasable("none of flock, perl and python3 is installed")


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
def test_who_is_read_no_more_ends_what_the_run_left(place: Place) -> None:
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
def test_only_what_is_meant_is_ended(place: Place, part: str, spared: tuple[str, ...]) -> None:
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
    with place.asked(ALICE, "r1") as (holder, said):
        assert isinstance(said, Held)
        assert said.process == holder.pid
        done = run_here(release_command("n01", "r1", said.process), place.shell)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert not place.file.exists()
        assert ended(holder)
        assert holder.returncode == 0
        assert holder.stdout
        assert "" in holder.stdout.read().split(".")  # nothing of it has the output open


def test_the_lease_is_kept_until_the_node_is_clean(place: Place) -> None:
    """What ignores TERM takes a second to end; no other run may measure beside it."""
    with processes("r1/n01/gw1/") as (left,), place.asked(ALICE, "r1") as (holder, said):
        assert isinstance(said, Held)
        command = release_command("n01", "r1", said.process)
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
    """Its leader, which may have no tag, is taken for the holder; it dies of TERM, the rest not."""
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
        done = run_here(release_command("n01", "r1", group.pid), place.shell)
        assert (done.returncode, done.stderr) == (0, "")
        assert group.stdout.read() == ""  # it would wait for the member
        assert ended(group)


def test_a_holder_that_was_stopped_is_ended_by_force(place: Place) -> None:
    """It does not leave when asked to."""
    with place.asked(ALICE, "r1") as (holder, said):
        assert isinstance(said, Held)
        holder.send_signal(signal.SIGSTOP)
        done = run_here(release_command("n01", "r1", said.process), place.shell)
        assert (done.returncode, done.stderr) == (0, "")
        assert ended(holder)
        assert place.said(BOB) == Held()


# --- words ---


def test_what_a_node_says_is_not_trusted() -> None:
    for said in ("held", "held 1", "held -5", "held 12; reboot", "held 99999999999", "held ٣٤"):
        assert answer(said) == Held()
        assert answer(said).process == 0
    assert answer("held 4711\n").process == 4711
    assert answer("taken {") == Taken(None)
    assert answer("taken []") == Taken(None)
    assert answer("taken ") == Taken(None)
    hostile = answer(
        'taken {"user": "\\u001b[31m", "host": [1], "run": "'
        + "x" * 500
        + '", "since": 5, "tag": null}'
    )
    assert isinstance(hostile, Taken)
    assert str(hostile).isprintable()
    assert len(str(hostile)) < 200
    assert answer("cannot \x1b[2J") == Unleasable("?[2J")
    assert answer("") == Unleasable("the lease script printed nothing")
    assert str(Taken(ALICE)) == "alice on ctl1 since 2026-11-21T14:03:22+00:00 (run run-a)"


def test_a_name_that_would_break_a_line_does_not(place: Place) -> None:
    odd = Holder("a'b\n$(reboot)", "h\\", "%s", "now", "$t")
    with place.asked(odd) as (_, said):
        assert said == Held()
        found = place.said(BOB)
    assert found == Taken(Holder("a'b?$(reboot)", "h\\", "%s", "now", "$t"))


def test_many_nodes_beat_slower() -> None:
    assert beat_s(1) == beat_s(128) == 3.0
    assert beat_s(1250) == 5.0


def test_shellcheck() -> None:
    beside = Path(sys.executable).with_name("shellcheck")
    shellcheck = shutil.which("shellcheck") or (str(beside) if beside.exists() else None)
    if shellcheck is None:
        pytest.skip("there is no shellcheck")
    scripts = sorted((ROOT / "src" / "railgauge" / "leases" / "holder").glob("*.sh"))
    assert len(scripts) == 2
    done = subprocess.run([shellcheck, *scripts], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout

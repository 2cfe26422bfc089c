"""The lease of one node: the script itself, on folders that belong to a test."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from testing import programs
from testing.lease_place import ALICE, BOB, Place, any_shell, ended
from testing.waiting import stays, wait_until

from railgauge.leases import holder
from railgauge.leases.holder import (
    Held,
    Holder,
    Taken,
    Unleasable,
    hold_command,
)
from railgauge.transport import silence


def wait_for_it(place: Place, **options: int) -> None:
    """Waits until the lease can be taken; a holder's last sleep may outlive it."""
    wait_until(lambda: place.answer(BOB, **options) == Held(), 20, "the lease")


# --- one holder at a time ---


@any_shell
def test_a_lease_is_held_until_its_script_ends(place: Place) -> None:
    with place.asked(ALICE) as (_, reply):
        assert reply == Held()
        assert place.answer(BOB) == Taken(ALICE)
    assert not place.file.exists()
    assert place.answer(BOB) == Held()
    assert not place.file.exists()


def test_a_script_that_is_killed_leaves_no_lock(place: Place) -> None:
    with place.asked(ALICE) as (process, _):
        process.kill()
        assert ended(process)
        assert place.file.exists()
        wait_for_it(place)
    assert not place.file.exists()


def test_a_lease_ends_when_its_reader_is_gone(place: Place) -> None:
    with place.asked(ALICE) as (process, _):
        assert process.stdout
        process.stdout.close()
        assert ended(process)
        assert not place.file.exists()


@any_shell
def test_a_lease_ends_when_its_reader_no_longer_answers(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its network fails or its machine hangs: the connection does not end then."""
    monkeypatch.setattr(silence, "LIMIT_S", 1.0)
    monkeypatch.setattr(holder, "_SPARE_S", 0.5)
    with place.asked(ALICE) as (process, reply):
        assert reply == Held()
        assert process.stdin
        assert process.stdout
        for _ in range(3):
            while (said_next := process.stdout.read(1)) != "?":
                assert said_next, "the lease ended before it was to"
            print(file=process.stdin, flush=True)
        assert place.answer(BOB) == Taken(ALICE), "it was answered for longer than the limit"
        began = time.monotonic()
        assert ended(process)
        assert time.monotonic() - began < 10
        assert place.answer(BOB) == Held()


def test_deleting_the_file_ends_the_lease(place: Place) -> None:
    """Otherwise two would hold the node, each with its own file."""
    with place.asked(ALICE) as (process, _):
        place.file.unlink()
        with place.asked(BOB) as (_, reply):
            assert reply == Held()
            assert ended(process)
            assert place.answer(ALICE) == Taken(BOB)


def test_many_scripts_hold_the_lease_one_after_the_other(place: Place) -> None:
    """A holder is alone, also while files are made and deleted. Each asks until it held it."""
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
    reply = [process.communicate(timeout=60) for process in running]
    assert [errors for _, errors in reply] == [""] * 4
    assert [out.count("held") for out, _ in reply] == [2] * 4


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
    with place.asked(ALICE) as (process, reply):
        assert reply == Held()
        assert once.exists()
        stays(lambda: process.poll() is None, 0.5, "it holds the new file")
        assert place.answer(BOB) == Taken(ALICE)


# --- users, places, programs ---


@any_shell
def test_another_user_sees_the_holder_and_takes_over(
    place: Place, cannot_run: Callable[[str], None]
) -> None:
    if os.geteuid() != 0:
        cannot_run("only root can be somebody else")
    with place.asked(ALICE, user=65534) as (process, reply):
        assert reply == Held()
        assert place.answer(BOB) == Taken(ALICE)
        assert place.answer(BOB, user=65533) == Taken(ALICE)
        process.kill()  # and leaves its own file
        wait_for_it(place, user=65533)
    with place.asked(BOB, user=65533) as (_, reply):
        assert reply == Held()
        assert place.answer(ALICE) == Taken(BOB)
    if place.file.exists():  # it may not delete the file: then it names no owner
        assert place.file.read_text() == ""
    with place.asked(ALICE) as (_, reply):
        assert reply == Held()
        assert place.file.stat().st_uid == 0
        assert place.answer(BOB, user=65533) == Taken(ALICE)
    assert not place.file.exists()


def test_a_folder_that_not_all_may_use_is_passed_over(place: Place) -> None:
    (place.root / "run" / "lock").chmod(0o755)
    with place.asked(ALICE) as (_, reply):
        assert isinstance(reply, Unleasable)
        assert "1777" in reply.why
    (place.root / "tmp").mkdir()
    (place.root / "tmp").chmod(0o1777)
    with place.asked(ALICE) as (_, reply):
        assert reply == Held()
        assert (place.root / "tmp" / "railgauge" / "node.lease").exists()


def test_a_link_is_not_followed(place: Place) -> None:
    other = place.root / "other"
    other.write_text("precious")
    own_folder(place)
    place.file.symlink_to(other)
    refused(place, "not a regular file")
    assert other.read_text() == "precious"


# --- what somebody else has put there ---


def own_folder(place: Place) -> None:
    place.folder.mkdir()
    place.folder.chmod(0o1777)


def refused(place: Place, why: str) -> None:
    reply = place.answer(ALICE)
    assert isinstance(reply, Unleasable)
    assert reply.why.startswith("forged: ")
    assert why in reply.why


@any_shell
def test_a_hard_link_is_not_written_to(place: Place) -> None:
    """Where the kernel lets users link files of others, a lease overwrote such a file."""
    other = place.root / "other"
    other.write_text("precious")
    own_folder(place)
    place.file.hardlink_to(other)
    refused(place, "is a hard link")
    assert other.read_text() == "precious"


def test_a_folder_that_is_a_link_is_not_followed(place: Place) -> None:
    elsewhere = place.root / "elsewhere"
    elsewhere.mkdir()
    elsewhere.chmod(0o1777)
    place.folder.symlink_to(elsewhere)
    refused(place, "is a symbolic link")
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("mode", [0o755, 0o777, 0o1755])
def test_a_folder_with_another_mode_is_refused(place: Place, mode: int) -> None:
    place.folder.mkdir()
    place.folder.chmod(mode)
    refused(place, "has not the mode 1777")
    assert list(place.folder.iterdir()) == []


def test_a_file_in_place_of_the_folder_is_refused(place: Place) -> None:
    place.folder.write_text("precious")
    refused(place, "is no folder")
    assert place.folder.read_text() == "precious"


def test_root_takes_the_folder_of_another_user(
    place: Place, cannot_run: Callable[[str], None]
) -> None:
    """Its owner could delete the lease of every run, and another run would take the node."""
    if os.geteuid() != 0:
        cannot_run("only root can be somebody else")
    own_folder(place)
    os.chown(place.folder, 65534, 65534)
    with place.asked(ALICE) as (_, reply):
        assert reply == Held()
        assert place.folder.stat().st_uid == 0
        assert place.answer(BOB, user=65533) == Taken(ALICE)
    assert not place.folder.exists()


def test_a_forged_name_is_reported(place: Place) -> None:
    """Somebody holds the lock, and the text of the file names no run."""
    own_folder(place)
    place.file.write_text("rm -rf /\x1b[2J\n")
    with place.file.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        reply = place.answer(ALICE)
    assert reply == Taken(None, is_forged=True)
    assert "forged" in str(reply)
    assert str(reply).isprintable()


def test_nothing_is_left_on_the_node(place: Place) -> None:
    with place.asked(ALICE) as (_, reply):
        assert reply == Held()
        assert place.folder.stat().st_mode & 0o7777 == 0o1777
    assert list((place.root / "run" / "lock").iterdir()) == []


def little(folder: Path, *names: str) -> str:
    """A PATH with few programs."""
    own = ("sh", "cat", "rm", "grep", "sort", "sleep", "head", "dd", "ls", "id", "mkdir", "rmdir")
    return str(programs.folder_of(folder, *own, *names))


@pytest.mark.parametrize("name", ["flock", "perl", "python3"])
def test_another_program_than_flock_takes_the_lock(
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
    with place.asked(ALICE) as (_, reply):
        assert reply == Held()
        assert place.answer(BOB) == Taken(ALICE)
    assert place.answer(BOB) == Held()


def test_a_node_without_a_program_for_locks_is_reported(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", little(tmp_path / "bin"))
    assert place.answer(ALICE) == Unleasable("none of flock, perl and python3 is installed")


# --- words ---


def test_a_name_with_line_ends_does_not_break_the_line(place: Place) -> None:
    odd = Holder("a'b\n$(reboot)", "h\\", "%s", "now", "$t")
    with place.asked(odd) as (_, reply):
        assert reply == Held()
        found = place.answer(BOB)
    assert found == Taken(Holder("a'b?$(reboot)", "h\\", "%s", "now", "$t"))

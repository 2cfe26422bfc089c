"""Lines of a run: a file that stays open is reopened if it is replaced, and its chain holds."""

from __future__ import annotations

import gc
import multiprocessing
import os
from pathlib import Path

import pytest

from railgauge.core import chain
from railgauge.run.store import Store

SPAWN = multiprocessing.get_context("fork")
NAME = "x.jsonl"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "leases").mkdir()
    return tmp_path


def numbers(folder: Path) -> list[int]:
    """The numbers of all lines, whose chain holds."""
    lines, _ = Store(folder).lines(NAME)
    assert chain.first_broken(lines) is None
    return [line["n"] for line in lines]


def test_two_writers_in_turn_make_one_chain(folder: Path) -> None:
    one, other = Store(folder), Store(folder)
    for n in range(0, 10, 2):
        one.append_bound(NAME, {"n": n})
        other.append_bound(NAME, {"n": n + 1})
    assert numbers(folder) == list(range(10))


def _add(folder: Path, first: int) -> None:
    store = Store(folder)
    for n in range(first, first + 100):
        store.append_bound(NAME, {"n": n})


def test_several_processes_at_once_make_one_chain(folder: Path) -> None:
    writers = [SPAWN.Process(target=_add, args=(folder, 100 * number)) for number in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(30)
    assert sorted(numbers(folder)) == list(range(400))


def test_the_chain_goes_on_after_the_half_line_of_another_writer(folder: Path) -> None:
    store = Store(folder)
    store.append_bound(NAME, {"n": 1})
    with (folder / NAME).open("ab") as file:
        file.write(b'{"n": 2, "ch')
    store.append_bound(NAME, {"n": 3})
    assert numbers(folder) == [1, 3]


def test_a_line_follows_in_the_file_that_took_the_place_of_the_open_one(folder: Path) -> None:
    store = Store(folder)
    for n in (1, 2):
        store.append_bound(NAME, {"n": n})
    Store(folder).take_out(NAME, lambda line: line["n"] == 1)
    store.append_bound(NAME, {"n": 3})
    assert numbers(folder) == [2, 3]


def test_a_file_that_was_removed_begins_anew(folder: Path) -> None:
    store = Store(folder)
    store.append_bound(NAME, {"n": 1})
    (folder / NAME).unlink()
    store.append_bound(NAME, {"n": 2})
    assert numbers(folder) == [2]


def test_a_line_that_could_not_be_written_whole_costs_only_itself(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, write = Store(folder), os.write
    store.append_bound(NAME, {"n": 1})

    def full(file: int, data: memoryview) -> int:
        write(file, data[:7])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            store.append_bound(NAME, {"n": 2})
    store.append_bound(NAME, {"n": 3})
    assert numbers(folder) == [1, 3]


def test_a_line_that_is_written_in_pieces_is_whole(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:5]))
    store = Store(folder)
    for n in (1, 2):
        store.append_bound(NAME, {"n": n})
    assert numbers(folder) == [1, 2]


def test_files_are_closed_with_the_store_that_opened_them(folder: Path) -> None:
    def held() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    gc.collect()
    store, before = Store(folder), held()
    for n in (1, 2):
        store.append_bound(NAME, {"n": n})
    assert held() == before + 2  # the file and its lock
    del store
    gc.collect()
    assert held() == before

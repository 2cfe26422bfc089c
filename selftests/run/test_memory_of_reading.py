"""The files of a large run are read piece by piece: its records are gigabytes."""

from __future__ import annotations

import hashlib
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from railgauge.core.digests import sha256_of
from railgauge.core.secret_forms import MASK
from railgauge.judging import record
from railgauge.run import masks
from railgauge.run.run_folder import RunFolder
from railgauge.run.store import Store

_LINE = f'{{"id": "x", "text": "{MASK}", "more": "{"y" * 2000}"}}\n'
_LINES = 10_000
_MOST_BYTES = 4 * 2**20


@pytest.fixture
def large(tmp_path: Path) -> Path:
    (tmp_path / record.FILE).write_text(_LINE * _LINES)
    assert (tmp_path / record.FILE).stat().st_size > 4 * _MOST_BYTES
    return tmp_path


def peak_of(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_masked_values_are_counted(large: Path) -> None:
    assert masks.counted(large) == {"records": _LINES}
    assert peak_of(lambda: masks.counted(large)) < _MOST_BYTES


def test_a_mask_at_the_end_of_a_piece_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / record.FILE).write_text(f"{MASK} and {MASK}{MASK}")
    for size in range(1, 40):
        monkeypatch.setattr(masks, "_PIECE_BYTES", size)
        assert masks.counted(tmp_path) == {"records": 3}


def test_the_manifest_has_the_digest(large: Path) -> None:
    assert peak_of(lambda: Store(large).write_manifest({})) < _MOST_BYTES
    digest = hashlib.sha256((_LINE * _LINES).encode()).hexdigest()
    assert Store(large).read_json("manifest.json")["sha256"] == {record.FILE: digest}
    assert sha256_of(large / record.FILE) == digest


def test_lines_are_read_one_after_the_other(large: Path) -> None:
    found = RunFolder(large)
    assert peak_of(lambda: sum(1 for _ in found._lines(record.FILE))) < _MOST_BYTES

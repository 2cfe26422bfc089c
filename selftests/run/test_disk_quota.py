"""The limit on what a run stores: reaching it is reported, and nothing stored before is lost."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from railgauge.run.disk_quota import DiskQuota
from railgauge.run.storage import ResourceExhaustion


def test_files_that_were_there_count(tmp_path: Path) -> None:
    (tmp_path / "transcripts").mkdir()
    (tmp_path / "transcripts" / "earlier.json").write_bytes(bytes(900))
    quota = DiskQuota(tmp_path, 1000)
    quota.take(100)
    with pytest.raises(OSError, match="--disk-limit") as caught:
        quota.take(1)
    assert caught.value.errno == errno.EDQUOT
    assert (tmp_path / "transcripts" / "earlier.json").stat().st_size == 900


def test_files_of_other_processes_count(tmp_path: Path) -> None:
    quota = DiskQuota(tmp_path, 64_000)
    quota.take(500)
    (tmp_path / "of-a-worker.json").write_bytes(bytes(63_900))
    quota.take(400)  # not known yet
    with pytest.raises(OSError, match="is reached"):
        quota.take(700)


def test_a_large_limit_costs_no_look_at_each_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []
    monkeypatch.setattr(
        "railgauge.run.disk_quota._size_of", lambda folder: looks.append(folder) or 0
    )
    quota = DiskQuota(tmp_path)
    for _ in range(1000):
        quota.take(100_000)
    assert len(looks) == 1


def test_a_file_that_vanishes_meanwhile_has_no_size(tmp_path: Path) -> None:
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    DiskQuota(tmp_path, 1000).take(10)


def test_all_processes_of_the_run_are_refused_from_then_on(tmp_path: Path) -> None:
    """Small writes too: a run whose measurements are refused must not end with a verdict."""
    one, other = DiskQuota(tmp_path, 1000), DiskQuota(tmp_path, 1000)
    other.take(1)
    with pytest.raises(OSError, match="is reached"):
        one.take(2000)
    for quota in (one, other, DiskQuota(tmp_path, 1000)):
        with pytest.raises(OSError, match="is reached"):
            quota.take(1)


@pytest.mark.parametrize("is_worker", [False, True])
def test_the_line_has_a_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], is_worker: bool
) -> None:
    with pytest.raises(OSError, match="reached") as caught:
        DiskQuota(tmp_path, 1024).take(2000)
    exhaustion = ResourceExhaustion(tmp_path)
    error = caught.value
    traceback = f"Traceback\nOSError: [Errno {error.errno}] {error.strerror}\n"
    if is_worker:
        line = exhaustion.of_text(traceback)
    else:
        exhaustion.report(error)
        line = capsys.readouterr().err
    assert exhaustion.happened
    assert "the limit of 1KiB for what a run stores is reached" in line
    assert (
        f"give more with --disk-limit, and carry the run on with --resume {tmp_path.name}" in line
    )

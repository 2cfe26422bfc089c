"""No file of the package and of its selftests is longer than somebody reads at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from testing.places import ROOT

MOST_LINES = 400
# A node runs the first two alone, so that each must be one file. The others are still to be split.
LONGER = {
    "src/railgauge/tools/gemm_bench/program.py",
    "src/railgauge/tools/train_bench/program.py",
    "selftests/matrix/blind_count.py",
    "selftests/matrix/test_blind_study.py",
    "selftests/testing/transport_contract.py",
}


def longer(root: Path, *folders: str) -> Iterator[str]:
    for folder in folders:
        for path in sorted((root / folder).rglob("*.py")):
            if len(path.read_text(encoding="utf-8").splitlines()) > MOST_LINES:
                yield path.relative_to(root).as_posix()


def test_each_file_has_at_most_400_lines_but_those_that_are_named() -> None:
    """Passes if exactly the named files are longer. Otherwise split a file by its subjects, or take
    a name from the list."""
    assert set(longer(ROOT, "src", "tests", "selftests")) == LONGER


@pytest.mark.parametrize(("lines", "found"), [(400, []), (401, ["src/deep/x.py"])])
def test_a_longer_file_is_found(tmp_path: Path, lines: int, found: list[str]) -> None:
    path = tmp_path / "src" / "deep" / "x.py"
    path.parent.mkdir(parents=True)
    path.write_text("x = 1\n" * lines, encoding="utf-8")
    assert list(longer(tmp_path, "src")) == found

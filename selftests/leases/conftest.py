"""A node's root for the script of a lease."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from testing.lease_place import Place


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

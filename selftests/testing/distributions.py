"""The source distribution of the project, and the wheel that is built from it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from testing.archives import unpack
from testing.places import ROOT
from testing.programs import cannot_run

TIME_LIMIT_S = 600.0
_NOT_OURS = (
    ".git", ".venv", ".cache", ".tox", "build", "dist", "man", "reports", "evidence", "*.egg-info",
)  # fmt: skip
_BUILD = "import sys; from setuptools import build_meta; print(build_meta.{0}(sys.argv[1]))"
# As pip does it: without the packages that railgauge needs.
_BUILD_ALONE = "import sys; sys.modules['cattrs'] = None; " + _BUILD.format("build_wheel")
_WITH_OWN_BDIST_WHEEL = (70, 1)


@dataclass(frozen=True)
class Distributions:
    source: Path
    """The folder that the source distribution unpacks to."""
    wheel: Path


def distributions(top: Path) -> Distributions:
    """Build the source distribution from a copy of the project, and the wheel from that."""
    if tuple(map(int, version("setuptools").split(".")[:2])) < _WITH_OWN_BDIST_WHEEL:
        cannot_run("setuptools 70.1 or later is not installed")
    ignored = shutil.ignore_patterns(*_NOT_OURS, "__pycache__", ".*_cache", ".hypothesis")
    shutil.copytree(ROOT, top / "copy", ignore=ignored)
    (top / "copy" / "reports").mkdir()
    shutil.copy(ROOT / "reports" / "README.md", top / "copy" / "reports")
    out = carry_out(sys.executable, "-c", _BUILD.format("build_sdist"), top, cwd=top / "copy")
    unpack(top / out.split()[-1], top / "unpacked")
    (source,) = (top / "unpacked").iterdir()
    out = carry_out(sys.executable, "-c", _BUILD_ALONE, top, cwd=source)
    return Distributions(source, top / out.split()[-1])


def carry_out(*command: object, cwd: Path, **more: str) -> str:
    """Standard output of a command that has to succeed, without this machine's checkout in it."""
    own = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**own, "PYTEST_ADDOPTS": "-p no:hypothesispytest", **more},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=TIME_LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout

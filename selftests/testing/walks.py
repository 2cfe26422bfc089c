"""The tutorials of docs/extending.md, carried out in a copy of this checkout."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from testing.places import ROOT

TITLES = ("A platform", "A tool", "A GPU vendor", "A launcher", "A transport")
PAGE = ROOT / "docs" / "extending.md"
COPIED = ("src", "tests", "thresholds", "hostfiles", "conftest.py", "tox.ini")
TIME_LIMIT_S = 120.0

# A path, whether a line of the file is kept, and the text in a fence below.
_STEP = re.compile(
    r"^ *`(?P<path>[^`\n]+)`(?:, (?P<how>after|in place of) the line `(?P<line>[^`\n]+)`)?:\n\n"
    r" *```\w+\n(?P<text>.*?)^ *```$",
    re.MULTILINE | re.DOTALL,
)
_SHELL = re.compile(r"^ *```sh\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Step:
    """Text for a file: the whole file, or text after or instead of one ``line``."""

    path: str
    how: str
    line: str
    text: str

    def carry_out(self, folder: Path) -> None:
        path = folder / self.path
        if not self.how:
            assert not path.exists(), f"{self.path} is there already"
            path.write_text(self.text, encoding="utf-8")
            return
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        (at,) = (n for n, line in enumerate(lines) if line.strip() == self.line)
        lines[at : at + 1] = [*([lines[at]] if self.how == "after" else []), self.text]
        path.write_text("".join(lines), encoding="utf-8")


def part(title: str) -> str:
    """The part of the page under ``## title``."""
    (found,) = re.findall(
        rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.M | re.S
    )
    return str(found)


def steps(title: str) -> tuple[Step, ...]:
    return tuple(_steps(part(title)))


def _steps(text: str) -> Iterator[Step]:
    for found in _STEP.finditer(text):
        # Text in a list is indented by three columns; more indentation belongs to the text itself.
        own = re.sub(r"^ {3}", "", found["text"], flags=re.MULTILINE)
        yield Step(found["path"], found["how"] or "", found["line"] or "", own)


def commands(title: str) -> tuple[str, ...]:
    """The commands to type."""
    return tuple(textwrap.dedent(text) for text in _SHELL.findall(part(title)))


@dataclass(frozen=True)
class Checkout:
    """A copy of what a user of this project has, with its own ``railgauge`` and ``pytest``."""

    folder: Path

    def walk(self, *titles: str) -> tuple[Step, ...]:
        """Carry out the steps below these titles."""
        found = tuple(step for title in titles for step in steps(title))
        for step in found:
            step.carry_out(self.folder)
        return found

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """The command line, in the checkout, by ``sh``."""
        own = {
            "PYTHONPATH": f"{self.folder / 'src'}",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }
        kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
        return subprocess.run(
            ["sh", "-c", command], cwd=self.folder, env={**kept, **own}, capture_output=True,
            text=True, stdin=subprocess.DEVNULL, timeout=TIME_LIMIT_S, check=False,
        )  # fmt: skip


def checkout(folder: Path) -> Checkout:
    folder.mkdir(parents=True)
    # Compiled modules are valid only for unchanged sources; those that pytest wrote hold paths too.
    left_out = shutil.ignore_patterns("*-pytest-*", "*.egg-info")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=left_out, symlinks=True)
        else:
            shutil.copy(ROOT / name, folder)
    for name in ("stacks", "launchers", "transport"):
        (folder / "selftests" / name).mkdir(parents=True)
    return Checkout(folder)

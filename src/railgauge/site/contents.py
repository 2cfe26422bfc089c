"""The files that the package gives to a site, and where they are.

An installed package holds copies of them (``setup.py`` makes these when it builds the wheel). In a
checkout they are the files of the project itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

TEMPLATE = "template"
"""The folder in the wheel, beside this file."""

PAGES = "docs"
"""The folder of the documentation: in the wheel beside this file, in a checkout at its root."""

LIST = "README"

_ENTRIES = (
    "conftest.py", "tox.ini", ".gitignore", "Jenkinsfile",
    "tests", "thresholds", "hostfiles", "examples", "reports/README.md",
)  # fmt: skip


def source() -> Path:
    """The folder with the files of a site."""
    packaged = Path(__file__).with_name(TEMPLATE)
    return packaged if packaged.is_dir() else Path(__file__).parents[3]


def documentation() -> Path:
    """The folder with the pages of the documentation, and their list, ``README.md``."""
    packaged = Path(__file__).with_name(PAGES)
    return packaged if packaged.is_dir() else Path(__file__).parents[3] / PAGES


def pages(folder: Path) -> dict[str, Path]:
    """The pages in this folder by their names, without the list."""
    return {path.stem: path for path in sorted(folder.glob("*.md")) if path.stem != LIST}


def names(folder: Path) -> Iterator[str]:
    """The files of a site in this folder: their paths relative to it, sorted."""
    for entry in _ENTRIES:
        path = folder / entry
        found = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in found:
            inner = file.relative_to(folder)
            if file.is_file() and not _is_left_out(inner):
                yield inner.as_posix()


def _is_left_out(inner: Path) -> bool:
    """Compiled files, and what editors leave in a checkout."""
    hidden = any(part.startswith(".") for part in inner.parts[1:])
    return hidden or "__pycache__" in inner.parts

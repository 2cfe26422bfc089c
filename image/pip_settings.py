"""Write pip's settings on this machine into a folder, with copies of the files that they name.

The build of an image mounts the folder: its pip then uses the same indexes and certificates.
"""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

PLACE = "/run/pip"
"""Where the build finds the folder."""

_SECTIONS = ("global", "install", ":env:")  # pip reads them in this order; the last one counts
_PLACE_OF_FILE = ":env:.config-file"


def settings() -> dict[str, str]:
    """What applies to ``pip install``, from files and variables, by name."""
    asked = [sys.executable, "-m", "pip", "config", "list"]
    told = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    rows = [line.partition("=") for line in told.splitlines()]
    return {
        key.removeprefix(f"{section}."): str(ast.literal_eval(value))
        for section in _SECTIONS
        for key, _, value in rows
        if key.startswith(f"{section}.") and key != _PLACE_OF_FILE
    }


def copied(word: str, folder: Path) -> str:
    """The word as the build has it: the path of a copy, if it names a file of this machine."""
    source = Path(word)
    if not source.is_absolute() or not source.exists():
        return word
    name = "-".join(source.parts[1:])
    if source.is_dir():
        shutil.copytree(source, folder / name, dirs_exist_ok=True)
    else:
        shutil.copyfile(source, folder / name)
    return f"{PLACE}/{name}"


def main(folder: Path) -> None:
    lines = ["[global]"]
    for name, value in settings().items():
        words = [copied(word, folder) for word in value.split()]
        lines.append(f"{name} = " + "\n    ".join(words))
    (folder / "pip.conf").write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

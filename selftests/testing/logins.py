"""An unprivileged login on this machine, with the rights that a sudoers file of its own gives."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

USER, UID = "nobody", 65534
_BEGIN = """
mount --bind "$1/sudoers" /etc/sudoers && mount --bind "$1/none" /etc/sudoers.d || exit
echo up; exec sleep 600
"""


def rights(commands: str) -> str:
    """The line of sudoers that lets the login run these commands as root without a password."""
    return f"{USER} ALL=(root) NOPASSWD: {commands}\n"


@contextmanager
def sudoers(cannot_run: Callable[[str], NoReturn], text: str) -> Iterator[tuple[str, ...]]:
    """Put a sudoers file into a mount namespace; give the argv that runs a command there.

    The command runs as ``USER``. The machine's own sudoers files are not touched.
    """
    if os.geteuid() != 0 or shutil.which("sudo") is None:
        cannot_run("needs root, and sudo installed")
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "none").mkdir()
        (folder / "sudoers").write_text(f"Defaults env_reset\nroot ALL=(ALL) ALL\n{text}")
        (folder / "sudoers").chmod(0o440)
        argv = ["unshare", "--mount", "sh", "-c", _BEGIN, "sh", name]
        with subprocess.Popen(argv, stdout=subprocess.PIPE) as first:
            assert first.stdout
            try:
                if first.stdout.readline() != b"up\n":
                    cannot_run("mounts are restricted")
                login = ("setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups")
                yield ("nsenter", f"--target={first.pid}", "--mount", "--", *login)
            finally:
                first.kill()

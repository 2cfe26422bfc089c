"""The outer side: make the namespaces of the cluster, wait for the command, and clean up.

The kernel kills every process of the cluster with process 1 of its process namespace. Process 1
ends when its pipe from this process is closed. Therefore nothing is left behind, not even when
this process is killed with SIGKILL.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from types import FrameType

from railgauge.core.errors import BadInput
from railgauge_lab.netlab import sshd
from railgauge_lab.netlab.settings import Settings

_NEEDED = ("unshare", "nsenter", "ip", "tc", "nft", "mount", "hostname")
_APART = ("--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc")
_USER = ("--user", "--map-root-user")
_SIGNALLED = 128


def run(settings: Settings, command: Sequence[str]) -> int:
    """Build the cluster, run ``command`` beside it, remove the cluster; return the exit code.

    ``{hostfile}`` in the command is replaced by the path of the hostfile, which is also in the
    environment variable ``RAILGAUGE_HOSTFILE``. The hostfile exists only while the command runs,
    and only the command can see it. Raises ``BadInput`` with the reason if this machine cannot
    make the cluster.
    """
    path = _path()
    _check_programs(settings, path)
    privilege = _privilege(settings)
    with _temporary() as folder:
        return _inside([*privilege, *_APART], _config(settings, command, folder), path)


@contextlib.contextmanager
def _temporary() -> Iterator[Path]:
    """A folder on which the cluster mounts its files; it goes even if this process is killed.

    What is mounted on it ends with the namespaces. A shell waits for the end of this process, and
    removes the empty folder.
    """
    folder = tempfile.mkdtemp(prefix="railgauge-tcp-lab-")
    script = 'read -r _; rmdir -- "$1"'
    with subprocess.Popen(
        ["sh", "-c", script, "sh", folder],
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ):
        try:
            yield Path(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _path() -> str:
    return f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


def _check_programs(settings: Settings, path: str) -> None:
    if missing := [name for name in _NEEDED if shutil.which(name, path=path) is None]:
        raise BadInput(
            f"{', '.join(missing)} not found",
            where="tcp-lab",
            remedy="install util-linux, iproute2, nftables and hostname",
        )
    if settings.sshd == "openssh":
        sshd.program()


def _privilege(settings: Settings) -> tuple[str, ...]:
    """Return the options that ``unshare`` needs to make namespaces here; root may need none.

    Raises ``BadInput`` if this user may not make them, or needs root for OpenSSH's sshd.
    """
    is_root = os.geteuid() == 0
    if settings.sshd == "openssh":
        if is_root and _can(()):
            return ()
        remedy = "run as root, or leave out --sshd openssh"
        raise BadInput("OpenSSH's sshd in a namespace needs root", where="tcp-lab", remedy=remedy)
    if _can(_USER):
        return _USER
    if is_root and _can(()):
        return ()
    raise BadInput(
        "this user may not make namespaces on this machine (unshare -Urnm true fails)",
        where="tcp-lab",
        remedy="allow user namespaces (sysctl kernel.unprivileged_userns_clone, "
        "kernel.apparmor_restrict_unprivileged_userns, user.max_user_namespaces), or run as root",
    )


def _can(privilege: Sequence[str]) -> bool:
    probe = subprocess.run(
        ["unshare", *privilege, "--net", "--mount", "true"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return probe.returncode == 0


def _config(settings: Settings, command: Sequence[str], folder: Path) -> str:
    links = {node: asdict(link) for node, link in settings.links.items()}
    return json.dumps(
        {
            "nodes": settings.nodes,
            "links": links,
            "sshd": settings.sshd,
            "folder": str(folder),
            "command": list(command),
        }
    )


def _inside(options: Sequence[str], config: str, path: str) -> int:
    """Run ``railgauge_lab.netlab.inside`` as process 1, which ends when this process does."""
    alive_read, alive_write = os.pipe()
    status_read, status_write = os.pipe()
    argv = ["unshare", *options, "--", sys.executable, "-m", "railgauge_lab.netlab.inside"]
    with _signals_handled(alive_write):
        process = subprocess.Popen(
            [*argv, config, str(alive_read), str(status_write)],
            pass_fds=(alive_read, status_write),
            env={**os.environ, "PATH": path},
        )
        os.close(alive_read)
        os.close(status_write)
        with os.fdopen(status_read, encoding="utf-8") as stream:
            status = stream.read()
        code = process.wait()
    with contextlib.suppress(OSError):
        os.close(alive_write)
    _check_started(status, code)
    return code if code >= 0 else _SIGNALLED - code


def _check_started(status: str, code: int) -> None:
    """Raise ``BadInput`` if the command was not started.

    ``status`` is the JSON that ``inside`` wrote: an empty object if the command was started, else
    ``what`` and ``remedy``. It is empty if ``inside`` itself did not run.
    """
    if not status:
        if code:
            what = "the cluster's namespaces could not be made (see above)"
            raise BadInput(what, where="tcp-lab", remedy="check that unshare -Urnm true works")
        return
    answer = json.loads(status)
    if "what" in answer:
        raise BadInput(answer["what"], where="tcp-lab", remedy=answer["remedy"])


@contextlib.contextmanager
def _signals_handled(alive_write: int) -> Iterator[None]:
    """Ignore Ctrl-C, and end the cluster on SIGTERM and SIGHUP by closing its pipe.

    The terminal sends Ctrl-C to the command too, which decides what to do.
    """

    def close(_number: int, _frame: FrameType | None) -> None:
        with contextlib.suppress(OSError):
            os.close(alive_write)

    numbers = {signal.SIGINT: _ignore, signal.SIGTERM: close, signal.SIGHUP: close}
    before = {number: signal.signal(number, handler) for number, handler in numbers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """Do nothing; unlike this handler, SIG_IGN would be inherited by the command."""

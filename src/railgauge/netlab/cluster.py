"""The outer side: make the namespaces in which the cluster lives, wait, and clean up.

Everything dies with process 1 of the cluster's process namespace, and that one ends when the pipe
to this side does, so that not even SIGKILL leaves anything behind.
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
from railgauge.netlab import sshd
from railgauge.netlab.settings import Settings

_NEEDED = ("unshare", "nsenter", "ip", "tc", "nft", "mount", "hostname")
_APART = ("--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc")
_USER = ("--user", "--map-root-user")
_SIGNALLED = 128


def run(settings: Settings, command: Sequence[str]) -> int:
    """Build the cluster, run ``command`` beside it, take it away; the command's exit code.

    ``{hostfile}`` in the command stands for the path of the hostfile, which is also in the
    variable ``RAILGAUGE_HOSTFILE``; both exist only while the command runs, and only for it.
    Raises ``BadInput`` if this machine cannot make such a cluster, with the reason.
    """
    path = _path()
    _check_programs(settings, path)
    privilege = _privilege(settings)
    folder = Path(tempfile.mkdtemp(prefix="railgauge-tcp-lab-"))
    try:
        return _inside([*privilege, *_APART], _config(settings, command, folder), path)
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
    """The options of ``unshare`` that make namespaces possible here: a user namespace, or root."""
    is_root = os.geteuid() == 0
    if settings.sshd == "openssh":
        if is_root and _can(()):
            return ()
        remedy = "run it as root, or leave --sshd openssh out"
        raise BadInput("OpenSSH's sshd in a namespace needs root", where="tcp-lab", remedy=remedy)
    if _can(_USER):
        return _USER
    if is_root and _can(()):
        return ()
    raise BadInput(
        "this machine does not let this user make namespaces (unshare -Urnm true fails)",
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
    """Run ``railgauge.netlab.inside`` as process 1, tied to this process by a pipe."""
    alive, tie = os.pipe()
    trouble, told = os.pipe()
    argv = ["unshare", *options, "--", sys.executable, "-m", "railgauge.netlab.inside"]
    with _signals_wait(tie):
        process = subprocess.Popen(
            [*argv, config, str(alive), str(told)],
            pass_fds=(alive, told),
            env={**os.environ, "PATH": path},
        )
        os.close(alive)
        os.close(told)
        with os.fdopen(trouble, encoding="utf-8") as stream:
            said = stream.read()
        code = process.wait()
    with contextlib.suppress(OSError):
        os.close(tie)
    _refuse(said, code)
    return code if code >= 0 else _SIGNALLED - code


def _refuse(said: str, code: int) -> None:
    """``said`` is JSON: empty for a command that was started, else why it was not."""
    if not said:
        if code:
            what = "the cluster's namespaces could not be made (see above)"
            raise BadInput(what, where="tcp-lab", remedy="see if unshare -Urnm true works")
        return
    answer = json.loads(said)
    if "what" in answer:
        raise BadInput(answer["what"], where="tcp-lab", remedy=answer["remedy"])


@contextlib.contextmanager
def _signals_wait(tie: int) -> Iterator[None]:
    """Ctrl-C is for the command, which the terminal tells by itself; SIGTERM cuts the tie."""

    def cut(_number: int, _frame: FrameType | None) -> None:
        with contextlib.suppress(OSError):
            os.close(tie)

    numbers = {signal.SIGINT: _ignore, signal.SIGTERM: cut, signal.SIGHUP: cut}
    before = {number: signal.signal(number, handler) for number, handler in numbers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """Not SIG_IGN, which the command would inherit."""

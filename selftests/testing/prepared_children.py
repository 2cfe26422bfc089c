"""Python processes that a prepared run starts, forked like the run itself.

A run on the lab starts the lab's server, and with ``-n`` it starts workers of pytest-xdist. Each is
a Python interpreter that spends most of its time on imports, which the prepared interpreter has
done. A process beside the run, forked before the run does anything, forks them when asked.

They are children of the run, as if it had started them with ``subprocess``, which is what asks.
"""

from __future__ import annotations

import ctypes
import importlib
import inspect
import json
import os
import signal
import socket
import subprocess
import sys
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_MOST_BYTES = 1 << 18
_MOST_DESCRIPTORS = 16
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PIPES = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
_LAB = ("-m", "railgauge_lab.server")
_WORKER = ("-u", "-c", "import sys;exec(eval(sys.stdin.readline()))")


@dataclass(frozen=True)
class Process:
    """What the process is: the words after ``python``."""

    words: Sequence[str]

    def run(self) -> None:
        """Do what the interpreter would do with these words."""
        if _is_lab(self.words):
            sys.argv = list(self.words[1:])
            importlib.import_module(_LAB[1]).main()
            return
        sys.argv = ["-c"]
        sys.path.insert(0, "")
        sys.stdout.reconfigure(write_through=True)  # type: ignore[union-attr]
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(self.words[-1], main.__dict__)


def _is_lab(words: Sequence[str]) -> bool:
    return tuple(words[:2]) == _LAB


def prepare() -> Process | None:
    """Return ``None`` in the run; return what it is in each process that the run starts later.

    The run holds nothing open for it: it connects to an abstract socket, named by its process ID.
    """
    run = os.getpid()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as requests:
        requests.bind(_address(run))
        requests.listen()
        if not os.fork():
            return _serve(requests, run)
    _ask_instead_of_starting()
    return None


def _address(run: int) -> str:
    return f"\0railgauge-prepared-{run}"


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


# --- in the run ---


def _ask_instead_of_starting() -> None:
    start = subprocess.Popen._execute_child  # type: ignore[attr-defined]
    names = list(inspect.signature(start).parameters)

    def start_or_ask(self: Any, *given: Any) -> None:
        how = dict(zip(names[1:], given, strict=True))
        words = [] if isinstance(how["args"], (str, bytes)) else list(map(str, how["args"]))
        if words[:1] != [sys.executable] or not _is_known(words[1:]):
            start(self, *given)
            return
        self.pid = _ask(words[1:], how)
        self._child_created = True
        self._close_pipe_fds(*(how[name] for name in _PIPES))

    subprocess.Popen._execute_child = start_or_ask  # type: ignore[attr-defined]


def _is_known(words: Sequence[str]) -> bool:
    return _is_lab(words) or tuple(words) == _WORKER


def _ask(words: Sequence[str], how: Mapping[str, Any]) -> int:
    """Return the ID of the new process.

    Its own parent ends at once. While that happens, this process is a subreaper, and so becomes
    the parent of the new one.
    """
    message = {
        "words": words,
        "folder": os.fspath(how["cwd"] or Path.cwd()),
        "environment": dict(os.environ if how["env"] is None else how["env"]),
        "new_session": bool(how["start_new_session"]),
    }
    ends = [how[name] for name in ("p2cread", "c2pwrite", "errwrite")]
    streams = [number if end < 0 else end for number, end in enumerate(ends)]
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as beside:
            beside.connect(_address(os.getpid()))
            socket.send_fds(beside, [json.dumps(message).encode()], [*streams, *how["pass_fds"]])
            process = int(beside.recv(_MOST_BYTES))
            beside.recv(_MOST_BYTES)  # it is closed when the parent in between is gone
            return process
    finally:
        _prctl(_PR_SET_CHILD_SUBREAPER, 0)


# --- beside the run ---


def _serve(requests: socket.socket, run: int) -> Process:
    """Fork for each request; return only in the new processes. The kernel ends it with the run."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != run:
        os._exit(0)
    interrupted = signal.signal(signal.SIGINT, signal.SIG_IGN)  # signals are for the others
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    os.close(nothing)
    while True:
        asking, _ = requests.accept()
        with asking:
            message, given, _, _ = socket.recv_fds(asking, _MOST_BYTES, _MOST_DESCRIPTORS)
            between = os.fork()
            if between:
                os.waitpid(between, 0)
            elif new := os.fork():
                asking.send(b"%d" % new)
                os._exit(0)
            else:
                break
        for descriptor in given:
            os.close(descriptor)
    requests.close()
    signal.signal(signal.SIGINT, interrupted)
    return _new(json.loads(message), given)


def _new(asked: Mapping[str, Any], given: Sequence[int]) -> Process:
    for number, stream in enumerate(given[:3]):
        os.dup2(stream, number)
        os.close(stream)
    if asked["new_session"]:
        os.setsid()
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    return Process(asked["words"])

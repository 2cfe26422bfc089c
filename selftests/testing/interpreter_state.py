"""A plugin of pytest that writes what a run can see of its interpreter to ``state.json``."""

from __future__ import annotations

import gc
import json
import locale
import os
import random
import resource
import signal
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

import __main__


def _stream(stream: Any) -> list[object]:
    words = ("name", "mode", "encoding", "errors", "line_buffering", "newlines")
    return [stream.isatty(), stream.seekable(), *(getattr(stream, word) for word in words)]


def _open_files() -> dict[str, str]:
    """By number, without the numbers of pipes and sockets."""
    files = [path for path in Path("/proc/self/fd").iterdir() if path.exists()]
    return {path.name: str(path.readlink()).partition("[")[0] for path in files}


def _named(thing: object) -> str:
    return repr(thing).partition(" at 0x")[0]


def _limits() -> dict[str, tuple[int, int]]:
    names = [name for name in dir(resource) if name.startswith("RLIMIT")]
    return {name: resource.getrlimit(getattr(resource, name)) for name in names}


def _umask() -> int:
    os.umask(found := os.umask(0))
    return found


# Read while pytest loads its plugins, before it begins to change any of it.
_SEEN = {
    "arguments": sys.argv,
    "path": sys.path,
    "main": [__main__.__name__, __main__.__spec__.name, __main__.__file__],
    "folder": str(Path.cwd()),
    "environment": dict(os.environ),
    "flags": repr(sys.flags),
    "locale": locale.getlocale(),
    "files": _open_files(),
    "streams": [_stream(one) for one in (sys.__stdin__, sys.__stdout__, sys.__stderr__)],
    "signals": {int(one): _named(signal.getsignal(one)) for one in signal.valid_signals()},
    "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    "group and session": [os.getpgrp(), os.getsid(0)],
    "umask": _umask(),
    "limits": _limits(),
    "threads": [thread.name for thread in threading.enumerate()],
    "is the main thread": threading.get_native_id() == os.getpid(),
    "collection": [gc.isenabled(), gc.get_threshold()],
    "warnings": [repr(one) for one in warnings.filters],
    "recursion": sys.getrecursionlimit(),
    "hooks": [_named(one) for one in (*sys.meta_path, *sys.path_hooks, sys.excepthook)],
}


def pytest_unconfigure(config: pytest.Config) -> None:
    loaders = {n: type(getattr(one, "__loader__", None)) for n, one in sys.modules.items()}
    names = [name for name, _ in config.pluginmanager.list_name_plugin()]
    document = _SEEN | {
        "plugins": sorted(name for name in names if not name.isdecimal()),
        "modules": {name: loader.__name__ for name, loader in loaders.items()},
        "random": random.random(),
    }
    Path("state.json").write_text(json.dumps(document), encoding="utf-8")

"""Commands of ``railgauge`` for tests of what they say, not of how an interpreter starts."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from testing import prepared
from testing.acceptance import environment

_TIME_LIMIT_S = 120.0


def railgauge(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command in the folder, in a process of its own that need not import anything."""
    request = prepared.Request(words, folder, environment(), _TIME_LIMIT_S, program="railgauge")
    return prepared.run(request)


def session(folder: Path, words: Sequence[str], *, quiet: bool) -> int:
    """Run pytest as ``railgauge.cli.merge._session`` does, in a forked process."""
    request = prepared.Request(words, folder, environment(), _TIME_LIMIT_S)
    shown = os.open(os.devnull, os.O_WRONLY) if quiet else os.dup(1)
    with os.fdopen(shown, "wb") as output, os.fdopen(os.dup(2), "wb") as errors:
        process = prepared.start(request, output, errors)
    return process.wait(_TIME_LIMIT_S)

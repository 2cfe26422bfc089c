"""Commands of ``railgauge`` for tests of what they say, not of how an interpreter starts."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from testing import acceptance, prepared

_TIME_LIMIT_S = 120.0


def railgauge(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command in the folder, in a process of its own that need not import anything."""
    request = prepared.Request(
        words, folder, acceptance.environment(), _TIME_LIMIT_S, program="railgauge"
    )
    return prepared.run(request)


def session(
    words: Sequence[str], folder: Path, *, quiet: bool, environment: Mapping[str, str] | None = None
) -> int:
    """Run pytest as ``railgauge.cli.pytest_session.ended`` does, in a forked process."""
    own = environment if environment is not None else os.environ
    added = {name: own[name] for name in ("PYTEST_ADDOPTS",) if name in own}
    request = prepared.Request(words, folder, acceptance.environment(), _TIME_LIMIT_S, more=added)
    shown = os.open(os.devnull, os.O_WRONLY) if quiet else os.dup(1)
    with os.fdopen(shown, "wb") as output, os.fdopen(os.dup(2), "wb") as errors:
        process = prepared.start(request, output, errors)
    return process.wait(_TIME_LIMIT_S)

"""Commands of ``railgauge`` for tests of what they say, not of how an interpreter starts."""

from __future__ import annotations

import subprocess
from pathlib import Path

from testing import prepared
from testing.acceptance import environment

_TIME_LIMIT_S = 120.0


def railgauge(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command in the folder, in a process of its own that need not import anything."""
    request = prepared.Request(words, folder, environment(), _TIME_LIMIT_S, program="railgauge")
    return prepared.run(request)

"""``--run-id-file``: tells the script that started a run which run it is.

``reports/latest`` does not tell it: it is the newest run, which another process may have begun.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from railgauge.core.errors import BadInput
from railgauge.run.store import write_whole


def forget(config: pytest.Config) -> None:
    """Empty the file, so that the id of an earlier run is not taken for that of this one.

    Raises ``BadInput`` if it cannot be written.
    """
    _write(config, "")


def tell(config: pytest.Config, folder: Path) -> None:
    """Write the id of the run that has this folder. Raises ``BadInput``."""
    _write(config, f"{folder.name}\n")


def _write(config: pytest.Config, text: str) -> None:
    named = config.getoption("--run-id-file")
    if not named or hasattr(config, "workerinput"):
        return
    path = Path(config.invocation_params.dir, named)
    try:
        write_whole(path, text)
    except OSError as error:
        raise BadInput(f"cannot be written: {error.strerror}", where=str(path)) from None

"""``--run-id-file``: writes the id of a run for the script that started it.

``reports/latest`` does not serve for this: it is the newest run, which another process may have
begun.
"""

from __future__ import annotations

from pathlib import Path

from railgauge.acceptance.request import Request
from railgauge.core.errors import BadInput
from railgauge.run.store import write_whole


def clear(request: Request) -> None:
    """Empty the file, so that a script does not read the id of an earlier run.

    Raises ``BadInput`` if it cannot be written.
    """
    _put(request, "")


def write(request: Request, folder: Path) -> None:
    """Write the id of the run that has this folder. Raises ``BadInput``."""
    _put(request, f"{folder.name}\n")


def _put(request: Request, text: str) -> None:
    named = request.options.run_id_file
    if not named or request.worker is not None:
        return
    path = Path(request.began_in, named)
    try:
        write_whole(path, text)
    except OSError as error:
        raise BadInput(f"cannot be written: {error.strerror}", where=str(path)) from None

"""``--run-id-file``: tells the script that started a run which run it is.

``reports/latest`` does not tell it: it is the newest run, which another process may have begun.
"""

from __future__ import annotations

from pathlib import Path

from railgauge.acceptance.request import Request
from railgauge.core.errors import BadInput
from railgauge.run.store import write_whole


def forget(request: Request) -> None:
    """Empty the file, so that the id of an earlier run is not taken for that of this one.

    Raises ``BadInput`` if it cannot be written.
    """
    _write(request, "")


def tell(request: Request, folder: Path) -> None:
    """Write the id of the run that has this folder. Raises ``BadInput``."""
    _write(request, f"{folder.name}\n")


def _write(request: Request, text: str) -> None:
    named = request.options.run_id_file
    if not named or request.worker is not None:
        return
    path = Path(request.began_in, named)
    try:
        write_whole(path, text)
    except OSError as error:
        raise BadInput(f"cannot be written: {error.strerror}", where=str(path)) from None

"""Unpack archives that the tests have made themselves."""

import tarfile
from pathlib import Path
from typing import Any

# Python 3.10 and 3.11 have filters since 3.10.12 and 3.11.4; Debian 12 has 3.11.2.
_SAFELY: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}


def unpack(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as opened:
        opened.extractall(folder, **_SAFELY)

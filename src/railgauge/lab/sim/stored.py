"""What tools and launchers keep in files, and JSON for those that print it.

The lab's own files are marshal's: ``json`` brings ``re`` and ``enum``, which take as long as all
else that a tool loads, and most tools never print JSON.
"""

from __future__ import annotations

import marshal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def read(path: str) -> Any:
    """What ``write`` left at ``path``. Raises ``OSError``."""
    with open(path, "rb") as file:  # noqa: PTH123 - pathlib costs a third of the start
        return marshal.load(file)  # noqa: S302 - the lab wrote it


def write(path: str, document: Any) -> None:
    """Plain values: what JSON could hold."""
    with open(path, "wb") as file:  # noqa: PTH123 - see read
        marshal.dump(document, file)


def from_json(path: str) -> Any:
    """Raises ``OSError`` and ``ValueError``."""
    import json  # noqa: PLC0415 - see the module

    with open(path, encoding="utf-8") as file:  # noqa: PTH123 - see read
        return json.load(file)


def as_json(document: Any, **form: Any) -> str:
    """``json.dumps``, loaded where it is used."""
    import json  # noqa: PLC0415 - see the module

    return json.dumps(document, **form)

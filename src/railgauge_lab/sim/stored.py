"""The lab's own files, and JSON for the tools that print it.

The lab's own files are in marshal's format. ``json`` imports ``re`` and ``enum``, which take as
long to load as everything else in a simulated tool, and most tools never print JSON.
"""

from __future__ import annotations

import marshal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def read(path: str) -> Any:
    """Return the document that ``write`` stored at ``path``. Raises ``OSError``."""
    with open(path, "rb") as file:  # noqa: PTH123 - pathlib takes a third of the start time
        return marshal.load(file)  # noqa: S302 - the lab wrote it


def write(path: str, document: Any) -> None:
    """Store a document of plain values, such as JSON can hold, at ``path``."""
    with open(path, "wb") as file:  # noqa: PTH123 - see read
        marshal.dump(document, file)


def copied(document: Any) -> Any:
    """Return a copy of plain values that shares nothing with them; ``deepcopy`` is far slower."""
    return marshal.loads(marshal.dumps(document))  # noqa: S302 - see read


def from_json(path: str) -> Any:
    """Read a JSON file. Raises ``OSError`` and ``ValueError``."""
    import json  # noqa: PLC0415 - see the module

    with open(path, encoding="utf-8") as file:  # noqa: PTH123 - see read
        return json.load(file)


def as_json(document: Any, **form: Any) -> str:
    """Return ``json.dumps(document, **form)``; ``json`` is imported only here."""
    import json  # noqa: PLC0415 - see the module

    return json.dumps(document, **form)

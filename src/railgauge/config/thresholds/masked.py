"""A platform file without secrets: every run and every bundle holds it, and is judged by it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from railgauge.core.errors import ThresholdError
from railgauge.core.masking import MASK_OF_PROCESS


def masked(path: Path, document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the document with secrets masked.

    Raises ``ThresholdError`` for a secret in a variable or an option, which a command needs.
    """
    made: Mapping[str, Any] = MASK_OF_PROCESS.data(document)
    if made != document and list(_settings(made)) != list(_settings(document)):
        raise ThresholdError(
            "a secret is in a variable or an option, and every bundle holds this file",
            where=str(path),
            remedy="put it into environment of the hostfile",
        )
    return made


def _settings(part: Any) -> Iterator[Any]:
    """The variables and options of a document or a part of it, which are parts of commands."""
    for name, value in part.items() if isinstance(part, Mapping) else ():
        yield from [value] if name in ("variables", "options") else _settings(value)

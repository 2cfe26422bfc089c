"""Strict JSON for untrusted files: reads valid data, or raises an error that names the file."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn, TypeVar

from railgauge.bundle.errors import BadBundle
from railgauge.core import versions
from railgauge.core.codec import from_plain
from railgauge.core.errors import BadInput

_Value = TypeVar("_Value")
_LONGEST_NUMBER = 40


def loads(data: bytes, name: str) -> Any:
    """Read the JSON in ``data``: UTF-8, unique keys, finite numbers, limited depth.

    Raises ``BadBundle``, naming the file ``name``, for anything else.
    """
    try:
        return json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_constant=_no_number,
            parse_float=_float,
            parse_int=_int,
        )
    except RecursionError:
        raise BadBundle("is nested too deeply", where=name) from None
    except ValueError as error:
        what = str(error).splitlines()[0][:120]
        raise BadBundle(f"is not valid JSON: {what}", where=name) from None


def lines(data: Iterable[bytes], name: str) -> Iterator[tuple[str, Any]]:
    """The values of the lines of a ``.jsonl`` file, each with its place (``NAME:LINE``).

    An incomplete last line is left out, because a killed run may leave one. Raises ``BadBundle``.
    """
    for number, line in enumerate(data, 1):
        if line.strip() and line.endswith(b"\n"):
            yield f"{name}:{number}", loads(line, f"{name}:{number}")


def value(kind: type[_Value], data: object, name: str) -> _Value:
    """Convert plain data to ``kind``. Raises ``BadBundle``, naming the file, for a wrong type."""
    try:
        return from_plain(kind, data)
    except BadInput as error:
        place = f"{error.where}: " if error.where else ""
        raise BadBundle(f"{place}{error.what}", where=name) from None


def versioned(data: object, known: int, name: str) -> dict[str, Any]:
    """Return ``data`` if it is an object of schema version ``known``; else raise ``BadBundle``."""
    if not isinstance(data, dict):
        raise BadBundle("should be an object", where=name)
    version = data.get("schema_version")
    if version != known or isinstance(version, bool):
        raise BadBundle(
            f"has schema version {str(version)[:20]}, but this version of railgauge reads {known}",
            where=name,
            remedy="use the version of railgauge that made it",
        )
    return data


def unstamped(data: object, file: str, name: str) -> object:
    """Return ``data`` without the version of the file. Raises ``BadBundle`` for a newer one.

    ``name`` is the place for the message.
    """
    try:
        return versions.unstamped(file, data, name) if isinstance(data, dict) else data
    except BadInput as error:
        raise BadBundle(error.what, where=error.where, remedy=error.remedy) from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError("a key is given twice")
    return result


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text[:20]} is not a valid number")


def _float(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


def _int(text: str) -> int:
    return int(text) if len(text) <= _LONGEST_NUMBER else _no_number(text)

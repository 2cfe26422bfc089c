"""JSON from strangers: read whole and sound, or refused in one line that names the file."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, NoReturn, TypeVar

from railgauge.bundle.errors import BadBundle
from railgauge.core.errors import BadInput
from railgauge.core.plain import from_plain

_Value = TypeVar("_Value")
_LONGEST_NUMBER = 40


def loads(data: bytes, name: str) -> Any:
    """The JSON in ``data``: UTF-8, each key once, numbers that are numbers, not too deep."""
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
        raise BadBundle(f"is no sound JSON: {what}", where=name) from None


def lines(data: bytes, name: str) -> Iterator[tuple[str, Any]]:
    """The values of a ``.jsonl`` file, each with its place. Half a line at the end is left out.

    A run that was killed may leave half a line, which the next line follows on its own.
    """
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        if line.strip():
            yield f"{name}:{number}", loads(line, f"{name}:{number}")


def value(kind: type[_Value], data: object, name: str) -> _Value:
    """Plain data as a value of ``kind``; a wrong type is a fault of the file ``name``."""
    try:
        return from_plain(kind, data)
    except BadInput as error:
        place = f"{error.where}: " if error.where else ""
        raise BadBundle(f"{place}{error.what}", where=name) from None


def versioned(data: object, known: int, name: str) -> dict[str, Any]:
    """An object whose ``schema_version`` this software knows."""
    if not isinstance(data, dict):
        raise BadBundle("should be an object", where=name)
    version = data.get("schema_version")
    if version != known or isinstance(version, bool):
        raise BadBundle(
            f"has schema version {str(version)[:20]}, known is {known}",
            where=name,
            remedy="use the version of railgauge that made it",
        )
    return data


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError("a key is given twice")
    return result


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text[:20]} is no number")


def _float(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


def _int(text: str) -> int:
    return int(text) if len(text) <= _LONGEST_NUMBER else _no_number(text)

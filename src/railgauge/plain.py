"""Values as plain data and back: every field given, every type as declared.

What is read back may have been written by anybody: a missing, unknown or wrongly typed field ends
in one ``BadInput`` that names its place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

from railgauge.errors import BadInput

_Value = TypeVar("_Value")
_MOST_DIGITS = 2**63


def to_plain(value: Any) -> Any:
    """Objects, arrays, strings, numbers, booleans and null only."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value):
        return {item.name: to_plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {key: to_plain(item) for key, item in value.items()}
    return [to_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def from_plain(kind: type[_Value], data: object, where: str = "") -> _Value:
    """The value of dataclass ``kind`` that ``to_plain`` was given. Raises ``BadInput``.

    A field with a default may be absent: files of earlier versions have fewer.
    """
    value: _Value = _read(kind, data, where)
    return value


def _read(kind: Any, data: object, where: str) -> Any:
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return _one_of(get_args(kind), data, where)
    if origin is tuple:
        return _tuple(get_args(kind), data, where)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(get_args(kind), data, where)
    if isinstance(kind, type) and is_dataclass(kind):
        return _record(kind, data, where)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _member(kind, data, where)
    return _scalar(kind, data, where)


def _one_of(kinds: tuple[Any, ...], data: object, where: str) -> Any:
    if data is None and NoneType in kinds:
        return None
    (kind,) = [kind for kind in kinds if kind is not NoneType]  # the only unions that are stored
    return _read(kind, data, where)


def _tuple(kinds: tuple[Any, ...], data: object, where: str) -> tuple[Any, ...]:
    if not isinstance(data, (list, tuple)):
        _refuse("should be a list", where)
    if kinds[-1] is ...:
        kinds = (kinds[0],) * len(data)
    if len(kinds) != len(data):
        _refuse(f"should have {len(kinds)} entries, has {len(data)}", where)
    return tuple(
        _read(kind, item, f"{where}[{index}]")
        for index, (kind, item) in enumerate(zip(kinds, data, strict=True))
    )


def _mapping(kinds: tuple[Any, ...], data: object, where: str) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        _refuse("should be an object", where)
    return {
        _scalar(str, key, where): _read(kinds[1], item, f"{where}.{key}")
        for key, item in data.items()
    }


def _record(kind: Any, data: object, where: str) -> Any:
    if not isinstance(data, Mapping):
        _refuse("should be an object", where)
    hints = _hints(kind)
    if unknown := sorted(str(key) for key in set(data) - set(hints)):
        _refuse(f"has an unknown field {unknown[0][:60]!r}", where)
    for item in fields(kind):
        needed = item.default is MISSING and item.default_factory is MISSING
        if needed and item.name not in data:
            _refuse(f"has no field {item.name!r}", where)
    return kind(**{name: _read(hints[name], data[name], f"{where}.{name}") for name in data})


@cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {item.name: hints[item.name] for item in fields(kind)}


def _member(kind: type[Enum], data: object, where: str) -> Enum:
    try:
        return kind(data)
    except ValueError:
        _refuse(f"{str(data)[:60]!r} is none of {', '.join(m.value for m in kind)}", where)


def _scalar(kind: Any, data: object, where: str) -> Any:
    if kind in (Any, object):
        return data
    accepted = (int, float) if kind is float else (kind,)
    if not isinstance(data, accepted) or isinstance(data, bool) is not (kind is bool):
        _refuse(f"should be {_WORDS[kind]}", where)
    if isinstance(data, (int, float)) and not _sane(data):
        _refuse("is a number beyond all measure", where)
    return data


def _sane(number: float) -> bool:
    return math.isfinite(number) if isinstance(number, float) else abs(number) < _MOST_DIGITS


_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


def _refuse(what: str, where: str) -> NoReturn:
    raise BadInput(what, where=where.lstrip("."))

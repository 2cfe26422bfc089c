"""Values as plain data and back: every field given, every type as declared.

What is read back may have been written by anybody: a missing, unknown or wrongly typed field ends
in one ``BadInput`` that names its place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

from railgauge.core.errors import BadInput

_Value = TypeVar("_Value")
_MOST_DIGITS = 2**63
# A run of thousands of nodes has millions of values: how a type is written and read is worked out
# once for each type, not for each value.
_Writer = Callable[[Any], Any]
_Reader = Callable[[Any], Any]


def to_plain(value: Any) -> Any:
    """Objects, arrays, strings, numbers, booleans and null only."""
    kind: Any = type(value)
    return _writer(kind)(value)


@cache
def _writer(kind: type) -> _Writer:
    if issubclass(kind, Enum):
        return lambda value: value.value
    if is_dataclass(kind):
        names = tuple(item.name for item in fields(kind))
        return lambda value: {name: to_plain(getattr(value, name)) for name in names}
    if issubclass(kind, Mapping):
        return lambda value: {key: to_plain(item) for key, item in value.items()}
    if issubclass(kind, (list, tuple)):
        return lambda value: [to_plain(item) for item in value]
    return lambda value: value


class _Unfit(Exception):
    """What is wrong with a value; each part that it lies in adds its own name in front."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.place = ""

    def inside(self, part: str) -> _Unfit:
        self.place = part + self.place
        return self


def from_plain(kind: type[_Value], data: object, where: str = "") -> _Value:
    """The value of dataclass ``kind`` that ``to_plain`` was given. Raises ``BadInput``.

    A field with a default may be absent: files of earlier versions have fewer.
    """
    declared: Any = kind
    try:
        value: _Value = _reader(declared)(data)
    except _Unfit as unfit:
        raise BadInput(str(unfit), where=f"{where}{unfit.place}".lstrip(".")) from None
    return value


@cache
def _reader(kind: Any) -> _Reader:
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return _one_of(get_args(kind))
    if origin is tuple:
        return _tuple(get_args(kind))
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(get_args(kind))
    if isinstance(kind, type) and is_dataclass(kind):
        return _record(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _member(kind)
    return _scalar(kind)


def _one_of(kinds: tuple[Any, ...]) -> _Reader:
    (kind,) = [kind for kind in kinds if kind is not NoneType]  # the only unions that are stored
    read, optional = _reader(kind), NoneType in kinds
    return lambda data: None if data is None and optional else read(data)


def _tuple(kinds: tuple[Any, ...]) -> _Reader:
    readers = [_reader(kind) for kind in kinds if kind is not ...]
    endless = kinds[-1] is ...

    def read(data: Any) -> tuple[Any, ...]:
        if not isinstance(data, (list, tuple)):
            _refuse("should be a list")
        of_items = readers * len(data) if endless else readers
        if len(of_items) != len(data):
            _refuse(f"should have {len(of_items)} entries, has {len(data)}")
        values = []
        for one, item in zip(of_items, data, strict=True):
            try:
                values.append(one(item))
            except _Unfit as unfit:
                raise unfit.inside(f"[{len(values)}]") from None
        return tuple(values)

    return read


def _mapping(kinds: tuple[Any, ...]) -> _Reader:
    read_key, read_item = _reader(str), _reader(kinds[1])

    def read(data: Any) -> dict[str, Any]:
        if not isinstance(data, Mapping):
            _refuse("should be an object")
        values = {}
        for key, item in data.items():
            name = read_key(key)
            try:
                values[name] = read_item(item)
            except _Unfit as unfit:
                raise unfit.inside(f".{key}") from None
        return values

    return read


def _record(kind: Any) -> _Reader:
    def read(data: Any) -> Any:
        if not isinstance(data, Mapping):
            _refuse("should be an object")
        readers, needed = _fields(kind)
        if unknown := sorted(str(key) for key in data.keys() - readers.keys()):
            _refuse(f"has an unknown field {unknown[0][:60]!r}")
        if missing := [name for name in needed if name not in data]:
            _refuse(f"has no field {missing[0]!r}")
        values = {}
        for name, item in data.items():
            try:
                values[name] = readers[name](item)
            except _Unfit as unfit:
                raise unfit.inside(f".{name}") from None
        return kind(**values)

    return read


@cache
def _fields(kind: Any) -> tuple[dict[str, _Reader], tuple[str, ...]]:
    """How each field is read, and which must be there."""
    hints = get_type_hints(kind)
    readers = {item.name: _reader(hints[item.name]) for item in fields(kind)}
    needed = (i.name for i in fields(kind) if i.default is i.default_factory is MISSING)
    return readers, tuple(needed)


def _member(kind: type[Enum]) -> _Reader:
    def read(data: Any) -> Enum:
        try:
            return kind(data)
        except ValueError:
            _refuse(f"{str(data)[:60]!r} is none of {', '.join(str(m.value) for m in kind)}")

    return read


def _scalar(kind: Any) -> _Reader:
    if kind in (Any, object):
        return lambda data: data
    accepted = (int, float) if kind is float else (kind,)

    def read(data: Any) -> Any:
        if not isinstance(data, accepted) or isinstance(data, bool) is not (kind is bool):
            _refuse(f"should be {_WORDS[kind]}")
        if isinstance(data, (int, float)) and not _sane(data):
            _refuse("is a number beyond all measure")
        return data

    return read


def _sane(number: float) -> bool:
    return math.isfinite(number) if isinstance(number, float) else abs(number) < _MOST_DIGITS


_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


def _refuse(what: str) -> NoReturn:
    raise _Unfit(what)

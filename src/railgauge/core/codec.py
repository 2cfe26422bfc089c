"""Conversion of dataclasses to plain data and back, by cattrs, with strict types.

Data that is read back is untrusted: a missing, unknown or wrongly typed field raises one
``BadInput`` that names its place (``cases[3].sizes: should be a list``). cattrs alone would convert
a number to text and a text to a tuple, and would report every error of a long list; the hooks
here refuse both and stop at the first error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import is_dataclass
from enum import Enum
from sys import intern
from typing import Any, NoReturn, TypeVar, get_args, get_origin

from cattrs import (
    AttributeValidationNote,
    BaseValidationError,
    ClassValidationError,
    Converter,
    ForbiddenExtraKeysError,
    IterableValidationError,
    IterableValidationNote,
)
from cattrs.gen import make_dict_structure_fn

from railgauge.core.errors import BadInput, RailgaugeError, from_json, to_json

_Value = TypeVar("_Value")
_Read = Callable[[Any, Any], Any]
_INTEGER_END = 2**63
_SCALARS: dict[type, tuple[tuple[type, ...], str]] = {
    str: ((str,), "text"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
    bool: ((bool,), "true or false"),
}
_LONGEST, _LONGEST_PLACE = 60, 200
_MOST_RECURRING = 200  # characters
_FAULTS = (BaseValidationError, ValueError, RecursionError)


def to_plain(value: Any) -> Any:
    """Return the value as objects, arrays, strings, numbers, booleans and null only."""
    return _CONVERTER.unstructure(value)


def from_plain(
    kind: type[_Value], data: object, where: str = "", *, any_number: bool = False
) -> _Value:
    """Return the value of dataclass ``kind`` from what ``to_plain`` returned. Raises ``BadInput``.

    A field with a default may be absent, because files of earlier versions have fewer fields.
    ``any_number`` also accepts NaN, infinity and whole numbers of more than 63 bits.
    """
    try:
        return (_OF_ANY_NUMBER if any_number else _CONVERTER).structure(data, kind)
    except _FAULTS as fault:
        place, what = _first(fault)
        raise BadInput(what, where=f"{where}{place[:_LONGEST_PLACE]}".lstrip(".")) from None


def _converter(is_sane: Callable[[float], bool]) -> Converter:
    made = Converter(unstruct_collection_overrides={tuple: list})
    for kind in _SCALARS:
        made.register_structure_hook(kind, _scalar(kind, is_sane))
    made.register_structure_hook_func(lambda kind: kind is object, lambda data, _: data)
    made.register_structure_hook_factory(is_dataclass, lambda kind: _record(kind, made))
    made.register_structure_hook_factory(_is_mapping, lambda kind: _mapping(kind, made))
    made.register_structure_hook_factory(_is_tuple, lambda kind: _tuple(kind, made))
    made.register_structure_hook_func(_is_error, _error)
    made.register_unstructure_hook_func(_is_error, to_json)
    for kind in (str, int):
        made.register_unstructure_hook(kind, _bare)
    return made


def _bare(value: Any) -> Any:
    """Return the value of a text enumeration; cattrs alone would keep the member."""
    return value if type(value) is str or not isinstance(value, Enum) else value.value


def _is_mapping(kind: Any) -> bool:
    return issubclass(get_origin(kind) or type(None), Mapping)


def _is_tuple(kind: Any) -> bool:
    return get_origin(kind) is tuple


def _is_error(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, RailgaugeError)


def _scalar(kind: type, is_sane: Callable[[float], bool]) -> _Read:
    accepted, expected = _SCALARS[kind]

    is_text, is_switch = kind is str, kind is bool

    def read(data: Any, asked: Any) -> Any:
        if asked is not kind:
            return _member(data, asked)  # cattrs passes enumerations here too
        if is_text and type(data) is str:  # most values are texts, and those of records recur
            return intern(data) if len(data) <= _MOST_RECURRING else data
        if is_switch and type(data) is bool:
            return data
        if not isinstance(data, accepted) or isinstance(data, bool) is not (kind is bool):
            _refuse(f"should be {expected}")
        if isinstance(data, (int, float)) and not is_sane(data):
            _refuse("is not a finite number of at most 63 bits")
        return data

    return read


def _is_sane(number: float) -> bool:
    return math.isfinite(number) if isinstance(number, float) else abs(number) < _INTEGER_END


def _record(kind: Any, converter: Converter) -> _Read:
    read = make_dict_structure_fn(
        kind, converter, _cattrs_forbid_extra_keys=True, _cattrs_detailed_validation=True
    )
    return lambda data, kind: read(_object(data), kind)


def _mapping(kind: Any, converter: Converter) -> _Read:
    item = get_args(kind)[1]
    read, read_key = converter.get_structure_hook(item), converter.get_structure_hook(str)

    def mapping(data: Any, _: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in _object(data).items():
            name = read_key(key, str)
            try:
                found[name] = read(value, item)
            except _FAULTS as fault:
                raise _in(name, fault, kind) from None
        return found

    return mapping


def _tuple(kind: Any, converter: Converter) -> _Read:
    kinds = get_args(kind)
    readers = [(converter.get_structure_hook(one), one) for one in kinds if one is not ...]
    endless = kinds[-1] is ...

    def read(data: Any, _: Any) -> tuple[Any, ...]:
        if not isinstance(data, (list, tuple)):
            _refuse("should be a list")
        of_items = readers * len(data) if endless else readers
        if len(of_items) != len(data):
            _refuse(f"should have {len(of_items)} entries, has {len(data)}")
        found: list[Any] = []
        try:
            for item, (read, one) in zip(data, of_items, strict=True):
                found.append(read(item, one))
        except _FAULTS as fault:
            raise _in(len(found), fault, kind) from None
        return tuple(found)

    return read


def _in(index: int | str, fault: Exception, kind: Any) -> IterableValidationError:
    """Return the error of an item with its place, in the form that cattrs uses."""
    fault.__notes__ = [IterableValidationNote("", index, kind)]  # type: ignore[attr-defined]
    return IterableValidationError("", [fault], kind)


def _object(data: Any) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        _refuse("should be an object")
    return data


def _member(data: Any, kind: Any) -> Any:
    found = None
    with suppress(ValueError):
        found = kind(data)
    if found is None or type(found.value) is not type(data):  # True is not 1
        _refuse(f"{str(data)[:_LONGEST]!r} is none of {', '.join(str(m.value) for m in kind)}")
    return found


def _error(data: Any, kind: type[RailgaugeError]) -> RailgaugeError:
    """Return an error of ``kind``; an error of another class is replaced by one with its text."""
    words = ("kind", "what", "where", "remedy")
    if {*_object(data)} != {*words} or not all(isinstance(data[word], str) for word in words):
        _refuse("is not an error")
    error = from_json(dict(data))
    return error if isinstance(error, kind) else kind(str(error))


def _refuse(what: str) -> NoReturn:
    raise ValueError(what)


# --- the first error of those that cattrs found ---


def _first(error: BaseException) -> tuple[str, str]:
    """Return the place and the text of one error; an unknown field comes before others."""
    place = ""
    while isinstance(error, (ClassValidationError, IterableValidationError)):
        part, error = min(_parts(error), key=lambda found: _RANKS.get(type(found[1]), 2))
        place += "" if isinstance(error, KeyError) else part
    return place, _described(error)


def _parts(error: ClassValidationError | IterableValidationError) -> list[tuple[str, Any]]:
    noted, alone = error.group_exceptions()
    return [(_part(note), inner) for inner, note in noted] + [("", inner) for inner in alone]


def _part(note: AttributeValidationNote | IterableValidationNote) -> str:
    if isinstance(note, AttributeValidationNote):
        return f".{note.name}"
    return f"[{note.index}]" if isinstance(note.index, int) else f".{note.index}"


def _described(error: BaseException) -> str:
    if isinstance(error, ForbiddenExtraKeysError):
        return f"has an unknown field {min(map(str, error.extra_fields))[:_LONGEST]!r}"
    if isinstance(error, KeyError):
        return f"has no field {error.args[0]!r}"
    return "is nested too deeply" if isinstance(error, RecursionError) else str(error)


_RANKS: dict[type, int] = {ForbiddenExtraKeysError: 0, KeyError: 1}
_CONVERTER, _OF_ANY_NUMBER = _converter(_is_sane), _converter(lambda _: True)

"""A quick check that a document satisfies a JSON Schema, for documents that do. Pure.

``jsonschema`` takes 0.2 s to import, and is needed only for the messages of an invalid document. A
keyword that this check does not know, or a reference to another file, ends the check: then
``jsonschema`` decides. The selftests compare the two.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

_Schema = Mapping[str, Any]
_DEFINITION = "#/$defs/"
_ANNOTATIONS = frozenset(
    {"$schema", "$id", "$defs", "title", "description", "default", "examples"}
)  # fmt: skip
# They only modify another keyword beside them.
_OF_OTHERS = frozenset({"then", "else"})


class _NotDecided(Exception):
    """Ends the check: in ``if`` and ``oneOf`` an undecided part must not count as invalid."""


def satisfies(schema: _Schema, document: object) -> bool:
    """Whether the document surely satisfies the schema, of draft 2020-12."""
    try:
        return _Checker(schema.get("$defs", {})).holds(schema, document)
    except _NotDecided:
        return False


class _Checker:
    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions

    def holds(self, schema: Any, value: object) -> bool:
        if isinstance(schema, bool):
            return schema
        return all(self._keyword_holds(name, schema, value) for name in schema)

    def _keyword_holds(self, name: str, schema: _Schema, value: object) -> bool:
        if name in _ANNOTATIONS or name in _OF_OTHERS:
            return True
        if name in _PLAIN:
            return _PLAIN[name](schema[name], value)
        if name not in _NESTED:
            raise _NotDecided
        return all(self.holds(inner, one) for inner, one in _NESTED[name](self, schema, value))

    # --- keywords with schemas in them: each gives the schemas that must hold, and of what ---

    def _ref(self, schema: _Schema, value: object) -> _Asked:
        name = str(schema["$ref"]).removeprefix(_DEFINITION)
        if name not in self._definitions:
            raise _NotDecided
        yield self._definitions[name], value

    def _any_of(self, schema: _Schema, value: object) -> _Asked:
        yield any(self.holds(one, value) for one in schema["anyOf"]), value

    def _one_of(self, schema: _Schema, value: object) -> _Asked:
        yield sum(self.holds(one, value) for one in schema["oneOf"]) == 1, value

    def _if(self, schema: _Schema, value: object) -> _Asked:
        yield schema.get("then" if self.holds(schema["if"], value) else "else", True), value

    def _items(self, schema: _Schema, value: object) -> _Asked:
        for one in value if isinstance(value, list) else ():
            yield schema["items"], one

    def _properties(self, schema: _Schema, value: object) -> _Asked:
        for key, one in _entries(value):
            yield schema["properties"].get(key, True), one

    def _pattern_properties(self, schema: _Schema, value: object) -> _Asked:
        for key, one in _entries(value):
            for pattern, inner in schema["patternProperties"].items():
                yield (inner if re.search(pattern, key) else True), one

    def _additional_properties(self, schema: _Schema, value: object) -> _Asked:
        known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        for key, one in _entries(value):
            if key not in known and not any(re.search(pattern, key) for pattern in patterns):
                yield schema["additionalProperties"], one

    def _property_names(self, schema: _Schema, value: object) -> _Asked:
        for key, _ in _entries(value):
            yield schema["propertyNames"], key


_Asked = Iterator[tuple[Any, object]]
_NESTED: Mapping[str, Callable[[_Checker, _Schema, object], _Asked]] = {
    "$ref": _Checker._ref,
    "anyOf": _Checker._any_of,
    "oneOf": _Checker._one_of,
    "if": _Checker._if,
    "items": _Checker._items,
    "properties": _Checker._properties,
    "patternProperties": _Checker._pattern_properties,
    "additionalProperties": _Checker._additional_properties,
    "propertyNames": _Checker._property_names,
}


def _entries(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):  # YAML may have such keys
            raise _NotDecided
        yield from value.items()


# --- keywords about one value ---


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_integer(value: object) -> bool:
    return _is_number(value) and (not isinstance(value, float) or value.is_integer())


_TYPES: Mapping[str, Callable[[object], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": _is_number,
    "integer": _is_integer,
}


def _is_of_type(names: str | Sequence[str], value: object) -> bool:
    every = [names] if isinstance(names, str) else names
    return any(_TYPES[name](value) for name in every if name in _TYPES)


def _is_equal(one: object, other: object) -> bool:
    """Whether two plain values are equal: true is not 1."""
    if isinstance(one, (list, dict)):
        raise _NotDecided
    return isinstance(one, bool) is isinstance(other, bool) and one == other


def _of(kind: type | tuple[type, ...], holds: Callable[[Any, Any], bool]) -> _Plain:
    """A keyword that holds for all values of other types."""

    def check(wanted: Any, value: object) -> bool:
        return not isinstance(value, kind) or isinstance(value, bool) or holds(wanted, value)

    return check


def _are_unique(asked: bool, value: list[object]) -> bool:
    if asked and any(one in value[:at] for at, one in enumerate(value)):
        raise _NotDecided  # to Python 1, 1.0 and True are equal
    return True


_Plain = Callable[[Any, object], bool]
_NUMBER = (int, float)
_PLAIN: Mapping[str, _Plain] = {
    "type": _is_of_type,
    "const": _is_equal,
    "enum": lambda wanted, value: any(_is_equal(one, value) for one in wanted),
    "pattern": _of(str, lambda wanted, value: re.search(wanted, value) is not None),
    "minLength": _of(str, lambda wanted, value: len(value) >= wanted),
    "maxLength": _of(str, lambda wanted, value: len(value) <= wanted),
    "minimum": _of(_NUMBER, lambda wanted, value: value >= wanted),
    "maximum": _of(_NUMBER, lambda wanted, value: value <= wanted),
    "exclusiveMinimum": _of(_NUMBER, lambda wanted, value: value > wanted),
    "exclusiveMaximum": _of(_NUMBER, lambda wanted, value: value < wanted),
    "minItems": _of(list, lambda wanted, value: len(value) >= wanted),
    "maxItems": _of(list, lambda wanted, value: len(value) <= wanted),
    "uniqueItems": _of(list, _are_unique),
    "minProperties": _of(dict, lambda wanted, value: len(value) >= wanted),
    "maxProperties": _of(dict, lambda wanted, value: len(value) <= wanted),
    "required": _of(dict, lambda wanted, value: value.keys() >= set(wanted)),
    "dependentRequired": _of(
        dict,
        lambda wanted, value: all(
            value.keys() >= set(more) for key, more in wanted.items() if key in value
        ),
    ),
}

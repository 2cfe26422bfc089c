"""JSON Schema checks with error messages that name the remedy."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from railgauge.config.quick_schema import satisfies
from railgauge.core.errors import BadInput

JsonPath = Sequence[str | int]
# A message about a value of an untrusted file may hold the whole value.
_LONGEST = 400
# At most this many complaints about a file are reported: nobody reads more.
_MOST = 50


def complaints(
    schema_file: Path, document: object, definition: str = ""
) -> Iterator[tuple[JsonPath, str]]:
    """Yield the path and a message for every place of ``document`` that breaks the schema.

    ``definition`` names one of its ``$defs`` that the document must satisfy as well. It is ignored
    if the schema lacks it: a site may have an older schema, which requires all keys in one place.
    Raises ``BadInput`` if the schema file is missing or damaged.
    """
    return _complaints(_parsed(schema_file, _text(schema_file)), document, definition)


def complaints_of_json(
    schema_file: Path, document: object, definition: str = ""
) -> Sequence[tuple[JsonPath, str]]:
    """Return what ``complaints`` yields for a document that JSON can hold.

    A run, and even more ``verify``, reads the same platform file several times; equal documents are
    checked once, because a check takes 0.1 s.
    """
    schema = _text(schema_file)
    _parsed(schema_file, schema)
    return _checked(schema, json.dumps(document), definition)


@lru_cache(maxsize=32)
def _checked(schema: str, document: str, definition: str) -> Sequence[tuple[JsonPath, str]]:
    """Return the complaints; each project has a copy of the schema, so its path does not count."""
    return tuple(_complaints(json.loads(schema), json.loads(document), definition))


def _complaints(schema: Any, document: object, definition: str) -> Iterator[tuple[JsonPath, str]]:
    more = {"$ref": f"#/$defs/{definition}"} if definition in schema.get("$defs", {}) else {}
    if satisfies({**schema, **more}, document):
        return

    from jsonschema import Draft202012Validator  # noqa: PLC0415 - 0.2 s of CPU to import

    validator = Draft202012Validator({**schema, **more})
    found = islice(validator.iter_errors(document), _MOST)
    for error in sorted(found, key=lambda error: list(map(str, error.path))):
        deepest = _deepest(error)
        yield [*deepest.absolute_path, *_unknown_keys(deepest)[:1]], _in_words(deepest)


def _text(schema_file: Path) -> str:
    try:
        return schema_file.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(
            f"cannot read the schema: {error.strerror}",
            where=str(schema_file),
            remedy="run from the project's root, or name it with --root",
        ) from error


def _parsed(schema_file: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadInput(f"the schema is not valid JSON: {error}", where=str(schema_file)) from error


def _deepest(error: Any) -> Any:
    """Return the error of the oneOf alternative that matched deepest into the document."""
    while error.context:
        error = max(
            error.context, key=lambda inner: (len(inner.absolute_path), inner.validator != "type")
        )
    return error


def _in_words(error: Any) -> str:
    describe = _WORDS.get(error.validator)
    message = describe(error) if describe else str(error.message)
    return message if len(message) < _LONGEST else f"{message[:_LONGEST]}..."


def _unknown_keys(error: Any) -> list[str]:
    if error.validator != "additionalProperties":
        return []
    return sorted(set(error.instance) - set(error.schema.get("properties", {})))


def _unexpected(error: Any) -> str:
    known = ", ".join(sorted(error.schema.get("properties", {})))
    return (
        f"unknown key {', '.join(map(repr, _unknown_keys(error)))}; known here: {known or 'none'}"
    )


def _absent(error: Any) -> str:
    absent = [key for key in error.validator_value if key not in error.instance]
    return f"{', '.join(map(repr, absent))} is missing; add it"


_WORDS: dict[str, Callable[[Any], str]] = {
    "additionalProperties": _unexpected,
    "required": _absent,
    "enum": lambda error: (
        f"{error.instance!r} is not one of {', '.join(map(repr, _but_null(error.validator_value)))}"
    ),
    "pattern": lambda error: (
        f"{_short(error.instance)} has characters that are not allowed here "
        f"(allowed: {error.validator_value})"
    ),
    "type": lambda error: (
        f"{_short(error.instance)} should be of type "
        f"{' or '.join(_but_null(error.validator_value))}"
    ),
}


def _but_null(allowed: str | Sequence[Any]) -> list[Any]:
    """Return the allowed values without ``null``, which is only for removing an entry."""
    each = [allowed] if isinstance(allowed, str) else allowed
    return [one for one in each if one not in (None, "null")]


def _short(value: object) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) < 60 else f"{text[:57]}..."  # noqa: PLR2004 - one line of a terminal

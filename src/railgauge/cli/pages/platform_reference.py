"""The page of every key of a platform file, from its schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Schema = Mapping[str, Any]

_HEAD = """\
# Every key of a platform file

[platform-files.md](platform-files.md) explains the format with an example.

NAME stands for a name that the file gives, LEVEL for a level, `[]` for each entry of a list. In
place of NAME a key may be a set of names: `mlx5_[0-7]` or `kernel,os`. Keys that must be there are
required in the complete form: an entry that extends a template, or that another file completes,
need not repeat them. `null` removes an inherited value. The templates of a section have the keys of
its entries.
"""
_NAMED = ("expected", "measurements", "nics", "prepare")


def page(root: Path) -> str:
    """The page ``platform-reference``: one table for each object, in the order of the schema."""
    schema = json.loads((root / "thresholds" / "schema.json").read_text(encoding="utf-8"))
    return "\n".join((_HEAD, *_Page(schema).lines()))


class _Page:
    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._headings: dict[str, str] = {}

    def lines(self) -> Iterator[str]:
        yield from self._object("", self._schema, self._schema["$defs"]["complete"])

    def _object(self, path: str, schema: Schema, complete: Schema) -> Iterator[str]:
        """The table of an object, then those of the objects in it."""
        yield f"## {f'`{path}`' if path else 'The file'}\n"
        yield "| key | type | must be there | default | meaning | example |"
        yield "|---|---|---|---|---|---|"
        inner: list[tuple[str, Schema, Schema]] = []
        for key, value in schema["properties"].items():
            known = self._resolved(value)
            must = "yes" if key in complete.get("required", ()) else ""
            default = _code(known["default"]) if "default" in known else ""
            example = _code(known["examples"][0]) if "examples" in known else ""
            cells = (f"`{key}`", self._type(known), must, default, known["description"], example)
            yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
            below = self._within(complete, key)
            if key != "templates":
                inner += self._objects(f"{path}.{key}".lstrip("."), key, known, below)
        yield ""
        for place, found, below in inner:
            if (shape := json.dumps(found["properties"])) not in self._headings:
                self._headings[shape] = place
                yield from self._object(place, found, below)

    def _objects(
        self, path: str, key: str, schema: Schema, complete: Schema
    ) -> Iterator[tuple[str, Schema, Schema]]:
        """The objects with keys of their own that a value can be or contain."""
        if "properties" in schema:
            yield path, schema, complete
        for word in ("additionalProperties", "items"):
            if isinstance(inner := schema.get(word), Mapping):
                is_named = word == "additionalProperties" or key in _NAMED
                place = f"{path}.NAME" if is_named else f"{path}[]"
                below = self._resolved(complete.get(word, complete.get("items", {})))
                yield from self._objects(place, "", self._resolved(inner), below)
        for inner in schema.get("patternProperties", {}).values():
            below = complete.get("additionalProperties", {})
            yield from self._objects(f"{path}.LEVEL", "", self._resolved(inner), below)
        for inner in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
            yield from self._objects(path, key, self._resolved(inner), complete)

    def _within(self, complete: Schema, key: str) -> Schema:
        return self._resolved(complete.get("properties", {}).get(key, {}))

    def _resolved(self, schema: Schema) -> Schema:
        """The schema with its references resolved; its own keys have precedence."""
        if "$ref" not in schema:
            return schema
        named = self._resolved(self._schema["$defs"][schema["$ref"].rpartition("/")[2]])
        return {**named, **{key: value for key, value in schema.items() if key != "$ref"}}

    def _type(self, schema: Schema) -> str:
        if "const" in schema:
            return _code(schema["const"])
        if "enum" in schema:
            return ", ".join(_code(one) for one in schema["enum"] if one is not None)
        if each := (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
            return " or ".join(dict.fromkeys(self._type(self._resolved(one)) for one in each))
        kinds = schema.get("type", "anything")
        kind = next(one for one in ([kinds] if isinstance(kinds, str) else kinds) if one != "null")
        if kind == "array":
            return f"list of {self._type(self._resolved(schema.get('items', {})))}"
        if kind == "object" and isinstance(inner := schema.get("additionalProperties"), Mapping):
            return f"NAME -> {self._type(self._resolved(inner))}"
        return f"{_WORDS[kind]}{_range(schema)}"


_WORDS = {
    "anything": "anything", "boolean": "true or false", "integer": "whole number",
    "number": "number", "object": "object", "string": "text",
}  # fmt: skip
_BOUNDS = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}


def _range(schema: Schema) -> str:
    bounds = [f"{sign} {schema[word]}" for word, sign in _BOUNDS.items() if word in schema]
    return f" {', '.join(bounds)}" if bounds else ""


def _code(value: object) -> str:
    return f"`{json.dumps(value)}`"

"""The quick check of a schema accepts only what ``jsonschema`` accepts, and all shipped files."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from testing.places import ROOT

from railgauge.config import schema as schema_module
from railgauge.config import thresholds
from railgauge.config.quick_schema import satisfies

SCHEMAS = {
    folder: json.loads((ROOT / folder / "schema.json").read_text())
    for folder in ("hostfiles", "thresholds")
}
COMPLETE = {**SCHEMAS["thresholds"], "$ref": "#/$defs/complete"}
PLATFORMS = sorted(
    path.stem for path in (ROOT / "thresholds").glob("*.json") if path.stem != "schema"
)
HOSTFILES = sorted((ROOT / "hostfiles").glob("*.yaml"))
# Wrong values, by mistake or from an untrusted file.
OTHERS = (None, True, False, 0, 1, -1, 1.0, 0.5, 10**12, "", " ", "x", "a\n", [], ["x"], ["x", "x"],
          {}, {"x": 1}, {1: "x"})  # fmt: skip


def long_form(name: str) -> Any:
    return json.loads(thresholds.load(name, ROOT / "thresholds").text)


def is_valid(schema: Any, document: object) -> bool:
    return bool(Draft202012Validator(schema).is_valid(document))


@pytest.mark.parametrize("name", PLATFORMS)
def test_every_platform_file_is_checked_quickly(name):
    assert satisfies(COMPLETE, long_form(name))
    short = json.loads((ROOT / "thresholds" / f"{name}.json").read_text())
    assert satisfies(SCHEMAS["thresholds"], short)


@pytest.mark.parametrize("path", HOSTFILES, ids=lambda path: path.stem)
def test_every_hostfile_is_checked_quickly(path):
    assert satisfies(SCHEMAS["hostfiles"], yaml.safe_load(path.read_text()))


def places(value: Any) -> list[tuple[Any, Any]]:
    """Each container in a document, with each of its keys."""
    found: list[tuple[Any, Any]] = []
    if isinstance(value, dict | list):
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        for key in keys:
            found += [(value, key), *places(value[key])]
    return found


def changed(document: Any, data: st.DataObject) -> Any:
    made = copy.deepcopy(document)
    for _ in range(data.draw(st.integers(1, 3))):
        container, key = data.draw(st.sampled_from(places(made)))
        how = data.draw(st.sampled_from(("replace", "remove", "add")))
        if how == "remove":
            container.pop(key)
        elif how == "replace" or isinstance(container, list):
            container[key] = copy.deepcopy(data.draw(st.sampled_from(OTHERS)))
        else:
            container[data.draw(st.sampled_from(("x", "basis", "floor")))] = container[key]
        if not places(made):
            break
    return made


LONG = {name: long_form(name) for name in ("h200", "connectx4-homelab")}
HOSTS = {path.stem: yaml.safe_load(path.read_text()) for path in HOSTFILES}


@settings(max_examples=300)
@given(st.data())
def test_every_accepted_document_is_valid_for_jsonschema(data):
    name = data.draw(st.sampled_from([*LONG, *HOSTS]))
    schema = COMPLETE if name in LONG else SCHEMAS["hostfiles"]
    document = changed({**LONG, **HOSTS}[name], data)
    assert satisfies(schema, document) <= is_valid(schema, document)


KEYWORDS: tuple[Any, ...] = (
    True, False, {"type": "integer"}, {"type": ["number", "null"]}, {"type": "object"},
    {"const": 1}, {"const": True}, {"enum": ["x", 1, None]}, {"pattern": "^x$"},
    {"minLength": 1, "maxLength": 2}, {"minimum": 0, "exclusiveMaximum": 1},
    {"maximum": 1, "exclusiveMinimum": 0}, {"minItems": 1, "maxItems": 1}, {"uniqueItems": True},
    {"minProperties": 1, "maxProperties": 1}, {"required": ["x"]}, {"items": {"const": "x"}},
    {"properties": {"x": {"type": "integer"}}, "additionalProperties": False},
    {"patternProperties": {"^x": False}}, {"propertyNames": {"pattern": "^y"}},
    {"dependentRequired": {"x": ["y"]}}, {"anyOf": [{"type": "string"}, {"minimum": 1}]},
    {"oneOf": [{"type": "number"}, {"const": 1}, {"enum": [True]}]},
    {"oneOf": [{"not": {"type": "number"}}, {"type": "array"}]},
    {"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"minimum": 0}},
    {"if": {"not": {"type": "string"}}, "then": False},
    {"$ref": "#/$defs/one"}, {"if": {"$ref": "other.json"}, "then": False},
)  # fmt: skip


@pytest.mark.parametrize("schema", KEYWORDS, ids=str)
def test_each_keyword_means_what_it_does_in_jsonschema(schema):
    whole = schema if isinstance(schema, bool) else {**schema, "$defs": {"one": {"type": "array"}}}
    known = "not" not in str(schema) and "other.json" not in str(schema)
    for value in OTHERS[:-1]:
        is_satisfied = satisfies({"allOf": []} if whole is None else _as_object(whole), value)
        if "other.json" in str(schema):
            assert not is_satisfied
        elif known and value != ["x", "x"]:
            assert is_satisfied is is_valid(whole, value), value
        else:
            assert is_satisfied <= is_valid(whole, value), value


def _as_object(schema: Any) -> Any:
    return schema if isinstance(schema, dict) else {"items": {}, "anyOf": [schema]}


def test_jsonschema_words_the_complaints(tmp_path, monkeypatch):
    path = ROOT / "hostfiles" / "schema.json"
    good = {"cluster": "c", "platform": "h200", "nodes": "n1"}
    monkeypatch.setattr("jsonschema.Draft202012Validator", None)
    assert list(schema_module.complaints(path, good)) == []
    monkeypatch.undo()
    (complaint,) = schema_module.complaints(path, {**good, "nodse": "n2"})
    assert "unknown key 'nodse'" in complaint[1]

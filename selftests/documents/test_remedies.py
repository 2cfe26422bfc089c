"""What a message or a cause advises to write is taken by the schema and the checks.

Every text of the suite that names a key of the hostfile or of a platform file, or an environment
variable with a value, is tried out.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from testing.places import ROOT

from railgauge.config import hostfile
from railgauge.core.errors import BadInput
from railgauge.core.problems import ProblemKind
from railgauge.diagnosis import CATALOGUE
from railgauge.run import inputs

SRC = ROOT / "src" / "railgauge"
HOSTFILE_SCHEMA = ROOT / "hostfiles" / "schema.json"
PLATFORM_SCHEMA = ROOT / "thresholds" / "schema.json"
NODES = "n[1-2]"
# What stands for a value in a text, and a value.
STANDS_FOR = {
    "ADDRESS": "10.0.0.1", "REASON": "no switch of ours", "NAME": "a-name",
    "VERSION": "'1.0'", "…": "60", "{<>:": "{kernel:", "<>": "'1.0'",
    '"{address}"': "'{address}'",
}  # fmt: skip


# The keys below another one that texts name, with that one.
BELOW = {
    "address": "nodes", "data_address": "nodes", "host_keys": "ssh", "known_hosts": "ssh",
    "patience_s": "ssh", "wait_s": "slurm", "time_limit_min": "slurm",
}  # fmt: skip


def schema(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


KEYS = {**dict.fromkeys(schema(HOSTFILE_SCHEMA)["properties"], ""), **BELOW}
SECTIONS = set(schema(PLATFORM_SCHEMA)["properties"])


def texts() -> Iterator[tuple[str, str]]:
    """The texts of the suite that are no docstrings, each with its place."""
    for path in sorted(SRC.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        skipped = {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}
        joined = [one for one in ast.walk(tree) if isinstance(one, ast.JoinedStr)]
        skipped |= {id(value) for one in joined for value in one.values}
        for one in ast.walk(tree):
            if (text := _text(one)) and id(one) not in skipped:
                yield f"{path.relative_to(SRC)}:{one.lineno}", text  # type: ignore[attr-defined]


def _text(one: ast.AST) -> str:
    if isinstance(one, ast.JoinedStr):
        return "".join(_text(value) or "<>" for value in one.values)
    return one.value if isinstance(one, ast.Constant) and isinstance(one.value, str) else ""


TEXTS = [(place, text) for place, text in texts() if " " in text and "\n" not in text]
_VALUE = r"(\[[^\]]*\]|\{[^}]*\}|[\w<>…][\w<>….-]*(?: -n\b)?)"
_SNIPPET = re.compile(rf"(?<![\w/.'-])({'|'.join(KEYS)}): ?{_VALUE}")
# Words that come before something to write, in distinction to a message about what is written.
_ADVICE = re.compile(r"\b(?:set|add|give|use|write|with|or|and|both|example|hostfile|resolve)\b")
_PROSE = {"with", "belong"}


def snippets() -> Iterator[tuple[str, str, str]]:
    """``(place, key, value)`` of each line that a text advises to write into the hostfile."""
    for place, text in TEXTS:
        for found in _SNIPPET.finditer(text):
            if _ADVICE.search(text[: found.start()]) and found[2] not in _PROSE:
                yield place, found[1], found[2]


SNIPPETS = list(snippets())


def written(key: str, value: str) -> dict[str, Any]:
    """A hostfile with this line where it belongs, and with what it cannot be without."""
    for word, stands in STANDS_FOR.items():
        value = value.replace(word, stands)
    printed = yaml.safe_load(value)
    document: dict[str, Any] = {"cluster": "c", "platform": "h200", "nodes": NODES}
    section = KEYS[key]
    if section == "nodes":
        document["nodes"] = [{"name": "n1", key: printed}, "n2"]
    elif section:
        document[section] = {key: printed}
    else:
        document[key] = printed
    if document.get("transport") == "exec" or "exec" in document:
        document |= {"transport": "exec"}
        document.setdefault("exec", ["kubectl", "exec", "{address}", "--"])
    if "slurm" in document:
        document["transport"] = "slurm"
    return document


def test_the_texts_are_found():
    """The scan sees what it is about; a change of wording must not empty it."""
    named = {key for _, key, _ in SNIPPETS}
    assert {"launch", "become", "transport", "exec", "data_address", "launcher_args"} <= named
    assert len(SNIPPETS) > 20


def test_a_line_that_a_text_advises_is_a_line_of_the_hostfile(tmp_path):
    path, refused = tmp_path / "site.yaml", []
    for place, key, value in SNIPPETS:
        path.write_text(yaml.safe_dump(written(key, value)), encoding="utf-8")
        try:
            hostfile.load(path, schema_file=HOSTFILE_SCHEMA)
        except BadInput as error:
            refused.append(f"{place}: {key}: {value}: {error}")
    assert not refused


_NAMED = re.compile(
    r"under '?(\w+)'? in the hostfile|'(\w+)' in the hostfile|(\w+_\w+)(?: under '\w+')? in the"
    r" hostfile|(?:correct|remove|add its option for that to|set) (\w+) (?:in|of) the hostfile"
    r"|from setup or (\w+) in the hostfile|(\w+) of the hostfile\b"
)
_NO_KEYS = {
    "name",
    "names",
    "node",
    "user",
    "values",
    "nodes",
    "rest",
    "path",
    "copy",
    "line",
    "out",
    "it",
    "folder",
    "those",
}


def test_a_key_that_a_text_names_is_a_key_of_the_hostfile():
    named = {
        (place, next(filter(None, found)))
        for place, text in TEXTS
        for found in _NAMED.findall(text)
    }
    assert {name for _, name in named} >= {"tools", "environment", "versions", "setup"}
    assert not [one for one in named if one[1] not in KEYS.keys() | _NO_KEYS]


def test_a_section_that_a_text_names_is_one_of_a_platform_file():
    wanted = re.compile(r"platform file's section (\w+)")
    named = {name for _, text in TEXTS for name in wanted.findall(text)}
    assert "growth" in named
    assert named <= SECTIONS


_VARIABLE = re.compile(r"\b([A-Z]{2,}(?:_[A-Z0-9]+)+)=(\w+)")


def remedies() -> Iterator[str]:
    for kind in CATALOGUE.values():
        yield from (kind.remedy, kind.over_slurm)
    yield from (kind.remedy for kind in ProblemKind)
    yield from (text for _, text in TEXTS if re.match(r"(?:set|unset|give|remove) ", text))


def test_a_variable_that_a_remedy_sets_is_taken_by_the_plan(tmp_path):
    named = {found for text in remedies() for found in _VARIABLE.findall(text)}
    assert ("OMPI_ALLOW_RUN_AS_ROOT", "1") in named
    printed = {"cluster": "c", "platform": "h200", "nodes": NODES, "environment": dict(named)}
    printed["fabric"] = {"none": "no switch of ours in this test"}
    path = tmp_path / "site.yaml"
    path.write_text(yaml.safe_dump(printed), encoding="utf-8")
    inputs.site(path, ROOT)

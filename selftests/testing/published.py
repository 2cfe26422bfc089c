"""The published JSON schemas, and whether what a run or a bundle holds keeps to them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from railgauge.core import run_files


@cache
def validator(name: str) -> Any:
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - 0.2 s, and most tests need none

    text = files("railgauge").joinpath("schemas", f"{name}.json").read_text(encoding="utf-8")
    schema = json.loads(text)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def complaints(name: str, values: Iterable[Any]) -> Iterator[str]:
    for number, value in enumerate(values, 1):
        for error in validator(name).iter_errors(value):
            yield f"{name}:{number}: {error.json_path}: {error.message[:200]}"


def refuse_unpublished(folder: Path) -> None:
    """The verdict and the lines of a run keep to the schemas of the versions that are written."""
    path = folder / "verdict.json"
    if not path.is_file():
        return
    verdict = json.loads(path.read_text(encoding="utf-8"))
    found = list(complaints(f"verdict-{run_files.VERSIONS['verdict.json']}", [verdict]))
    lines = (folder / "measurements.jsonl").read_text(encoding="utf-8").splitlines()
    name = f"measurements-{run_files.VERSIONS['measurements.jsonl']}"
    shapes = {_shape(line): line for line in map(json.loads, lines)}
    found += complaints(name, shapes.values())
    assert not found, found[:5]


def _shape(line: dict[str, Any]) -> object:
    """What a schema sees of a line; thousands of lines of a run have a few dozen shapes."""
    words = {name: line.get(name) for name in ("outcome", "better", "evidence", "schema_version")}
    kinds = {name: type(value).__name__ for name, value in line.items()}
    inner = {n: {type(v).__name__ for v in line[n]} for n in line if isinstance(line[n], list)}
    return json.dumps([words, kinds, {n: sorted(k) for n, k in inner.items()}], sort_keys=True)

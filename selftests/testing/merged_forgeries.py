"""Changes to the bundle of a merged run that ``railgauge verify`` refuses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from testing import bundle_bench as bench

Files = dict[str, bytes]


def forgeries(first: str) -> Iterator[Callable[[Files], None]]:
    """``first`` is the id of the first part; the first two changes are to its records."""
    records = f"run/parts/{first}/records.jsonl"

    def in_part(change: Callable[[list[Any]], object]) -> Callable[[Files], None]:
        def of(content: Files) -> None:
            lines = [json.loads(line) for line in content[records].splitlines()]
            change(lines)
            content[records] = "".join(f"{json.dumps(one)}\n" for one in lines).encode()

        return of

    def as_passed(lines: list[Any]) -> None:
        bad = next(one for one in lines if one["outcome"] == "failed")
        bad["outcome"], bad["reason"] = "passed", ""

    def stray(content: Files) -> None:
        part = f"run/parts/{first}/transcripts/"
        name = next(n for n in content if n.startswith(part) and n.endswith(".json"))
        content[f"run/transcripts/{name.removeprefix(part)}"] = content[name]

    yield in_part(as_passed)
    yield in_part(lambda lines: lines.pop(0))
    yield stray
    for name, edit in _EDITS:
        yield bench.edit_json(f"run/{name}.json", edit)


_EDITS: tuple[tuple[str, Callable[[Any], object]], ...] = (
    ("run", lambda data: data.update(parts=data["parts"][1:])),
    ("run", lambda data: data.update(parts=data["parts"][::-1])),
    ("run", lambda data: data["parts"][0].update(what="the whole level")),
    ("run", lambda data: data.update(planned=data["planned"][1:])),
    ("environment", lambda data: data["nodes"].popitem()),
    ("cluster", lambda data: data["nodes"].pop()),
)

"""Somebody who has a key and this very software, and makes a bundle of what was never measured."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from railgauge.bundle import signing, statement
from railgauge.judging import record
from railgauge.planning.soak import is_of_soak
from railgauge.run.kept_text import json_text
from railgauge.run.run_folder import RunFolder
from railgauge.verdict import decision
from testing import bundle_bench as bench
from testing.bundle_bench import Files

RECORDS, MEASUREMENTS = "run/records.jsonl", "run/measurements.jsonl"
Said = Callable[[dict[str, Any]], object]


def sealed(
    source: Path,
    path: Path,
    key: Ed25519PrivateKey,
    change: Callable[[Files], object],
    *,
    say: Said = lambda predicate: None,
    after: Callable[[Files], object] = lambda content: None,
) -> Path:
    """The bundle with other files, and all that follows from them made anew and signed.

    ``after`` changes files when lines and verdict have been made from the records, ``say`` what the
    statement says of it all.
    """
    content = bench.files(source)
    change(content)
    _derive(content)
    after(content)
    printed = statement.read(_payload(content))
    digests = {n: _sha256(d) for n, d in content.items() if n.startswith("run/")}
    run = json.loads(content["run/run.json"])
    verdict = json.loads(content["run/verdict.json"])
    about = statement.RunInfo(
        schema_version=printed.about.schema_version,
        run_id=run["run_id"],
        evidence=run["evidence"],
        verdict=verdict["verdict"],
        software=run["software"],
        redacted=printed.about.redacted,
    )
    records = _Held(content).records()
    data = json.loads(statement.make(digests, records.values(), about))
    say(data["predicate"])
    payload = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    envelope = signing.envelope(payload.encode(), key)
    content[bench.STATEMENT] = json_text(envelope).encode()
    content["signer.pub"] = signing.public_line(key).encode()
    return bench.write(path, content)


def _payload(content: Files) -> bytes:
    return json.dumps(bench.payload(content)).encode()


def _sha256(data: bytes) -> str:
    return bench.hashlib.sha256(data).hexdigest()


def _derive(content: Files) -> None:
    """Lines of measurements and the verdict, as these records give them."""
    evidence = json.loads(content["run/run.json"])["evidence"]
    contents = _Held(content)
    lines = [
        {**record.measurement(item, one), "evidence": evidence}
        for item in contents.ended()
        for one in item.judgements
    ]
    results = contents.results(contents.records(), contents.platform())
    verdict = decision.decide(contents.plan(), results)
    text = "".join(json.dumps(line, sort_keys=True) + "\n" for line in lines)
    content[MEASUREMENTS] = text.encode()
    content["run/verdict.json"] = json_text(verdict.to_json()).encode()


class _Held(RunFolder):
    """The run's files in memory: writing all of them to a folder takes most of a forger's time."""

    def __init__(self, content: Files) -> None:
        super().__init__(Path())
        self._content = content

    def __contains__(self, name: str) -> bool:
        return f"run/{name}" in self._content

    def bytes(self, name: str) -> bytes:
        return self._content[f"run/{name}"]

    def opened(self, name: str) -> BinaryIO:
        return BytesIO(self.bytes(name))

    def names(self, start: str = "") -> Iterable[str]:
        return [n.removeprefix("run/") for n in self._content if n.startswith(f"run/{start}")]


def judged_soak(content: Files) -> None:
    """The records of the soak, as the evidence in the bundle gives them."""
    contents = _Held(content)
    records = [json.loads(line) for line in content[RECORDS].splitlines()]
    ladder = [line for line in records if not is_of_soak(line["id"])]
    run = contents.plan()
    last = decision.closed(run, contents.results(contents.records(), contents.platform()))
    soak = [one.to_json() for one in last if is_of_soak(one.id)]
    version = {"schema_version": record.SCHEMA_VERSION}
    lines = [*ladder, *({**version, **one} for one in soak)]
    content[RECORDS] = "".join(json.dumps(x, sort_keys=True) + "\n" for x in lines).encode()
    plan = json.loads(content["run/run.json"])
    planned = [item for item in plan["planned"] if not is_of_soak(item)]
    plan["planned"] = [*planned, *(one["id"] for one in soak)]
    content["run/run.json"] = json_text(plan).encode()


# --- what is changed ---


def transcripts(content: Files) -> list[str]:
    return sorted(n for n in content if n.startswith("run/transcripts/") and n.endswith(".json"))


def without_unused(content: Files) -> None:
    """Transcripts that no record asks for any more are taken out."""
    records = [json.loads(line) for line in content[RECORDS].splitlines()]
    asked = {
        q[name]["measurement"] + "[" + ":".join(q[name]["nodes"])
        for r in records
        for q in r["questions"]
        for name in ("case", "other")
        if q[name]
    }
    for name in transcripts(content):
        key = json.loads(content[name])["case"]["key"]
        if not any(key.startswith((f"{one}]", f"{one}-")) for one in asked):
            del content[name]


def edited(name: str, change: Callable[[Any], object]) -> Callable[[Files], None]:
    return bench.edit_json(name, change)


def of(records: list[dict[str, Any]], item: str) -> dict[str, Any]:
    (found,) = [r for r in records if r["id"].endswith(item)]
    return found

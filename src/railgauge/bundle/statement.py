"""The in-toto statement: what is in the bundle, and what came of the tests.

Statement v1 with the test-result predicate v0.1, over the SHA-256 of every file. What the predicate
has no word for stands under ``railgauge``: readers of in-toto pass over fields they do not know.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from railgauge.bundle import strict
from railgauge.bundle.errors import BadBundle
from railgauge.core.model import Outcome
from railgauge.core.plain import to_plain
from railgauge.core.terms import Verdict
from railgauge.judging.record import ItemRecord

NAME = "statement.dsse.json"
SIGNER = "signer.pub"
RUN = "run/"
# Files of a run that say how it was configured; the second has the ending of its format.
_LIMITS, _HOSTFILE = "thresholds.json", "hostfile."

TYPE = "https://in-toto.io/Statement/v1"
PREDICATE = "https://in-toto.io/attestation/test-result/v0.1"
SCHEMA_VERSION = 1
_WORD = re.compile(r"[A-Za-z0-9._+-]{1,200}")
_RESULTS: Mapping[str, str] = {
    Verdict.ACCEPTED: "PASSED",
    Verdict.INCOMPLETE: "WARNED",
    Verdict.REJECTED: "FAILED",
}
_TESTS = {Outcome.PASSED: "passedTests", Outcome.FAILED: "failedTests"}


@dataclass(frozen=True, slots=True)
class Redacted:
    """What was redacted: how often by kind, whether asked for, and files that were left out."""

    counts: Mapping[str, int] = field(default_factory=dict)
    on_request: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What a statement says of its run beyond in-toto's own fields."""

    schema_version: int
    run_id: str
    evidence: str
    verdict: str
    software: str
    redacted: Redacted


def make(sha256: Mapping[str, str], records: Iterable[ItemRecord], of: RunInfo) -> bytes:
    """The statement as the bytes that are signed: the same for the same run."""
    data = {
        "_type": TYPE,
        "subject": [_resource(name, digest) for name, digest in sorted(sha256.items())],
        "predicateType": PREDICATE,
        "predicate": predicate(sha256, records, of),
    }
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def predicate(
    sha256: Mapping[str, str], records: Iterable[ItemRecord], of: RunInfo
) -> dict[str, Any]:
    """What came of the tests, in in-toto's words; ``sha256`` by the name of the file."""
    configuration = [
        name
        for name in sorted(sha256)
        if name == f"{RUN}{_LIMITS}" or name.startswith(f"{RUN}{_HOSTFILE}")
    ]
    made: dict[str, Any] = {
        "result": _RESULTS[of.verdict],
        "configuration": [_resource(name, sha256[name]) for name in configuration],
        "passedTests": [],
        "warnedTests": [],
        "failedTests": [],
        "railgauge": _about(of),
    }
    for record in sorted(records, key=lambda record: record.id):
        made[_TESTS.get(record.outcome, "warnedTests")].append(record.id)
    return made


def _resource(name: str, digest: str) -> dict[str, Any]:
    return {"name": name, "digest": {"sha256": digest}}


def _about(of: RunInfo) -> dict[str, Any]:
    plain: dict[str, Any] = to_plain(of)
    return plain


@dataclass(frozen=True, slots=True)
class _Subject:
    name: str
    digest: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement, read: the digest of each file, and what it says of the run."""

    sha256: Mapping[str, str]
    about: RunInfo
    predicate: Mapping[str, Any]


def read(payload: bytes) -> Statement:
    """Raises ``BadBundle`` for anything but a statement that this software knows."""
    data = strict.loads(payload, NAME)
    if not isinstance(data, dict) or data.get("_type") != TYPE:
        raise BadBundle(f"is no in-toto statement ({TYPE})", where=NAME)
    if data.get("predicateType") != PREDICATE:
        raise BadBundle(f"does not tell of test results ({PREDICATE})", where=NAME)
    said = data.get("predicate")
    about = said.get("railgauge") if isinstance(said, dict) else None
    known = strict.versioned(about, SCHEMA_VERSION, NAME)
    assert isinstance(said, dict)
    subjects = [strict.value(_Subject, one, NAME) for one in _listed(data.get("subject"))]
    sha256 = {one.name: one.digest.get("sha256", "") for one in subjects}
    if len(sha256) < len(subjects):
        raise BadBundle("names a file twice", where=NAME)
    of = strict.value(RunInfo, known, NAME)
    if not all(map(_WORD.fullmatch, (of.run_id, of.evidence, of.verdict, of.software))):
        raise BadBundle("says something of its run that is no word", where=NAME)
    return Statement(sha256, of, said)


def _listed(data: object) -> list[object]:
    if not isinstance(data, list):
        raise BadBundle("has no list of subjects", where=NAME)
    return data

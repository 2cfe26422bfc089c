"""The in-toto statement: the files of the bundle, and the results of the tests.

It is a Statement v1 with the test-result predicate v0.1, over the SHA-256 of every file. Facts for
which the predicate has no field are under ``railgauge``: readers of in-toto ignore unknown fields.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from railgauge.config.deviations import FILE as DEVIATIONS
from railgauge.core.codec import to_plain
from railgauge.core.errors import BadBundle
from railgauge.core.model import Outcome
from railgauge.core.run_files import HOSTFILE, PLATFORM
from railgauge.core.terms import Verdict
from railgauge.judging.record import ItemRecord
from railgauge.run import untrusted

NAME = "statement.dsse.json"
SIGNER = "signer.pub"
RUN = "run/"

TYPE = "https://in-toto.io/Statement/v1"
PREDICATE = "https://in-toto.io/attestation/test-result/v0.1"
SCHEMA_VERSION = 1
_WORD = re.compile(r"[A-Za-z0-9._+-]{1,200}")
_VERDICTS = frozenset(map(str, Verdict))
_RESULTS: Mapping[str, str] = {
    Verdict.ACCEPTED: "PASSED",
    Verdict.WITH_DEVIATIONS: "WARNED",
    Verdict.INCOMPLETE: "WARNED",
    Verdict.REJECTED: "FAILED",
    Verdict.QUALIFIED: "PASSED",
    Verdict.QUALIFIED_WITH_DEVIATIONS: "WARNED",
    Verdict.NOT_QUALIFIED: "FAILED",
}
_TESTS = {Outcome.PASSED: "passedTests", Outcome.FAILED: "failedTests"}


@dataclass(frozen=True, slots=True)
class Redacted:
    """What was redacted: counts by kind, the kinds asked for, and the files left out."""

    counts: Mapping[str, int] = field(default_factory=dict)
    on_request: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunInfo:
    """The facts about a run for which in-toto has no field."""

    schema_version: int
    run_id: str
    evidence: str
    verdict: str
    software: str
    redacted: Redacted


def make(sha256: Mapping[str, str], records: Iterable[ItemRecord], of: RunInfo) -> bytes:
    """The bytes of the statement, which are signed; the same run gives the same bytes."""
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
    """The results of the tests in in-toto's fields; ``sha256`` has the digests by file name."""
    configuration = [
        name
        for name in sorted(sha256)
        if name in (f"{RUN}{PLATFORM}", f"{RUN}{DEVIATIONS}") or name.startswith(f"{RUN}{HOSTFILE}")
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
    """A statement: the SHA-256 of each file, the facts about the run, and the predicate."""

    sha256: Mapping[str, str]
    about: RunInfo
    predicate: Mapping[str, Any]


def read(payload: bytes) -> Statement:
    """Read a statement. Raises ``BadBundle`` unless it is one that this version knows."""
    data = untrusted.loads(payload, NAME)
    if not isinstance(data, dict) or data.get("_type") != TYPE:
        raise BadBundle(f"is not an in-toto statement ({TYPE})", where=NAME)
    if data.get("predicateType") != PREDICATE:
        raise BadBundle(f"has no test results ({PREDICATE})", where=NAME)
    content = data.get("predicate")
    about = content.get("railgauge") if isinstance(content, dict) else None
    known = untrusted.versioned(about, SCHEMA_VERSION, NAME)
    assert isinstance(content, dict)
    subjects = [untrusted.value(_Subject, one, NAME) for one in _listed(data.get("subject"))]
    sha256 = {one.name: one.digest.get("sha256", "") for one in subjects}
    if len(sha256) < len(subjects):
        raise BadBundle("names a file twice", where=NAME)
    of = untrusted.value(RunInfo, known, NAME)
    words = (of.run_id, of.evidence, of.software)
    if not all(map(_WORD.fullmatch, words)) or of.verdict not in _VERDICTS:
        raise BadBundle("has an invalid run id, evidence, verdict or software", where=NAME)
    return Statement(sha256, of, content)


def _listed(data: object) -> list[object]:
    if not isinstance(data, list):
        raise BadBundle("has no list of subjects", where=NAME)
    return data

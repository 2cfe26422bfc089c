"""Does a bundle hold? Signature, hashes, completeness, and every transcript judged again.

No network, no cluster, no pytest. What can be told from the bundle alone is told: a forger who also
measures, or who holds the key, is not found out by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NoReturn

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from railgauge import __version__
from railgauge.bundle import signing, statement, strict
from railgauge.bundle.agreement import (
    refuse_other_lists,
    refuse_other_measurements,
    refuse_other_stamp,
    refuse_other_survey,
)
from railgauge.bundle.archive import Archive
from railgauge.bundle.binding import refuse_other_items
from railgauge.bundle.commands import Commands
from railgauge.bundle.completeness import (
    refuse_gaps,
    refuse_left_out,
    refuse_other_confirmations,
    refuse_unplanned,
)
from railgauge.bundle.contents import AGAIN, PLATFORM, VERDICT, Contents
from railgauge.bundle.errors import BadBundle, NotVerified
from railgauge.bundle.signing import Signature
from railgauge.bundle.statement import NAME, RUN, SIGNER, Statement
from railgauge.config.thresholds import Platform
from railgauge.core.errors import NoEvidence
from railgauge.core.model import Cluster, Outcome
from railgauge.facts import NodeFacts, boot
from railgauge.judging import record
from railgauge.judging.assess import Assessor
from railgauge.judging.record import ItemRecord
from railgauge.planning import plan
from railgauge.planning.needs import Candidate, not_limited
from railgauge.run.store import json_text
from railgauge.verdict import decision
from railgauge.verdict.counts import RunVerdict


@dataclass(frozen=True, slots=True)
class Difference:
    """An item that other limits judge otherwise."""

    id: str
    recorded: str
    judged: str
    reason: str


@dataclass(frozen=True, slots=True)
class Judged:
    """All items of a run judged by one platform file, and the verdict that follows."""

    verdict: RunVerdict
    records: Mapping[str, ItemRecord]


@dataclass(frozen=True, slots=True)
class Limits:
    """The platform file that judged: its name and title, and the SHA-256 of its bytes."""

    platform: str
    title: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Report:
    """What came of verifying: who signed, what was counted, and the verdict that stands.

    ``again`` items were judged again; ``kept`` ones ended for reasons that no evidence shows (they
    were blocked, or the suite itself went wrong) and are taken as recorded; ``absent`` ones were
    planned and never ended. ``limits`` are those of the bundle. ``other`` is the verdict under
    other limits, ``differences`` what they change. ``shared`` are nodes that are one machine.
    ``untold`` could have been tested there by the verifier's tests, and the verdict is silent.
    ``is_own`` says that this version of railgauge made the run: then texts and causes were compared
    too, which another version may put differently.
    """

    signature: Signature
    statement: Statement
    files: int
    cluster: Cluster
    limits: Limits
    verdict: RunVerdict
    again: int
    kept: int
    absent: int
    is_own: bool
    other: RunVerdict | None = None
    differences: tuple[Difference, ...] = ()
    shared: tuple[tuple[str, ...], ...] = ()
    untold: tuple[str, ...] = ()

    @property
    def is_vouched(self) -> bool:
        """Whether somebody who is known here has signed."""
        return self.signature.state == signing.TRUSTED

    @property
    def exit_code(self) -> int:
        """That of the verdict that stands, or of the other limits if there are any."""
        return (self.other or self.verdict).exit_code


def signed(archive: Archive, trusted: Iterable[Ed25519PublicKey] | None) -> tuple[Signature, bytes]:
    """The statement as it was signed, and by whom. Raises ``NotVerified``, ``BadBundle``."""
    data = strict.loads(archive.read(NAME), NAME)
    if not isinstance(data, dict):
        raise BadBundle("is no DSSE envelope", where=NAME)
    sealed = signing.open_envelope(data, NAME)
    enclosed = signing.public_keys(archive.read(SIGNER)) if SIGNER in archive else ()
    return signing.check(sealed, enclosed, trusted, NAME), sealed.payload


def refuse_other_content(archive: Archive, sha256: Mapping[str, str]) -> None:
    """Raise ``NotVerified`` unless the files are those of the statement, each to the byte."""
    held = {name: member.sha256 for name, member in archive.members.items()}
    for extra in sorted(set(held) - set(sha256) - {NAME, SIGNER}):
        _fail(extra, "is not in the statement")
    for name, digest in sorted(sha256.items()):
        if name not in held:
            _fail(name, "is in the statement and not in the bundle")
        if held[name] != digest:
            _fail(name, "is not the file that the statement is about: its SHA-256 differs")
        if not name.startswith(RUN):
            _fail(name, "is no file of a run")


def _fail(where: str, what: str) -> NoReturn:
    raise NotVerified(what, where=where)


def verify(
    archive: Archive,
    trusted: Iterable[Ed25519PublicKey] | None = None,
    other: Platform | None = None,
    tests: Sequence[Candidate] = (),
) -> Report:
    """Everything that can be checked. Raises ``NotVerified``, naming the file at fault.

    ``tests`` are those of the verifier, by which it is told what the run left out.
    """
    signature, payload = signed(archive, trusted)
    said = statement.read(payload)
    refuse_other_content(archive, said.sha256)
    contents = Contents(archive)
    run, cluster, platform = contents.plan(), contents.cluster(), contents.platform()
    records = contents.records()
    refuse_other_stamp(run, cluster, contents.found)
    if surveyed := contents.surveyed():
        refuse_other_survey(run, cluster, platform.name, surveyed, contents.found)
    refuse_unplanned(run, records.values())
    level = plan.level(platform, cluster, run.level, run.rounds)
    refuse_other_items(records.values(), platform, level)
    refuse_gaps(run, cluster, records, contents.transcripts())
    again = contents.transcripts(AGAIN)
    refuse_other_confirmations(run, cluster, platform, contents.asked(), again)
    _refuse_other_commands(contents, records.values())
    refuse_left_out(run, contents.results(records, platform))
    own = _judge(contents, records, platform)
    is_own = run.software == __version__
    _refuse_other_items(records, own.records, is_own=is_own)
    refuse_other_measurements(run, contents.ended(), contents.measurements())
    _refuse_other_verdict(contents, own.verdict, said, is_own=is_own)
    made = statement.predicate(said.sha256, records.values(), said.about)
    refuse_other_lists(said.predicate, made)
    elsewhere = _judge(contents, records, contents.of_this_cluster(other)) if other else None
    return Report(
        signature=signature,
        statement=said,
        files=len(said.sha256),
        cluster=cluster,
        limits=Limits(platform.name, platform.title, said.sha256[f"{RUN}{PLATFORM}"]),
        verdict=own.verdict,
        again=sum(item.by_evidence for item in records.values()),
        kept=sum(not item.by_evidence for item in records.values()),
        absent=len(run.planned) - len(records),
        is_own=is_own,
        other=elsewhere.verdict if elsewhere else None,
        differences=tuple(_differences(own.records, elsewhere.records)) if elsewhere else (),
        shared=boot.shared(
            {node: f.boot_id for node, f in contents.found.items() if isinstance(f, NodeFacts)}
        ),
        untold=tuple(
            name
            for name in not_limited(platform, level, tests)
            if name not in (own.verdict.not_limited or ())
        ),
    )


def _refuse_other_commands(contents: Contents, records: Iterable[ItemRecord]) -> None:
    """Every transcript that an item or a confirmation stands on is of the planned command."""
    held = Commands(contents.platform(), contents.cluster(), contents.elsewhere())
    own = (question for item in records for question in item.questions)
    again = (one.question for one in contents.asked())
    for folder, questions in (("", own), (AGAIN, again)):
        cases = (case for one in questions for case in (one.case, one.other) if case)
        for case in dict.fromkeys(cases):
            with suppress(NoEvidence):  # that there is none is found when it is judged
                held.refuse_others(case, contents.result(case, folder).runs, folder)


def _judge(contents: Contents, records: Mapping[str, ItemRecord], platform: Platform) -> Judged:
    assessor = Assessor(platform, contents, contents.cluster().fabric)
    judged = {name: judged_again(item, assessor) for name, item in records.items()}
    return Judged(decision.decide(contents.plan(), contents.results(judged, platform)), judged)


def judged_again(item: ItemRecord, assessor: Assessor) -> ItemRecord:
    """The record that the evidence gives; of an item that evidence says nothing of, the same.

    One that ran twice and passed only then is flaky, whatever its transcripts say.
    """
    if not item.by_evidence or item.outcome is Outcome.FLAKY:
        return item
    blank = record.blank(item)
    judgements, error = assessor.answers(item.questions)
    return record.settled(blank, judgements, error)


def _refuse_other_items(
    recorded: Mapping[str, ItemRecord], again: Mapping[str, ItemRecord], *, is_own: bool
) -> None:
    """``is_own`` is false for a run of another version of railgauge: its texts may differ."""
    for name, item in recorded.items():
        if again[name] != item and (is_own or _without_texts(again[name]) != _without_texts(item)):
            what = f"{name} is recorded as {item.outcome}, and is {again[name].outcome}"
            if again[name].outcome is item.outcome:
                what = f"{name} is recorded with other values than its evidence gives"
            _fail(f"{RUN}{record.FILE}", what)


def _without_texts(item: ItemRecord) -> ItemRecord:
    """The record without the sentences that each version of railgauge may put differently."""
    judgements = tuple(replace(judgement, reason="") for judgement in item.judgements)
    return replace(item, title="", reason="", remedy="", judgements=judgements)


# What a verdict holds besides texts and causes.
_FIGURES = ("run_id", "cluster", "platform", "evidence", "level", "verdict", "counts", "coverage")


def _refuse_other_verdict(
    contents: Contents, verdict: RunVerdict, said: Statement, *, is_own: bool
) -> None:
    recorded, again = contents.bytes(VERDICT), json_text(verdict.to_json()).encode()
    if not is_own:
        recorded, again = _figures(recorded), _figures(again)
    if recorded != again:
        what = f"is not the verdict that the evidence gives ({verdict.verdict})"
        _fail(f"{RUN}{VERDICT}", what)
    about = said.about
    if (about.verdict, about.evidence, about.run_id) != (
        verdict.verdict,
        verdict.evidence,
        verdict.run_id,
    ):
        _fail(NAME, f"says {about.verdict} of {about.run_id}, {about.evidence} evidence")


def _figures(verdict: bytes) -> bytes:
    data = strict.loads(verdict, VERDICT)
    if not isinstance(data, dict):
        raise BadBundle("is no verdict", where=VERDICT)
    return json_text({name: data.get(name) for name in _FIGURES}).encode()


def _differences(
    own: Mapping[str, ItemRecord], other: Mapping[str, ItemRecord]
) -> Iterator[Difference]:
    for name, item in own.items():
        if other[name].outcome is not item.outcome:
            outcome = other[name].outcome
            yield Difference(name, str(item.outcome), str(outcome), other[name].reason)

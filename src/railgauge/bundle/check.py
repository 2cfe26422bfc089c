"""Verifies a bundle: signature, hashes, completeness, and every transcript judged again.

This needs no network, no cluster and no pytest. It checks everything that the bundle alone can
show. It does not detect a forger who has the key, or who really measures on other hardware.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NoReturn

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from securesystemslib.dsse import Envelope

from railgauge import __version__
from railgauge.bundle import signing, soak, statement, strict
from railgauge.bundle.agreement import (
    refuse_other_inventory,
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
    refuse_other_end,
    refuse_unplanned,
)
from railgauge.bundle.contents import AGAIN, PLATFORM, VERDICT, Contents
from railgauge.bundle.errors import BadBundle, NotVerified
from railgauge.bundle.signing import Signature
from railgauge.bundle.statement import NAME, RUN, SIGNER, Statement
from railgauge.config.thresholds import Platform
from railgauge.core.errors import NoEvidence
from railgauge.core.model import Cluster, Outcome
from railgauge.diagnosis import RunResults
from railgauge.facts import NodeFacts, boot
from railgauge.judging import record
from railgauge.judging.assessor import Assessor
from railgauge.judging.inventory import FILE as INVENTORY
from railgauge.judging.record import ItemRecord
from railgauge.planning.needs import Candidate, not_limited
from railgauge.run.kept_text import json_text
from railgauge.verdict import decision
from railgauge.verdict.closing import is_closing, question_kinds
from railgauge.verdict.counts import RunVerdict


@dataclass(frozen=True, slots=True)
class Difference:
    """An item whose outcome differs under other limits: its id, both outcomes, and the reason."""

    id: str
    recorded: str
    judged: str
    reason: str


@dataclass(frozen=True, slots=True)
class Judged:
    """All records of a run as one platform file judges them, and the verdict that follows."""

    verdict: RunVerdict
    records: Mapping[str, ItemRecord]
    results: RunResults


@dataclass(frozen=True, slots=True)
class Limits:
    """The platform file with the limits: its name and title, and the SHA-256 of its bytes."""

    platform: str
    title: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Report:
    """The result of verifying: who signed, the counts, and the confirmed verdict.

    ``signatures`` are in the order in which they were made; one that says so if there is none.
    ``again`` is the number of items that were judged again. ``kept`` is the number of items that
    are taken as recorded, because no evidence shows why they ended so: they were blocked, or the
    suite had an error. ``absent`` is the number of planned items that never ended. ``limits`` are
    those of the bundle, ``other`` is the verdict under other limits, and ``differences`` are the
    items that these change. ``shared`` are groups of nodes that are the same machine. ``untold``
    are subjects that the verifier's tests could test on this platform, that its file does not
    have, and that the verdict does not list as not limited. ``is_own`` is true if this version of
    railgauge made the run; then texts and causes were compared too, which differ between versions.
    """

    signatures: tuple[Signature, ...]
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
        """Whether the bundle is signed with a key that the caller trusts."""
        return self.signature.state == signing.TRUSTED

    @property
    def signature(self) -> Signature:
        """The first signature that the caller trusts, else the first."""
        trusted = (one for one in self.signatures if one.state == signing.TRUSTED)
        return next(trusted, self.signatures[0])

    @property
    def exit_code(self) -> int:
        """The exit code of the verdict, under the other limits if they were given."""
        return (self.other or self.verdict).exit_code


def envelope_of(archive: Archive) -> Envelope:
    """The envelope with the statement; nothing in it is verified. Raises ``BadBundle``."""
    data = strict.loads(archive.read(NAME), NAME)
    if not isinstance(data, dict):
        raise BadBundle("is not a DSSE envelope", where=NAME)
    return signing.open_envelope(data, NAME)


def signed(
    archive: Archive, trusted: Sequence[Ed25519PublicKey] | None, required: int = 0
) -> tuple[tuple[Signature, ...], bytes]:
    """Return who signed the bundle, and the signed bytes of its statement.

    ``required`` is how many signatures it must have. Raises ``NotVerified`` or ``BadBundle``.
    """
    sealed = envelope_of(archive)
    enclosed = signing.public_keys(archive.read(SIGNER)) if SIGNER in archive else ()
    found = signing.check(sealed, enclosed, trusted, NAME)
    signing.refuse_fewer(found, required, trusted, NAME)
    return found, sealed.payload


def refuse_other_content(archive: Archive, sha256: Mapping[str, str]) -> None:
    """Raise ``NotVerified`` unless the bundle has exactly the statement's files and digests."""
    held = {name: member.sha256 for name, member in archive.members.items()}
    for extra in sorted(set(held) - set(sha256) - {NAME, SIGNER}):
        _fail(extra, "is not in the statement")
    for name, digest in sorted(sha256.items()):
        if name not in held:
            _fail(name, "is in the statement but not in the bundle")
        if held[name] != digest:
            _fail(name, "is not the file in the statement: its SHA-256 differs")
        if not name.startswith(RUN):
            _fail(name, "is not a file of a run")


def _fail(where: str, what: str) -> NoReturn:
    raise NotVerified(what, where=where)


def verify(
    archive: Archive,
    trusted: Sequence[Ed25519PublicKey] | None = None,
    other: Platform | None = None,
    tests: Sequence[Candidate] = (),
    required: int = 0,
) -> Report:
    """Make all checks. Raises ``NotVerified``, naming the file at fault, or ``BadBundle``.

    Without ``trusted`` keys the enclosed keys are used. ``other`` are limits to judge by as well.
    ``tests`` are the verifier's tests; the report lists subjects of theirs that the run left out.
    ``required`` is how many signatures of different keys the bundle must have.
    """
    signatures, payload = signed(archive, trusted, required)
    said = statement.read(payload)
    refuse_other_content(archive, said.sha256)
    contents = Contents(archive)
    run, cluster, platform = contents.plan(), contents.cluster(), contents.platform()
    records = contents.records()
    refuse_other_stamp(run, cluster, contents.found)
    if surveyed := contents.surveyed():
        refuse_other_survey(run, cluster, platform.name, surveyed, contents.found)
    refuse_unplanned(run, records.values())
    level, ladder = run.level_of(platform, cluster), soak.of_ladder(records)
    refuse_other_end(run, contents, records.values())
    refuse_other_items(ladder.values(), platform, level)
    refuse_gaps(run, cluster, ladder, contents.transcripts())
    soak.refuse_other_rounds(run, contents, platform, cluster)
    again = contents.transcripts(AGAIN)
    refuse_other_confirmations(run, cluster, platform, contents.asked(), again)
    _refuse_other_commands(contents, records.values())
    own = _judge(contents, records, platform)
    refuse_left_out(run, own.results)
    soak.refuse_other_items(records, (item.id for item in decision.closed(run, own.results)))
    is_own = run.software == __version__
    _refuse_other_items(records, own.records, is_own=is_own)
    refuse_other_measurements(run, contents.ended(), contents.measurements())
    if is_own and INVENTORY in contents:
        refuse_other_inventory(contents.bytes(INVENTORY), contents.found)
    _refuse_other_verdict(contents, own.verdict, said, is_own=is_own)
    made = statement.predicate(said.sha256, records.values(), said.about)
    refuse_other_lists(said.predicate, made)
    elsewhere = _judge(contents, records, contents.of_this_cluster(other)) if other else None
    return Report(
        signatures=signatures,
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
    """Raise ``NotVerified`` unless all transcripts that items use are of the planned commands."""
    held = Commands(contents.platform(), contents.cluster(), contents.elsewhere())
    own = (question for item in records for question in item.questions)
    again = (one.question for one in contents.asked())
    for folder, questions in (("", own), (AGAIN, again)):
        measured = (one for one in questions if one.kind not in question_kinds())
        cases = (case for one in measured for case in (one.case, one.other) if case)
        for case in dict.fromkeys(cases):
            with suppress(NoEvidence):  # a missing transcript is reported when its item is judged
                held.refuse_others(case, contents.result(case, folder).runs, folder)


def _judge(contents: Contents, records: Mapping[str, ItemRecord], platform: Platform) -> Judged:
    assessor = Assessor(platform, contents, contents.cluster().fabric)
    run = contents.plan()
    judged = {name: judged_again(item, assessor) for name, item in records.items()}
    results = contents.results(judged, platform)
    last = {item.id: item for item in decision.closed(run, results)}
    judged |= {name: last.get(name, item) for name, item in records.items() if is_closing(name)}
    return Judged(decision.decide(run, results), judged, results)


def judged_again(item: ItemRecord, assessor: Assessor) -> ItemRecord:
    """The record that follows from the evidence; an item without evidence keeps its record.

    Of a blocked item only the results of its collective are judged: wrong ones make it fail. A
    flaky item keeps its record too: it ran twice and passed the second time, which its
    transcripts do not show.
    """
    is_checked = item.outcome is Outcome.BLOCKED and item.questions
    is_judged = item.by_evidence or is_checked
    if not is_judged or item.outcome is Outcome.FLAKY or is_closing(item.id):
        return item
    judgements, error = assessor.answers(item.questions)
    if is_checked and not any(judged.outcome is Outcome.FAILED for judged in judgements):
        return replace(item, judgements=judgements)
    return record.settled(record.blank(item), judgements, error)


def _refuse_other_items(
    recorded: Mapping[str, ItemRecord], again: Mapping[str, ItemRecord], *, is_own: bool
) -> None:
    """``is_own`` is false for a run of another version of railgauge: its texts may differ."""
    for name, item in recorded.items():
        due = _as_kept(again[name], item)
        if due != item and (is_own or _without_texts(due) != _without_texts(item)):
            made = again[name].outcome
            what = f"{name} is recorded as {item.outcome}, but its evidence gives {made}"
            if made is item.outcome:
                what = f"{name} is recorded with values that differ from its evidence"
            _fail(f"{RUN}{record.FILE}", what)


def _as_kept(item: ItemRecord, recorded: ItemRecord) -> ItemRecord:
    """The item without what could not be judged beside its failure, which early runs did not keep.

    The verdict is made of the items as they are judged again, and never of the recorded ones.
    """
    return item if recorded.beside else replace(item, beside="")


def _without_texts(item: ItemRecord) -> ItemRecord:
    """The record without the texts, whose wording may differ between versions of railgauge."""
    judgements = tuple(replace(judgement, reason="", limit="") for judgement in item.judgements)
    return replace(item, title="", reason="", remedy="", beside="", judgements=judgements)


# The fields of a cause that follow from its name.
_TRIAGE = frozenset({"severity", "action"})
# The fields of a verdict that hold no texts or causes.
_FIGURES = ("run_id", "cluster", "platform", "evidence", "level", "verdict", "counts", "coverage")


def _refuse_other_verdict(
    contents: Contents, verdict: RunVerdict, said: Statement, *, is_own: bool
) -> None:
    recorded, due = contents.bytes(VERDICT), _as_json(verdict)
    if not is_own:
        recorded, due = _figures(recorded), tuple(map(_figures, due))
    if recorded not in due:
        what = f"differs from the verdict of the evidence ({verdict.verdict})"
        _fail(f"{RUN}{VERDICT}", what)
    about = said.about
    if (about.verdict, about.evidence, about.run_id) != (
        verdict.verdict,
        verdict.evidence,
        verdict.run_id,
    ):
        said_of = f"{about.verdict}, {about.run_id}, {about.evidence} evidence"
        _fail(NAME, f"is of another run or verdict: {said_of}")


def _as_json(verdict: RunVerdict) -> tuple[bytes, ...]:
    """The verdict as JSON, with and without triage, which follows from the causes' names.

    Early runs of this version did not keep it.
    """
    made = verdict.to_json()
    causes = [{k: v for k, v in cause.items() if k not in _TRIAGE} for cause in made["causes"]]
    return json_text(made).encode(), json_text({**made, "causes": causes}).encode()


def _figures(verdict: bytes) -> bytes:
    """The fields of a verdict that are compared between versions, as JSON."""
    data = strict.loads(verdict, VERDICT)
    if not isinstance(data, dict):
        raise BadBundle("is not a verdict", where=VERDICT)
    return json_text({name: data.get(name) for name in _FIGURES}).encode()


def _differences(
    own: Mapping[str, ItemRecord], other: Mapping[str, ItemRecord]
) -> Iterator[Difference]:
    for name, item in own.items():
        if other[name].outcome is not item.outcome:
            outcome = other[name].outcome
            yield Difference(name, str(item.outcome), str(outcome), other[name].reason)

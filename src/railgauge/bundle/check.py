"""Verifies a bundle: signature, hashes, completeness, and every transcript judged again.

This needs no network, no cluster and no pytest. It checks everything that the bundle alone can
show. It does not detect a forger who has the key, or who really measures on other hardware.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from securesystemslib.dsse import Envelope

from railgauge import __version__
from railgauge.bundle import signing, statement
from railgauge.bundle.again import judged_anew
from railgauge.bundle.agreement import (
    refuse_other_inventory,
    refuse_other_lists,
    refuse_other_measurements,
)
from railgauge.bundle.archive import Archive, BundledRun
from railgauge.bundle.run_check import checked
from railgauge.bundle.signers import Signer
from railgauge.bundle.signing import Signature
from railgauge.bundle.statement import NAME, SIGNER, Statement
from railgauge.config.thresholds import Platform
from railgauge.core.errors import BadBundle, NotVerified
from railgauge.core.model import Cluster
from railgauge.core.run_files import PLATFORM, RUN, VERDICT
from railgauge.facts import NodeFacts, boot
from railgauge.judging.inventory import FILE as INVENTORY
from railgauge.judging.record import ItemRecord
from railgauge.planning.needs import Candidate, not_limited
from railgauge.run import untrusted
from railgauge.run.kept_text import json_text
from railgauge.run.run_folder import RunFolder
from railgauge.verdict.counts import RunVerdict


@dataclass(frozen=True, slots=True)
class Difference:
    """An item whose outcome differs under other limits: its id, both outcomes, and the reason."""

    id: str
    recorded: str
    judged: str
    reason: str


@dataclass(frozen=True, slots=True)
class Limits:
    """The platform file with the limits: its name and title, and the SHA-256 of its bytes."""

    platform: str
    title: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Report:
    """The result of verifying: who signed, the counts, and the confirmed verdict.

    ``signatures`` are in the order in which they were made; an unsigned bundle has one
    ``UNSIGNED``. ``again`` is the number of items that were judged again. ``kept`` is the number of
    items that are taken as recorded, because no evidence shows why they ended so: they were
    blocked, or the suite had an error. ``absent`` is the number of planned items that never ended.
    ``limits`` are those of the bundle, ``other`` is the verdict under other limits, and
    ``differences`` are the items that these change. ``shared`` are groups of nodes that are the
    same machine. ``unlisted`` are subjects that the verifier's tests could test here and for which
    the platform file has no limit, as far as the verdict does not list them as not limited.
    ``is_own`` is true if this version of railgauge made the run; then texts and causes were
    compared too, which differ between versions.
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
    unlisted: tuple[str, ...] = ()

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
    data = untrusted.loads(archive.read(NAME), NAME)
    if not isinstance(data, dict):
        raise BadBundle("is not a DSSE envelope", where=NAME)
    return signing.open_envelope(data, NAME)


def signed(
    archive: Archive, trusted: Sequence[Signer] | None, required: int = 0
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
    trusted: Sequence[Signer] | None = None,
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
    stated = statement.read(payload)
    refuse_other_content(archive, stated.sha256)
    contents = BundledRun(archive)
    run, cluster, platform = contents.plan(), contents.cluster(), contents.platform()
    records, level = contents.records(), run.level_of(platform, cluster)
    own = checked(contents, platform)
    is_own = run.software == __version__
    refuse_other_measurements(run, contents.ended(), contents.measurements())
    if is_own and INVENTORY in contents:
        refuse_other_inventory(contents.bytes(INVENTORY), contents.found)
    _refuse_other_verdict(contents, own.verdict, stated, is_own=is_own)
    made = statement.predicate(stated.sha256, records.values(), stated.about)
    refuse_other_lists(stated.predicate, made)
    elsewhere = judged_anew(contents, records, contents.of_this_cluster(other)) if other else None
    return Report(
        signatures=signatures,
        statement=stated,
        files=len(stated.sha256),
        cluster=cluster,
        limits=Limits(platform.name, platform.title, stated.sha256[f"{RUN}{PLATFORM}"]),
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
        unlisted=tuple(
            name
            for name in not_limited(platform, level, tests)
            if name not in (own.verdict.not_limited or ())
        ),
    )


# The fields of a cause that follow from its name.
_TRIAGE = frozenset({"severity", "action"})
# The fields of a verdict that hold no texts or causes.
_FIGURES = ("run_id", "cluster", "platform", "evidence", "level", "verdict", "counts", "coverage")


def _refuse_other_verdict(
    contents: RunFolder, verdict: RunVerdict, stated: Statement, *, is_own: bool
) -> None:
    recorded, due = contents.bytes(VERDICT), _as_json(verdict)
    if not is_own:
        recorded, due = _figures(recorded), tuple(map(_figures, due))
    if recorded not in due:
        what = f"differs from the verdict of the evidence ({verdict.verdict})"
        _fail(f"{RUN}{VERDICT}", what)
    about = stated.about
    if (about.verdict, about.evidence, about.run_id) != (
        verdict.verdict,
        verdict.evidence,
        verdict.run_id,
    ):
        shown = f"{about.verdict}, {about.run_id}, {about.evidence} evidence"
        _fail(NAME, f"is of another run or verdict: {shown}")


def _as_json(verdict: RunVerdict) -> tuple[bytes, ...]:
    """The verdict as JSON, with and without triage, which follows from the causes' names.

    Early runs of this version did not keep it.
    """
    made = verdict.to_json()
    causes = [{k: v for k, v in cause.items() if k not in _TRIAGE} for cause in made["causes"]]
    return json_text(made).encode(), json_text({**made, "causes": causes}).encode()


def _figures(verdict: bytes) -> bytes:
    """The fields of a verdict that are compared between versions, as JSON."""
    data = untrusted.loads(verdict, VERDICT)
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

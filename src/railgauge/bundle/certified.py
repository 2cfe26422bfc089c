"""Reads what a certificate is made of: a run that ended, or a bundle that verifies."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

from railgauge.bundle import archive, check, signing, strict
from railgauge.bundle.completeness import refuse_left_out, refuse_unplanned
from railgauge.bundle.contents import PLATFORM, VERDICT, Contents
from railgauge.bundle.errors import BadBundle, NotVerified, refused
from railgauge.bundle.folder import FolderContents
from railgauge.bundle.signing import Signature
from railgauge.core.digests import sha256_in, sha256_of
from railgauge.core.errors import BadInput
from railgauge.diagnosis import RunResults
from railgauge.judging import inventory, record
from railgauge.report.certificate.certified import CertifiedRun
from railgauge.run.newer import refuse_newer
from railgauge.run.store import MANIFEST
from railgauge.run.unchanged import refuse_changed
from railgauge.verdict import decision
from railgauge.verdict.counts import RunVerdict
from railgauge.verdict.decision import RunPlan

_RESUME = "name a run that reached its end; carry an interrupted one on with --resume"
_NO_BUNDLE = (
    "Nobody has signed the files of this run: railgauge bundle makes one signed file of them."
)
_UNSEALED = (
    "This page is one of the files of the run, which manifest.json lists with their SHA-256: "
    "railgauge bundle makes one signed file of them, and railgauge certificate a page of that."
)
_HASHED = (PLATFORM, inventory.FILE, record.FILE, VERDICT)


def read(path: Path) -> CertifiedRun:
    """Read the folder of a run, or a bundle. Raises ``BadInput``.

    A run whose files are not as it left them, or that did not end, has no certificate, and neither
    has a bundle that does not verify.
    """
    try:
        if path.is_dir():
            return _of_folder(path)
        if not path.exists():
            raise BadInput("does not exist", where=str(path), remedy="name a run or a bundle")
        with archive.opened(path) as held:
            seals = tuple(_seals(check.verify(held).signatures))
            whole = sha256_of(path)
            return _certified(Contents(held), (f"bundle {path.name}", whole), seals)
    except (BadBundle, NotVerified) as error:
        raise refused(error, path) from None
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=str(path)) from None


def _of_folder(path: Path) -> CertifiedRun:
    refuse_newer(path)
    folder = FolderContents(path)
    if MANIFEST not in folder:
        raise BadInput(f"has no {MANIFEST}: the run did not end", where=str(path), remedy=_RESUME)
    refuse_changed(path)
    whole = hashlib.sha256(folder.bytes(MANIFEST)).hexdigest()
    return _certified(folder, (f"{MANIFEST}, the digests of all files", whole), (_NO_BUNDLE,))


def _certified(contents: Contents, whole: tuple[str, str], seals: tuple[str, ...]) -> CertifiedRun:
    plan, platform = contents.plan(), contents.platform()
    results = contents.results(contents.records(), platform)
    refuse_unplanned(plan, results.records.values())
    refuse_left_out(plan, results)
    verdict = decision.decide(plan, results)
    was = strict.loads(contents.bytes(VERDICT), VERDICT)
    if not isinstance(was, dict) or (was.get("verdict"), was.get("counts")) != (
        verdict.verdict,
        asdict(verdict.counts),
    ):
        raise NotVerified("differs from the verdict of the run's records", where=VERDICT)
    return _of(verdict, plan, results, ((*hashes(contents), whole), seals))


def unsealed(folder: Path, verdict: RunVerdict, plan: RunPlan, results: RunResults) -> CertifiedRun:
    """Return the run whose report is being written; its files are in ``folder`` so far."""
    return _of(verdict, plan, results, (hashes(FolderContents(folder)), (_UNSEALED,)))


_Proof = tuple[tuple[tuple[str, str], ...], tuple[str, ...]]
"""The digests and the seals of a run."""


def _of(verdict: RunVerdict, plan: RunPlan, results: RunResults, proof: _Proof) -> CertifiedRun:
    return CertifiedRun(
        verdict=verdict,
        plan=plan,
        records=results.records,
        platform=results.platform,
        cluster=results.cluster,
        found=results.found,
        hashes=proof[0],
        seals=proof[1],
    )


def hashes(contents: Contents) -> tuple[tuple[str, str], ...]:
    """Return the SHA-256 of hostfile, limits, inventory and records, as far as they are there."""
    names = [*contents.hostfiles(), *(name for name in _HASHED if name in contents)]
    return tuple((name, _digest(contents, name)) for name in names)


def _digest(contents: Contents, name: str) -> str:
    with contents.opened(name) as file:
        return sha256_in(file)


def _seals(signatures: Iterable[Signature]) -> Iterator[str]:
    for one in signatures:
        if one.state == signing.UNSIGNED:
            yield "The bundle is not signed: nothing proves who made it."
        else:
            yield f"The bundle verifies and is signed with the key {one.fingerprint}."

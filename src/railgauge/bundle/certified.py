"""Reads what a certificate is made of: a run that ended, or a bundle that verifies."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

from railgauge.bundle import check, signing
from railgauge.bundle.archive import BundledRun
from railgauge.bundle.completeness import refuse_left_out, refuse_unplanned
from railgauge.bundle.recorded import opened
from railgauge.bundle.signing import Signature
from railgauge.core.digests import sha256_in, sha256_of
from railgauge.core.errors import NotVerified
from railgauge.core.run_files import MANIFEST, PLATFORM, VERDICT
from railgauge.diagnosis import RunResults
from railgauge.judging import inventory, record
from railgauge.report.certificate.certified import CertifiedRun
from railgauge.run import untrusted
from railgauge.run.run_folder import RunFolder
from railgauge.run.untrusted import naming
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
    with naming(path), opened(path, _RESUME) as run:
        if isinstance(run, BundledRun):
            seals = tuple(_seals(check.verify(run.archive).signatures))
            return _certified(run, (f"bundle {path.name}", sha256_of(path)), seals)
        whole = hashlib.sha256(run.bytes(MANIFEST)).hexdigest()
        return _certified(run, (f"{MANIFEST}, the digests of all files", whole), (_NO_BUNDLE,))


def _certified(contents: RunFolder, whole: tuple[str, str], seals: tuple[str, ...]) -> CertifiedRun:
    plan, platform = contents.plan(), contents.platform()
    results = contents.results(contents.records(), platform)
    refuse_unplanned(plan, results.records.values())
    refuse_left_out(plan, results)
    verdict = decision.decide(plan, results)
    was = untrusted.loads(contents.bytes(VERDICT), VERDICT)
    if not isinstance(was, dict) or (was.get("verdict"), was.get("counts")) != (
        verdict.verdict,
        asdict(verdict.counts),
    ):
        raise NotVerified("differs from the verdict of the run's records", where=VERDICT)
    return _of(verdict, plan, results, ((*hashes(contents), whole), seals))


def unsealed(folder: Path, verdict: RunVerdict, plan: RunPlan, results: RunResults) -> CertifiedRun:
    """Return the run whose report is being written; its files are in ``folder`` so far."""
    return _of(verdict, plan, results, (hashes(RunFolder(folder)), (_UNSEALED,)))


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


def hashes(contents: RunFolder) -> tuple[tuple[str, str], ...]:
    """Return the SHA-256 of hostfile, limits, inventory and records, as far as they are there."""
    names = [*contents.hostfiles(), *(name for name in _HASHED if name in contents)]
    return tuple((name, _digest(contents, name)) for name in names)


def _digest(contents: RunFolder, name: str) -> str:
    with contents.opened(name) as file:
        return sha256_in(file)


def _seals(signatures: Iterable[Signature]) -> Iterator[str]:
    for one in signatures:
        if one.state == signing.UNSIGNED:
            yield "The bundle is not signed: nothing proves who made it."
        else:
            yield f"The bundle verifies and is signed with the key {one.fingerprint}."

"""Makes a bundle of a run's folder: reads, redacts, hashes and signs it, and verifies it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from railgauge import __version__
from railgauge.bundle import archive, check, signing, statement
from railgauge.bundle.archive import Writer
from railgauge.bundle.redact import (
    ADDRESSES,
    HOSTS,
    SERIALS,
    FileRedactor,
    digested_keys,
    hosts_of,
    serials_of,
    versions_of,
)
from railgauge.bundle.signers import Signer
from railgauge.bundle.statement import NAME, SIGNER, Redacted, RunInfo
from railgauge.core.codec import to_plain
from railgauge.core.digests import sha256_of
from railgauge.core.errors import BadBundle, BadInput, NotVerified
from railgauge.core.progress import PROGRESS_OF_PROCESS
from railgauge.core.run_files import CLUSTER, MANIFEST, PLATFORM, RUN, VERDICT
from railgauge.judging.inventory import FILE as INVENTORY
from railgauge.judging.inventory import inventory
from railgauge.judging.record import FILE as RECORDS
from railgauge.judging.stamp import Evidence
from railgauge.run import untrusted
from railgauge.run.kept_text import json_text
from railgauge.run.newer import refuse_newer
from railgauge.run.run_folder import RunFolder
from railgauge.run.unchanged import refuse_changed
from railgauge.verdict import decision
from railgauge.verdict.decision import FILE as PLAN
from railgauge.verdict.decision import RunPlan
from railgauge.verdict.merged import assemble

_NEEDED = (PLAN, RECORDS, VERDICT, PLATFORM, CLUSTER)
_PASSING = ("leases",)
_SUFFIX = ".railgauge"


@dataclass(frozen=True, slots=True)
class Made:
    """A bundle that was written and verified."""

    path: Path
    sha256: str
    report: check.Report


def make(
    run: Path,
    path: Path,
    key: Ed25519PrivateKey | None,
    redact: Sequence[str] = (),
    without: Sequence[str] = (),
) -> Made:
    """Write the bundle of the run in ``run``; no file is left if it does not verify.

    Files whose names begin with one of ``without`` are left out, and so are bundles.
    Raises ``BadInput`` if the folder is not that of a run with a verdict, or was changed.
    """
    names = [name for name in regular_files(run) if not _is_left_out(name, without)]
    if absent := [name for name in _NEEDED if name not in names]:
        raise BadInput(
            f"has no {absent[0]}",
            where=str(run),
            remedy="name the folder of a run that reached a verdict",
        )
    refuse_newer(run)
    refuse_changed(run, besides=tuple(without))
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        _write(run, names, beside, key, redact)
        report = _verified(beside, key)
        beside.replace(path)
    except (NotVerified, BadBundle) as error:
        raise BadInput(
            f"does not make a bundle that verifies: {error}",
            where=str(run),
            remedy="bundle an unchanged run, with the version of railgauge that made it",
        ) from None
    finally:
        beside.unlink(missing_ok=True)
    return Made(path, sha256_of(path), report)


def regular_files(run: Path) -> Iterator[str]:
    """The regular files of the run's folder, sorted; links lead elsewhere and are left out."""
    if not run.is_dir():
        raise BadInput("is not the folder of a run", where=str(run))
    found = (path for path in run.rglob("*") if path.is_file() and not path.is_symlink())
    names = (path.relative_to(run).as_posix() for path in found)
    yield from sorted(name for name in names if name.split("/")[0] not in _PASSING)


def _is_left_out(name: str, without: Sequence[str]) -> bool:
    return name.endswith(_SUFFIX) or name.startswith(tuple(without))


def _write(
    run: Path,
    names: Sequence[str],
    path: Path,
    key: Ed25519PrivateKey | None,
    redact: Sequence[str],
) -> None:
    hosts = hosts_of(run, names) if HOSTS in redact else None
    serials = serials_of(run, names) if SERIALS in redact else None
    versions = versions_of(run, names)
    redactor = FileRedactor(
        hosts, addresses=ADDRESSES in redact, serials=serials, versions=versions
    )
    redactor.know_stems(digested_keys(run, names))
    contents = _RedactedRun(run, redactor, {redactor.name(name): name for name in names})
    made = {MANIFEST, VERDICT, INVENTORY, *((PLAN,) if redact and contents.parts else ())}
    with archive.written(path) as writer:
        others = [name for name in names if name not in made]
        files = PROGRESS_OF_PROCESS.counted("file", others)
        left_out = [name for name in files if not _add(writer, redactor, run, name)]
        if INVENTORY in names:  # its quotes and remarks follow from the redacted facts
            writer.add(f"{RUN}{INVENTORY}", inventory(contents.found).csv().encode())
        if PLAN in made:
            writer.add(f"{RUN}{PLAN}", json_text(to_plain(_plan(contents))).encode())
        writer.add(f"{RUN}{VERDICT}", _verdict(contents) if redact else contents.bytes(VERDICT))
        digests = {name.removeprefix(RUN): digest for name, digest in writer.sha256.items()}
        manifest = json_text({"schema_version": 1, "sha256": digests})
        writer.add(f"{RUN}{MANIFEST}", manifest.encode())
        redacted = Redacted(redactor.counts, tuple(sorted(redact)), tuple(left_out))
        envelope = json_text(signing.envelope(_statement(contents, writer, redacted), key))
        writer.add(NAME, envelope.encode())
        if key is not None:
            writer.add(SIGNER, signing.public_line(key).encode())


def _add(writer: Writer, redactor: FileRedactor, run: Path, name: str) -> bool:
    """Add a file and return ``True``, or ``False`` if it must be left out."""
    data = redactor.file(name, (run / name).read_bytes())
    if data is None:
        return False
    writer.add(f"{RUN}{redactor.name(name)}", data)
    return True


def _plan(contents: _RedactedRun) -> RunPlan:
    """The plan of the redacted run, with the parts of a merged run listed anew.

    Pseudonyms sort in another order than the names, and a long reason is cut elsewhere.
    """
    plan = contents.plan()
    parts = [part.as_part() for part in contents.parts]
    return replace(plan, parts=assemble(parts).parts) if parts else plan


def _verdict(contents: _RedactedRun) -> bytes:
    """The verdict of the redacted records: pseudonyms sort in another order than the names."""
    results = contents.results(contents.records(), contents.platform())
    verdict = decision.decide(_plan(contents), results)
    was = untrusted.loads(contents.bytes(VERDICT), VERDICT)
    if (was["verdict"], was["counts"]) != (verdict.verdict, asdict(verdict.counts)):
        raise NotVerified("differs from the verdict of the run's records", where=VERDICT)
    return json_text(verdict.to_json()).encode()


def _statement(contents: _RedactedRun, writer: Writer, redacted: Redacted) -> bytes:
    plan, verdict = contents.plan(), untrusted.loads(contents.bytes(VERDICT), VERDICT)
    if plan.evidence == Evidence.NOT_VERIFIED:
        raise NotVerified("is a replay of evidence that does not verify", where=VERDICT)
    about = RunInfo(
        schema_version=statement.SCHEMA_VERSION,
        run_id=plan.run_id,
        evidence=plan.evidence,
        verdict=str(verdict["verdict"]),
        software=__version__,
        redacted=redacted,
    )
    return statement.make(writer.sha256, contents.records().values(), about)


class _RedactedRun(RunFolder):
    """The run in a folder, redacted as in the bundle."""

    def __init__(self, run: Path, redactor: FileRedactor, files: Mapping[str, str]) -> None:
        """``files`` are the redacted names of the run's files, each with its name in the folder."""
        super().__init__(run)
        self._redactor, self._files = redactor, files

    def __contains__(self, name: str) -> bool:
        return name in self._files

    def bytes(self, name: str) -> bytes:
        if name not in self:
            raise BadBundle("does not exist", where=name)
        return self._redactor.again(name, (self.folder / self._files[name]).read_bytes())

    def opened(self, name: str) -> BinaryIO:
        return BytesIO(self.bytes(name))  # a redactor needs all of a file

    def names(self, start: str = "") -> Iterable[str]:
        return [name for name in self._files if name.startswith(start)]

    def _below(self, name: str) -> _RedactedRun:
        inner = {one.removeprefix(name): self._files[one] for one in self.names(name)}
        return _RedactedRun(self.folder, self._redactor, inner)


def _verified(path: Path, key: Ed25519PrivateKey | None) -> check.Report:
    with archive.opened(path) as held:
        return check.verify(held, None if key is None else [Signer(key.public_key())])
